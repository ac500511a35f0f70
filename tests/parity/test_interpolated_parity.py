"""The weighted split beside its NumPy twin and a linear program; what must hold of every split."""

from __future__ import annotations

import interpolated_twin as twin
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from xtrellis._native import cluster as native
from xtrellis._native import labels as native_labels
from xtrellis.arrays.csr import transpose
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.labels.frequency import code_frequency


def unit_vectors(n, d, seed):
    rng = np.random.default_rng(seed)
    V = rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-12)
    return V.astype(np.float32)


def frequencies(n, seed, zeros=0.0):
    rng = np.random.default_rng(seed)
    f = rng.zipf(1.7, n).astype(float) * (rng.random(n) >= zeros)
    if not f.any():
        f[0] = 1
    return f / f.sum()


def split(V, f, a, b, key=1, iterations=50, tolerance=0.0):
    csr = as_features(sp.csr_array(V))
    members = np.arange(len(V), dtype=np.int32)[::-1].copy()
    lefts, borders, values, alphas = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1), np.zeros(1)
    native.split_weighted(
        csr.indptr, csr.indices, csr.data, csr.shape[1], members, np.zeros(1, np.int64), np.array([len(V)]),
        np.asarray(f, np.float64), np.array([key], np.uint64), similarity=a, code=b, iterations=iterations,
        tolerance=tolerance, lefts=lefts, objectives=values, borders=borders, alphas=alphas,
    )  # fmt: skip
    side = np.zeros(len(V), bool)
    side[members[: lefts[0]]] = True
    alpha = np.where(side, 1.0, -1.0)
    alpha[borders[0]] = alphas[0]
    return side, values[0], alpha, members, int(borders[0])


TRADEOFFS = [(2.0, 0.0), (1.5, 0.0), (1.0, 0.0), (0.3, 0.7), (0.02, 0.98), (0.0, 1.0)]


@pytest.mark.parametrize(("a", "b"), TRADEOFFS)
@pytest.mark.parametrize("n", [2, 3, 10, 57, 200])
def test_agrees_with_the_twin(n, a, b):
    for seed in range(3):
        V, f = unit_vectors(n, 12, seed), frequencies(n, seed)
        side, value, alpha, members, border = split(V, f, a, b, key=seed, tolerance=1e-4)
        twin_side, values, twin_alpha, twin_border = twin.split(V, f, a, b, seed, 50, 1e-4)
        assert value == pytest.approx(max(values), rel=1e-5)
        assert border == twin_border
        assert side.tolist() == twin_side.tolist()
        assert alpha == pytest.approx(twin_alpha, abs=1e-6)
        assert members.tolist() == [*np.flatnonzero(side), *np.flatnonzero(~side)]


@pytest.mark.parametrize(("a", "b"), TRADEOFFS)
def test_one_round_solves_the_linear_program(a, b):
    for seed in range(8):
        n = 3 + 3 * seed
        V, f = unit_vectors(n, 6, seed), frequencies(n, seed)
        _, _, alpha, _, _ = split(V, f, a, b, key=seed, iterations=1)
        beta = f * twin.ratios(V.astype(float), twin.start(V.astype(float), seed), f, a, b)
        best = linprog(-beta, A_eq=f[None, :], b_eq=[0], bounds=(-1, 1))
        assert alpha @ beta == pytest.approx(-best.fun, abs=1e-7)


@given(st.integers(2, 60), st.integers(0, 1000), st.sampled_from(TRADEOFFS), st.sampled_from([0.0, 0.5, 0.95]))
@settings(max_examples=80)
def test_what_holds_of_every_split(n, seed, tradeoff, zeros):
    V, f = unit_vectors(n, 8, seed), frequencies(n, seed, zeros)
    values = []
    for rounds in range(1, 7):
        side, value, alpha, members, _ = split(V, f, *tradeoff, key=seed, iterations=rounds)
        values.append(value)
        assert abs(alpha @ f) < 1e-9  # feasible before rounding
        assert np.abs(alpha).max() <= 1
        assert 0 < side.sum() < n
        assert sorted(members) == list(range(n))
    assert (np.diff(values) >= -1e-6).all()  # directions are floats


def test_equal_weights_give_equal_halves():
    for n in (2, 7, 20, 51):
        V = unit_vectors(n, 9, n)
        side, *_ = split(V, np.full(n, 1 / n), 2.0, 0.0)
        assert side.sum() == (n + 1) // 2


def test_awkward_sets():
    nothing = np.zeros((7, 3), np.float32)
    side, value, *_ = split(nothing, np.full(7, 1 / 7), 1.0, 0.0)
    assert (side.sum(), value) == (4, 0)
    # One label has all the weight: it gets a side of its own, or shares it, but nobody is left without a side.
    for owner in range(7):
        side, *_ = split(nothing, np.eye(7)[owner], 1.0, 1.0)
        assert 0 < side.sum() < 7


def naive_greedy(Y, weights):
    Y, left = Y.toarray() > 0, np.ones(Y.shape[0], bool)
    out = np.zeros(Y.shape[1])
    while True:
        counts = (Y * (weights * left)[:, None]).sum(axis=0)
        if counts.max() < 1e-12:
            return out
        label = int(np.flatnonzero(counts >= counts.max() - 1e-12)[0])
        out[label] = counts[label]
        left &= ~Y[:, label]


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 1000), st.booleans())
@settings(max_examples=60)
def test_greedy_cover_agrees_with_a_naive_one(n, n_labels, seed, weighed):
    rng = np.random.default_rng(seed)
    Y = as_labels((rng.random((n, n_labels)) < rng.random(n_labels) * 0.5).astype(float))
    weights = rng.integers(0, 4, n).astype(float) if weighed else np.ones(n)
    rows = transpose(Y)
    served = np.zeros(n_labels)
    frequency = Y.toarray().T @ weights
    native_labels.greedy_cover(Y.indptr, Y.indices, rows.indptr, rows.indices, weights, frequency, served)
    expected = naive_greedy(Y, weights)
    assert served == pytest.approx(expected, abs=1e-9)
    if expected.any():
        given_weights = weights if weighed else None
        assert code_frequency(Y, "greedy", row_weights=given_weights) == pytest.approx(expected / expected.sum())
