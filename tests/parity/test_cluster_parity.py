"""The balanced split beside a brute-force search over all halves, and its invariants."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis._native import cluster as native
from xtrellis.arrays.inputs import as_features


def unit_vectors(n, d, seed):
    rng = np.random.default_rng(seed)
    V = rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-12)
    return V.astype(np.float32)


def objective(V, side):
    return np.linalg.norm(V[side].sum(axis=0)) + np.linalg.norm(V[~side].sum(axis=0))


def split(V, key=1, iterations=50, tolerance=0.0):
    csr = as_features(sp.csr_array(V))
    members = np.arange(len(V), dtype=np.int32)
    value = np.zeros(1)
    native.split_balanced(
        csr.indptr, csr.indices, csr.data, csr.shape[1], members, np.array([0, len(V)], np.int64),
        np.array([key], np.uint64), iterations=iterations, tolerance=tolerance, objectives=value,
    )  # fmt: skip
    side = np.zeros(len(V), bool)
    side[members[: (len(V) + 1) // 2]] = True
    return members, side, value[0]


@pytest.mark.parametrize("n", [2, 5, 8, 11])
def test_objective_is_honest_and_near_the_best_of_all_halves(n):
    V = unit_vectors(n, 6, seed=n)
    found = []
    for start in range(12):
        members, side, value = split(V, key=start)
        assert sorted(members) == list(range(n))
        assert value == pytest.approx(objective(V, side), rel=1e-5)
        found.append(value)
    halves = (np.isin(np.arange(n), half) for half in combinations(range(n), (n + 1) // 2))
    best = max(objective(V, half) for half in halves)
    assert max(found) == pytest.approx(best, rel=0.01)


@given(st.integers(2, 40), st.integers(0, 50))
@settings(max_examples=40)
def test_more_rounds_never_make_it_worse(n, seed):
    V = unit_vectors(n, 8, seed)
    values = [split(V, key=seed, iterations=rounds)[2] for rounds in range(1, 8)]
    assert (np.diff(values) >= -1e-5).all()


def test_two_bundles_are_told_apart():
    rng = np.random.default_rng(0)
    V = np.zeros((40, 10), np.float32)
    V[:20, :5] = rng.random((20, 5)) + 0.1
    V[20:, 5:] = rng.random((20, 5)) + 0.1
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    order = rng.permutation(40)
    _, side, _ = split(V[order])
    assert len(set(side[order < 20])) == 1
    assert len(set(side[order >= 20])) == 1


def test_vectors_of_length_zero_break_nothing():
    members, _, value = split(np.zeros((7, 3), np.float32))
    assert sorted(members) == list(range(7))
    assert value == 0
