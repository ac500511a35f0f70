"""What must hold for any truth and any predictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from xtrellis.arrays.topk import TopK
from xtrellis.metrics.evaluate import evaluate

KS = (1, 2, 4)
SHARES = [f"{kind}@{k}" for kind in ("P", "nDCG", "R", "PSP", "PSnDCG", "PSnDCG-ratio", "coverage") for k in KS]
RANKED = [name for name in SHARES if not name.startswith("coverage")]


@st.composite
def cases(draw, min_labels=0):
    n, L = draw(st.integers(1, 6)), draw(st.integers(max(1, min_labels), 8))
    truth = draw(st.lists(st.sets(st.integers(0, L - 1), min_size=min_labels), min_size=n, max_size=n))
    Y = np.zeros((n, L), np.float32)
    for row, labels in zip(Y, truth, strict=True):
        row[list(labels)] = 1
    k = draw(st.integers(1, L))
    labels = np.array([draw(st.permutations(range(L)))[:k] for _ in range(n)], np.int32)
    scores = -np.sort(
        -np.array(draw(st.lists(st.integers(-3, 3), min_size=n * k, max_size=n * k)), np.float32).reshape(n, k)
    )
    weights = np.array(draw(st.lists(st.floats(1, 50), min_size=L, max_size=L)))
    return csr_array(Y), TopK(labels, scores, L), weights


@given(cases())
def test_shares_are_percentages(case):
    Y, top, weights = case
    for name, value in evaluate(Y, top, SHARES, weights=weights).items():
        assert -1e-9 <= value <= 100 + 1e-9, name


@given(cases())
def test_topk_and_csr_are_judged_alike(case):
    """Once equal scores are ordered as sparse ones are ranked: by label id."""
    Y, top, weights = case
    scores = top.to_csr()
    by_id = TopK.from_csr(scores, top.k)
    assert evaluate(Y, by_id, SHARES, weights=weights) == evaluate(Y, scores, SHARES, weights=weights)


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(case, random):
    Y, top, weights = case
    order = list(range(len(top)))
    random.shuffle(order)
    a = evaluate(Y, top, SHARES, weights=weights)
    b = evaluate(Y[np.array(order)], top[np.array(order)], SHARES, weights=weights)
    assert dict(a) == pytest.approx(dict(b))


@given(cases(), st.randoms(use_true_random=False))
def test_a_topk_is_taken_in_the_order_it_comes_in(case, random):
    """Whatever its scores say: as if they fell from column to column. Pads between its labels do not count."""
    Y, top, weights = case
    order = list(range(top.k))
    random.shuffle(order)
    labels, scores = top.labels[:, order], top.scores[:, order]
    falling = np.zeros(Y.shape, np.float32)
    np.put_along_axis(falling, labels.astype(np.int64), np.arange(top.k, 0, -1, dtype=np.float32)[None, :], axis=1)
    wanted = evaluate(Y, csr_array(falling), SHARES, weights=weights)
    assert evaluate(Y, TopK(labels, scores, top.n_labels), SHARES, weights=weights) == wanted
    column = random.randrange(top.k + 1)
    padded = TopK(np.insert(labels, column, -1, axis=1), np.insert(scores, column, 0, axis=1), top.n_labels)
    assert evaluate(Y, padded, SHARES, weights=weights) == wanted


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_stored_scores_does_not_matter(case, random):
    Y, top, weights = case
    order = list(range(top.k))
    random.shuffle(order)
    offsets = np.arange(len(top) + 1) * top.k
    loose = csr_array((top.scores[:, order].ravel(), top.labels[:, order].ravel(), offsets), shape=Y.shape)
    expected = evaluate(Y, top.to_csr(), SHARES, weights=weights)
    assert evaluate(Y, loose, SHARES, weights=weights) == expected


@given(cases(min_labels=1))
def test_perfect_prediction_is_100(case):
    Y, _, weights = case
    perfect = csr_array(Y.multiply(weights[None, :]))  # true labels only, the most valuable first
    names = [name for name in SHARES if not name.startswith(("P@", "R@", "coverage"))]
    full = evaluate(Y, perfect, [*names, f"R@{Y.shape[1]}", f"coverage@{Y.shape[1]}"], weights=weights)
    assert dict(full) == pytest.approx(dict.fromkeys(full, 100))
    fewest = int(np.diff(Y.indptr).min())
    assert evaluate(Y, perfect, [f"P@{fewest}"])[f"P@{fewest}"] == pytest.approx(100)


@given(cases(min_labels=4))
def test_equal_propensities_change_nothing_when_rows_have_k_labels(case):
    Y, top, _ = case
    report = evaluate(Y, top, SHARES, weights=np.ones(Y.shape[1]))
    for k in KS:
        assert report[f"PSP@{k}"] == pytest.approx(report[f"P@{k}"])
        assert report[f"PSnDCG@{k}"] == pytest.approx(report[f"nDCG@{k}"])


@given(cases(), st.data())
def test_moving_a_right_label_up_never_hurts(case, data):
    Y, top, weights = case
    dense = Y.toarray()
    row = data.draw(st.integers(0, len(top) - 1))
    wrong_above_right = [
        (i, j)
        for i in range(top.k)
        for j in range(i + 1, top.k)
        if not dense[row, top.labels[row, i]] and dense[row, top.labels[row, j]]
    ]
    if not wrong_above_right:
        return
    i, j = data.draw(st.sampled_from(wrong_above_right))
    # Distinct scores, so that ties do not undo the swap.
    scores = np.tile(np.arange(top.k, 0, -1, dtype=np.float32), (len(top), 1))
    labels = top.labels.copy()
    labels[row, [i, j]] = labels[row, [j, i]]
    before = evaluate(Y, TopK(top.labels, scores, top.n_labels), RANKED, weights=weights)
    after = evaluate(Y, TopK(labels, scores, top.n_labels), RANKED, weights=weights)
    for name in RANKED:
        assert after[name] >= before[name] - 1e-9, name
