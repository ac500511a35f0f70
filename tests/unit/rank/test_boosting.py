"""Boosted symmetric trees: kernels against NumPy, quality against scikit-learn, order, and any threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from xtrellis._native import rank as native
from xtrellis.core import StoreError
from xtrellis.rank import Growth, SymmetricTrees
from xtrellis.rank.boosting import MOST_BINS, _edges
from xtrellis.store import State


def made(n=4000, f=5, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n, f)).astype(np.float32)
    inputs[:, 1] = rng.integers(0, 120, n)  # more values than bins
    inputs[:, 2] = rng.integers(0, 3, n)
    margin = 1.5 * inputs[:, 0] - 0.04 * inputs[:, 1] + np.where(inputs[:, 2] > 1, inputs[:, 3], -0.5) + 0.5
    return inputs, rng.random(n) < 1 / (1 + np.exp(-margin))


def learned(**more):
    inputs, right = made()
    return SymmetricTrees.learn(inputs, right, monotone=[1, -1, 0, 0, 0], **more), inputs, right


def walked(trees, row):
    total = trees.base
    for t in range(len(trees.feature)):
        leaf = 0
        for level in range(trees.feature.shape[1]):
            leaf = 2 * leaf + int(row[trees.feature[t, level]] > trees.threshold[t, level])
        total += float(trees.value[t, leaf])
    return total


def test_the_kernel_walks_as_python_does():
    trees, inputs, _ = learned(growth=Growth(trees=20))
    assert np.allclose(trees.log_odds(inputs[:333]), [walked(trees, row) for row in inputs[:333]], atol=1e-5)
    assert trees.log_odds(inputs[:0]).shape == (0,)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 4), st.integers(1, 8))
def test_sums_by_node_and_bin(seed, n, f, nodes):
    rng = np.random.default_rng(seed)
    bins, node = rng.integers(0, 16, (f, n), dtype=np.uint8), rng.integers(0, nodes, n, dtype=np.uint8)
    g, h = rng.normal(size=n).astype(np.float32), rng.random(n).astype(np.float32)
    out = np.zeros((f, nodes, 16, 2))
    places = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    native.gather_sums(bins, node, g, h, places, nodes, 16, 0, f, out.reshape(-1))
    twin = np.zeros_like(out)
    for j in range(f):
        np.add.at(twin[j, :, :, 0], (node[places], bins[j, places]), g[places])
        np.add.at(twin[j, :, :, 1], (node[places], bins[j, places]), h[places])
    assert np.allclose(out, twin)


def asked_slowly(sums, n_edges, monotone, l2, least):
    """(gain, edge, sums of both sides of every node) of every input."""
    below = np.cumsum(sums, axis=2)[:, :, :-1]
    whole = below[:, :, -1:] + sums[:, :, -1:]
    above = whole - below
    worth = [side[..., 0] ** 2 / (side[..., 1] + l2) for side in (below, above, whole)]
    low, high = (side[..., 0] / (side[..., 1] + l2) for side in (below, above))
    gain = worth[0] + worth[1] - worth[2]
    gain[np.sign(high - low) * monotone[:, None, None] < 0] = 0
    gain[(below[..., 1] < least) | (above[..., 1] < least)] = 0
    total = gain.sum(axis=1)
    for j, n in enumerate(n_edges):
        total[j, n:] = 0
    at = total.argmax(axis=1)
    every = np.arange(len(at))
    return total[every, at], at, np.stack([below[every, :, at], above[every, :, at]], axis=2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([1, 2, 8]), st.integers(0, 15))
def test_the_best_question_of_every_input(seed, f, nodes, most):
    rng = np.random.default_rng(seed)
    sums = np.stack([rng.normal(size=(f, nodes, 16)), rng.random((f, nodes, 16))], axis=3)
    sums[:, :, rng.random(16) < 0.3] = 0  # bins without pairs
    n_edges = rng.integers(0, most + 1, f).astype(np.int32)
    monotone = rng.integers(-1, 2, f).astype(np.int32)
    gains, at, sides = np.empty(f), np.empty(f, np.int32), np.zeros((f, nodes, 2, 2))
    native.questions(sums.reshape(-1), n_edges, monotone, 1.5, 0.5, nodes, 16, 0, f, gains, at, sides.reshape(-1))
    gain, where, both = asked_slowly(sums, n_edges, monotone, 1.5, 0.5)
    assert np.allclose(gains, np.maximum(gain, 0))
    found = gain > 1e-9  # elsewhere nothing is asked
    assert np.array_equal(at[found], where[found])
    assert np.allclose(sides[found], both[found])


def test_as_good_as_scikit_learn():
    trees, inputs, right = learned()
    fresh, truth = made(seed=1)
    other = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, monotonic_cst=[1, -1, 0, 0, 0], early_stopping=False, random_state=0
    ).fit(inputs, right)
    ours = log_loss(truth, 1 / (1 + np.exp(-trees.log_odds(fresh).astype(float))))
    assert ours < log_loss(truth, other.predict_proba(fresh)[:, 1]) + 0.005
    assert ours < log_loss(truth, np.full(len(truth), right.mean())) - 0.1


def test_monotone_inputs_never_turn_round():
    trees, inputs, _ = learned(growth=Growth(trees=60))
    for j, sign in ((0, 1), (1, -1)):
        for row in inputs[:50]:
            rising = np.repeat(row[None], 200, axis=0)
            rising[:, j] = np.linspace(inputs[:, j].min(), inputs[:, j].max(), 200)
            assert (np.diff(trees.log_odds(rising)) * sign >= -1e-5).all()


def test_same_bits_on_any_number_of_threads():
    one, two = learned(threads=1)[0], learned(threads=3)[0]
    for name, array in one.to_state().arrays.items():
        assert np.array_equal(array, two.to_state().arrays[name])


def test_a_pair_that_weighs_three_is_three_pairs():
    inputs, right = made(600)
    weights = np.random.default_rng(3).integers(1, 4, 600)
    whole = SymmetricTrees.learn(
        np.repeat(inputs[:, 2:3], weights, axis=0), np.repeat(right, weights), monotone=[0], growth=Growth(trees=5)
    )
    weighed = SymmetricTrees.learn(
        inputs[:, 2:3].copy(), right, monotone=[0], weights=weights.astype(np.float32), growth=Growth(trees=5)
    )
    assert np.allclose(whole.log_odds(inputs[:, 2:3]), weighed.log_odds(inputs[:, 2:3]), atol=1e-4)


def test_shares_sum_to_the_log_odds():
    trees, inputs, _ = learned()
    odds = trees.log_odds(inputs[:20])
    for row, wanted in zip(inputs[:20], odds, strict=True):
        base, added = trees.shares(row)
        assert base + added.sum() == pytest.approx(float(wanted), abs=1e-5)
    assert abs(added[4]) < abs(added[0]) + 1  # noise adds little


def test_nothing_to_tell_apart():
    inputs, _ = made(50)
    for right in (np.zeros(50, bool), np.ones(50, bool)):
        trees = SymmetricTrees.learn(inputs, right, monotone=[0] * 5)
        assert len(trees.feature) == 0
        assert len(set(trees.log_odds(inputs).tolist())) == 1


def test_edges_tell_low_ranks_apart():
    ranks = np.tile(np.arange(1, 102, dtype=np.float32), 40)
    right = (ranks <= 5) & (np.arange(len(ranks)) % 2 == 0)
    edges = _edges(ranks, right)
    assert {1, 2, 3, 4} <= set(edges.tolist())
    assert len(edges) < MOST_BINS


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("feature", lambda a: a - 1 - a.max()),
        ("feature", lambda a: a.astype(np.int64)),
        ("threshold", lambda a: a[:, :-1]),
        ("threshold", lambda a: np.full_like(a, np.nan)),
        ("value", lambda a: a[:, :-1]),
        ("value", lambda a: np.full_like(a, np.inf)),
        ("weight", lambda a: a[:-1]),
    ],
)
def test_damaged_trees_are_refused(name, damaged):
    state = learned(growth=Growth(trees=3))[0].to_state()
    arrays = dict(state.arrays)
    assert SymmetricTrees.from_state({}, State(meta=state.meta, arrays=arrays)).n_inputs <= 5
    arrays[name] = damaged(arrays[name])
    with pytest.raises(StoreError):
        SymmetricTrees.from_state({}, State(meta=state.meta, arrays=arrays))
