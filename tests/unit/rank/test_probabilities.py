"""Scores as probabilities by bands of frequency, and where to cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from xtrellis.arrays import TopK
from xtrellis.core import StoreError
from xtrellis.metrics import reliability
from xtrellis.rank import Probabilities, best_cut
from xtrellis.rank.probabilities import best_threshold
from xtrellis.store import State


def answers(n=4000, seed=0):
    """Frequent labels are right as often as they score; rare ones half as often."""
    rng = np.random.default_rng(seed)
    counts = np.where(np.arange(40) < 20, 3, 500)
    labels = np.argsort(rng.random((n, 40)), axis=1)[:, :10].astype(np.int32)
    scores = -np.sort(-rng.random((n, 10)), axis=1).astype(np.float32)
    right = rng.random((n, 10)) < scores * np.where(counts[labels] > 10, 1, 0.5)
    rows = np.repeat(np.arange(n), 10).reshape(n, 10)
    Y = sp.csr_array((np.ones(right.sum()), (rows[right], labels[right])), shape=(n, 40))
    return TopK(labels, scores, 40), Y, counts


def test_bands_learn_what_scores_are_worth():
    top, Y, counts = answers()
    fresh, truth, _ = answers(seed=1)
    made = Probabilities.learn(top, Y, counts)
    before, after = reliability(truth, fresh).ece, reliability(truth, made(fresh, counts)).ece
    assert before > 0.1
    assert after < 0.02
    assert len(made.curves) == 2
    assert made.bands.tolist() == [4] or 3 < made.bands[0] <= 256
    assert np.array_equal(made(fresh, counts).labels, fresh.labels)


def test_stored_and_damaged():
    top, Y, counts = answers(500)
    made = Probabilities.learn(top, Y, counts)
    state = made.to_state()
    again = Probabilities.from_state({}, state)
    assert np.array_equal(again(top, counts).scores, made(top, counts).scores)
    for meta in ({"curves": 0}, {"curves": 3}, {"threshold": 2.0}, {"threshold": "x"}):
        with pytest.raises(StoreError):
            Probabilities.from_state({}, State(meta={**state.meta, **meta}, arrays=state.arrays))
    for name, array in (("scores0", np.array([1.0, 0.0])), ("bands", np.zeros(0))):
        with pytest.raises(StoreError):
            Probabilities.from_state({}, State(meta=state.meta, arrays={**state.arrays, name: array}))


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7))
def test_the_cut_is_near_the_best_expected_f1(chances):
    p = np.sort(np.array(chances))[::-1]
    worlds = list(itertools.product([0, 1], repeat=len(p)))
    weights = [np.prod(np.where(world, p, 1 - p)) for world in worlds]

    def expected(k):
        return sum(
            w * (2 * sum(world[:k]) / (k + sum(world)) if sum(world) else 0)
            for w, world in zip(weights, worlds, strict=True)
        )

    exact = [expected(k) for k in range(1, len(p) + 1)]
    chosen = int(best_cut(p[None].astype(np.float32))[0])
    assert exact[chosen - 1] >= max(exact) - 0.1


def test_nothing_to_cut():
    assert best_cut(np.zeros((3, 0), np.float32)).tolist() == [0, 0, 0]


def test_best_threshold_against_all_thresholds():
    top, Y, _ = answers(200)
    chosen = best_threshold(top, Y)
    dense = Y.toarray()

    def f1(threshold):
        keep = top.scores >= threshold
        rows = np.broadcast_to(np.arange(200)[:, None], keep.shape)
        hits = dense[rows[keep], top.labels[keep]].sum()
        return 2 * hits / (keep.sum() + Y.nnz)

    assert f1(chosen) == pytest.approx(max(f1(t) for t in np.unique(top.scores)))
    nothing = sp.csr_array((200, 40))
    assert best_threshold(top, nothing) == 0.5


def test_reliability_by_hand():
    top = TopK(np.array([[0, 1], [1, -1]], np.int32), np.array([[0.9, 0.2], [0.6, 0]], np.float32), 2)
    found = reliability([[0], [0]], top, bins=10)
    assert found.counts.sum() == 3
    assert found.ece == pytest.approx((abs(0.9 - 1) + abs(0.2 - 0) + abs(0.6 - 0)) / 3, abs=1e-6)
    assert found.brier == pytest.approx((0.1**2 + 0.2**2 + 0.6**2) / 3, abs=1e-6)
    assert found.to_dict()["ece"] == found.ece


def test_reliability_refuses_scores_that_are_none(tmp_path):
    from xtrellis.core import InputError

    top = TopK(np.array([[0]], np.int32), np.array([[1.5]], np.float32), 1)
    with pytest.raises(InputError, match="between 0 and 1"):
        reliability(sp.csr_array(np.ones((1, 1))), top)
    with pytest.raises(InputError, match="rows"):
        reliability(sp.csr_array(np.ones((2, 1))), top)


def test_the_diagram_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    top, Y, _ = answers(100)
    reliability(Y, top).plot(tmp_path / "r.svg")
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")
