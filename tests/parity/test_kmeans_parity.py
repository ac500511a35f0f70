"""Spherical k-means beside a NumPy twin that does the same rounds with dense float64 centres."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis._native import cluster as native
from xtrellis.arrays.inputs import as_features

MASK = (1 << 64) - 1


def unit_vectors(n, d, seed, density=0.4):
    """Unit rows without an empty one."""
    rng = np.random.default_rng(seed)
    V = rng.random((n, d)) * (rng.random((n, d)) < density)
    V[np.arange(n), rng.integers(d, size=n)] += 0.5
    return (V / np.linalg.norm(V, axis=1, keepdims=True)).astype(np.float32)


def start(V, k, key, members=None):
    csr = as_features(sp.csr_array(V))
    members = np.arange(len(V), dtype=np.int32) if members is None else members
    return native.kmeans(csr.indptr, csr.indices, csr.data, csr.shape[1], members, k, key)


def starts(n, k, key):
    """The members that the kernel starts from: splitmix64 and a partial shuffle."""
    order, state = list(range(n)), key
    for c in range(k):
        x = (state + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
        state = (state + 0x9E3779B97F4A7C15) & MASK
        at = c + (((x >> 32) * (n - c)) >> 32)
        order[c], order[at] = order[at], order[c]
    return order[:k]


def twin(V, k, key, rounds):
    """Clusters and objective after each round."""
    V = V.astype(np.float64)
    centres, out = V[starts(len(V), k, key)], []
    for _ in range(rounds):
        similarity = V @ centres.T
        clusters = similarity.argmax(axis=1)
        fit = similarity.max(axis=1)
        clusters[fit == 0] = np.flatnonzero(fit == 0) % k
        for i in np.argsort(fit, kind="stable"):
            sizes = np.bincount(clusters, minlength=k)
            if sizes.all() or fit[i] >= 1 - 1e-5:
                break
            if sizes[clusters[i]] > 1:
                clusters[i] = np.flatnonzero(sizes == 0)[0]
        sums = np.stack([V[clusters == c].sum(axis=0) for c in range(k)])
        lengths = np.linalg.norm(sums, axis=1)
        centres = sums / np.where(lengths > 0, lengths, 1)[:, None]
        out.append((clusters, lengths.sum()))
    return out


def one_round(state, n):
    state.assign(0, n)
    moved = state.repair()
    for group in range(state.groups):
        state.update(group)
    return moved, state.objective()


@pytest.mark.parametrize(("n", "k"), [(9, 2), (40, 3), (60, 16), (80, 17), (260, 113), (150, 140), (12, 12)])
@pytest.mark.parametrize("density", [0.4, 0.02])
def test_every_round_agrees_with_the_twin(n, k, density):
    V = unit_vectors(n, 25, seed=n, density=density)
    state = start(V, k, key=n * 7)
    for expected, objective in twin(V, k, n * 7, rounds=4):
        _, value = one_round(state, n)
        np.testing.assert_array_equal(state.clusters(), expected)
        assert value == pytest.approx(objective, rel=1e-5)


@given(st.integers(2, 60), st.integers(2, 20), st.integers(0, 1000), st.booleans())
@settings(max_examples=60)
def test_the_objective_never_falls_and_no_cluster_stays_empty(n, k, seed, negative):
    k = min(k, n)
    V = unit_vectors(n, 12, seed)
    if negative:
        V[::2] *= -1
    state = start(V, k, key=seed)
    values = [one_round(state, n)[1] for _ in range(6)]
    assert (np.diff(values) >= -1e-4).all()
    clusters = state.clusters()
    assert 0 <= clusters.min() <= clusters.max() < k
    distinct = len(np.unique(V.round(4), axis=0))
    assert len(set(clusters.tolist())) >= min(k, distinct) or distinct < n
    assert values[-1] == pytest.approx(sum(np.linalg.norm(V[clusters == c].sum(axis=0)) for c in range(k)), rel=1e-4)


def test_steps_in_any_order_give_what_run_gives():
    V = unit_vectors(300, 40, seed=1)
    whole = start(V, 50, key=5)
    total = whole.run(20, 1e-4)
    state, best = start(V, 50, key=5), -1.0
    for _ in range(20):
        for first in (200, 0, 100):
            state.assign(first, first + 100)
        if state.repair() == 0:
            break
        for group in reversed(range(state.groups)):
            state.update(group)
        value = state.objective()
        if value - best < 1e-4 * 300:
            best = max(best, value)
            break
        best = value
    np.testing.assert_array_equal(state.clusters(), whole.clusters())
    assert best == total


def test_it_works_on_some_rows_of_a_matrix():
    V = unit_vectors(100, 30, seed=2)
    members = np.arange(3, 100, 4, dtype=np.int32)
    some, alone = start(V, 5, 1, members), start(V[members], 5, 1)
    some.run(10, 0.0)
    alone.run(10, 0.0)
    np.testing.assert_array_equal(some.clusters(), alone.clusters())


def test_members_that_share_nothing_are_dealt_out():
    state = start(np.eye(100, dtype=np.float32), 4, key=0)
    state.run(10, 0.0)
    assert np.bincount(state.clusters()).max() <= 27


def test_copies_of_a_vector_stay_together():
    V = np.repeat(unit_vectors(3, 10, seed=3), 20, axis=0)
    state = start(V, 8, key=0)
    state.run(20, 0.0)
    clusters = state.clusters().reshape(3, 20)
    assert (clusters == clusters[:, :1]).all()
    assert len(set(clusters[:, 0].tolist())) == 3


def test_bundles_are_told_apart():
    rng = np.random.default_rng(0)
    V = np.zeros((60, 12), np.float32)
    for bundle in range(3):
        V[bundle * 20 : bundle * 20 + 20, bundle * 4 : bundle * 4 + 4] = rng.random((20, 4)) + 0.2
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    found = []
    for key in range(12):  # the best of some starts: two may fall into one bundle
        state = start(V, 3, key)
        found.append((state.run(50, 0.0), [len(set(c)) for c in state.clusters().reshape(3, 20).tolist()]))
    assert max(found)[1] == [1, 1, 1]
