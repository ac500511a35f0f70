"""Metrics against their naive definitions, and the kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from metrics_oracle import oracle
from scipy.sparse import csr_array

from xtrellis._native import metrics as native
from xtrellis.arrays.inputs import as_labels
from xtrellis.arrays.topk import TopK
from xtrellis.metrics.evaluate import evaluate, per_row

KINDS = ["P", "nDCG", "R", "PSP", "PSnDCG", "PSnDCG-ratio", "coverage", "depth"]
NAMES = [f"{kind}@{k}" for kind in KINDS for k in (1, 2, 3, 5, 9)]


def case(seed, n=40, L=23, k=7):
    rng = np.random.default_rng(seed)
    truth = [set(rng.choice(L, rng.integers(0, 6), replace=False).tolist()) for _ in range(n)]
    # Few distinct scores, some negative or zero: ties and stored zeros are part of the test.
    scores = [
        {int(label): float(rng.integers(-2, 3)) for label in rng.choice(L, rng.integers(0, k + 1), replace=False)}
        for _ in range(n)
    ]
    Y = csr_array((n, L), dtype=np.float32).tolil()
    for i, labels in enumerate(truth):
        for label in labels:
            Y[i, label] = 1
    pairs = [(i, label, s) for i, row in enumerate(scores) for label, s in row.items()]
    rows, cols, data = (np.array(part) for part in zip(*pairs, strict=True))
    S = csr_array((data, (rows, cols)), shape=(n, L))
    labels = np.full((n, k), -1, np.int32)
    values = np.zeros((n, k), np.float32)
    for i, row in enumerate(scores):
        labels[i, : len(row)], values[i, : len(row)] = list(row), list(row.values())
    unordered = TopK(labels, values, L)
    return truth, scores, csr_array(Y), S, unordered, rng


def as_delivered(scores):
    """Scores that rank every row's labels in the order in which they came."""
    return [{label: -float(place) for place, label in enumerate(row)} for row in scores]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("skip_empty", [False, True])
def test_every_metric_equals_its_definition(seed, skip_empty):
    truth, scores, Y, S, unordered, rng = case(seed)
    weights, depth = 1 + 9 * rng.random(Y.shape[1]), rng.integers(0, 9, Y.shape[1])
    delivered = as_delivered(scores)
    assert oracle("nDCG@9", truth, delivered) != oracle("nDCG@9", truth, scores)
    for predictions in (S, S.astype(np.float32), unordered, TopK.from_csr(S, 9)):
        ranked = delivered if predictions is unordered else scores
        report = evaluate(Y, predictions, NAMES, weights=weights, depth=depth, skip_empty=skip_empty)
        for name in NAMES:
            expected = oracle(name, truth, ranked, weights, depth, skip_empty)
            assert report[name] == pytest.approx(expected, abs=1e-9), name
            if not name.startswith("coverage"):
                rows = per_row(Y, predictions, name, weights=weights, depth=depth, skip_empty=skip_empty)
                assert len(rows) == report.n_rows
                assert rows.mean() == pytest.approx(report[name], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_dropped_pairs_are_as_if_never_there(seed):
    truth, scores, Y, S, unordered, rng = case(seed)
    pairs = np.argwhere(rng.random(Y.shape) < 0.3)
    gone = set(map(tuple, pairs.tolist()))
    truth = [{label for label in t if (i, label) not in gone} for i, t in enumerate(truth)]
    scores = [{label: s for label, s in row.items() if (i, label) not in gone} for i, row in enumerate(scores)]
    weights, depth = 1 + rng.random(Y.shape[1]), rng.integers(0, 9, Y.shape[1])
    as_matrix = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=Y.shape)
    for predictions, ranked in ((S, scores), (unordered, as_delivered(scores))):
        for drop in (pairs, as_matrix):
            report = evaluate(Y, predictions, NAMES, weights=weights, depth=depth, drop=drop)
            for name in NAMES:
                assert report[name] == pytest.approx(oracle(name, truth, ranked, weights, depth), abs=1e-9), name


@pytest.mark.parametrize("seed", range(3))
def test_kernels_equal_numpy(seed):
    _, _, Y, S, _, rng = case(seed)
    Y = as_labels(Y)
    top = TopK.from_csr(S, 6)
    n = len(top)
    out = np.empty((4, n), np.uint8)
    native.hits(Y.indptr, Y.indices, top.labels, out)
    dense = np.c_[Y.toarray(), np.zeros(n)].astype(np.uint8)  # a last column for pads
    np.testing.assert_array_equal(out, np.take_along_axis(dense, top.labels[:, :4].astype(np.int64), axis=1).T)

    weights = rng.random(Y.shape[1])
    best = np.empty((4, n))
    native.largest(Y.indptr, Y.indices, weights, best)
    np.testing.assert_array_equal(best, -np.sort(-Y.toarray() * weights, axis=1)[:, :4].T)

    for dtype in (np.float32, np.float64):
        S = S.astype(dtype)
        labels, scores = np.empty((n, 6), np.int32), np.empty((n, 6), np.float32)
        native.rank(S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data, labels, scores)
        np.testing.assert_array_equal(labels, top.labels)
        np.testing.assert_array_equal(scores, top.scores)


@pytest.mark.parametrize("k", [3, 40])
def test_check_kernel_finds_faults(k):
    labels = np.tile(np.arange(k, dtype=np.int32), (4, 1))
    scores = np.zeros((4, k), np.float32)
    assert native.check(labels, scores, k) == (0, -1, -1, True)
    bad = labels.copy()
    bad[2, k - 1] = 0
    assert native.check(bad, scores, k) == (3, 2, 0, False)
    bad[1, 0] = k
    assert native.check(bad, scores, k) == (1, 1, k, False)
    nan = scores.copy()
    nan[3, 1] = np.nan
    assert native.check(labels, nan, k) == (2, 3, 1, False)
    assert native.check(labels[:, ::-1].copy(), scores, k) == (0, -1, -1, True)  # any order will do
    pad = labels.copy()
    pad[3, -1] = -1
    assert native.check(pad, scores, k) == (0, -1, -1, True)
    pad[3, 0] = -1
    assert native.check(pad, scores, k) == (0, -1, -1, False)  # a pad before a label
    pad[3] = -1
    assert native.check(pad, nan, k) == (0, -1, -1, True)  # nothing but pads; their scores do not count
