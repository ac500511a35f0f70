"""Overlapping clusters: the paper's theorems on random matchers, feasibility of limited clusters, means in search."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis.arrays.inputs import as_labels
from xtrellis.experiments import RandomOverlap
from xtrellis.index.capacity import Wishes, exact, fit_in, priced
from xtrellis.index.overlap import Matches, Overlap, Placing, best_clusters, coverage


@st.composite
def worlds(draw):
    """Random Y (n×L), M (n×K, a few clusters a row) and a partition of the labels."""
    n, n_labels, n_clusters = draw(st.integers(1, 12)), draw(st.integers(1, 7)), draw(st.integers(1, 5))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = as_labels(sp.csr_array((dice.random((n, n_labels)) < 0.4).astype(np.float32)))
    M = dice.random((n, n_clusters)) < 0.5
    rows, clusters = np.nonzero(M)
    offsets = np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)
    weights = dice.random(len(rows)).astype(np.float32)
    homes = dice.integers(0, n_clusters, n_labels)
    now = Placing.of_pairs(np.arange(n_labels), homes, n_labels, n_clusters)
    return Y, M, Matches(offsets, clusters.astype(np.int32), weights, n_clusters), now, draw(st.integers(1, 3))


def binary(placing):
    C = np.zeros((len(placing.offsets) - 1, placing.n_clusters), bool)
    C[placing.labels, placing.clusters] = True
    return C


@settings(max_examples=150)
@given(worlds())
def test_coverage_is_at_least_that_of_any_partition(world):
    """Theorem 3."""
    Y, M, matches, now, copies = world
    found, _ = Overlap(copies=copies, max_cluster_size=None).place(Y, matches, now, seed=0, threads=1)
    C = binary(found)
    assert (C.sum(axis=1) >= 1).all()
    assert (C.sum(axis=1) <= copies).all()
    truth = Y.toarray() > 0
    ours = coverage(Y, matches, found) * Y.nnz
    assert round(ours) == (truth & (M.astype(int) @ C.T.astype(int) > 0)).sum()
    # The best partition puts each label where most of its rows are: labels do not compete.
    best = (truth.T.astype(int) @ M.astype(int)).max(axis=1).sum()
    assert round(ours) >= best


@settings(max_examples=80)
@given(worlds())
def test_the_linear_objective_is_the_best_there_is(world):
    """Theorem 2, against every choice of at most λ clusters; ties fall to the present place, weight, number."""
    Y, M, matches, now, copies = world
    counts = (Y.toarray().T > 0).astype(int) @ M.astype(int)
    C = binary(Overlap(copies=copies, max_cluster_size=None).place(Y, matches, now, seed=0, threads=1)[0])
    for label in range(Y.shape[1]):
        choices = combinations(range(M.shape[1]), min(copies, M.shape[1]))
        assert counts[label, C[label]].sum() == max(counts[label, list(c)].sum() for c in choices)
        if not counts[label].any():
            np.testing.assert_array_equal(np.flatnonzero(C[label]), now.clusters[now.labels == label])


@settings(max_examples=80)
@given(worlds(), st.integers(1, 3))
def test_counts_are_those_of_the_product_in_the_promised_order(world, threads):
    Y, M, matches, now, copies = world
    offsets, clusters, counts = best_clusters(Y, matches, now, copies, threads=threads)
    truth = (Y.toarray().T > 0).astype(int)
    weights = np.zeros(M.shape)
    weights[M] = matches.weights
    N, W = truth @ M.astype(int), truth.astype(float) @ weights
    for label in range(Y.shape[1]):
        home = set(now.clusters[now.labels == label].tolist())
        keys = [(-N[label, k], k not in home, -W[label, k], k) for k in range(M.shape[1]) if N[label, k]]
        expected = [key[-1] for key in sorted(keys)][:copies]
        span = slice(offsets[label], offsets[label + 1])
        assert N[label, clusters[span]].tolist() == [N[label, k] for k in expected] == counts[span].tolist()


@settings(max_examples=60)
@given(worlds(), st.integers(0, 2))
def test_limited_clusters_are_feasible_and_the_best(world, slack):
    Y, M, matches, now, copies = world
    n_labels, n_clusters = Y.shape[1], M.shape[1]
    limit = -(-n_labels // n_clusters) + slack
    C = binary(Overlap(copies=copies, max_cluster_size=limit).place(Y, matches, now, seed=0, threads=1)[0])
    assert (C.sum(axis=1) >= 1).all()
    assert (C.sum(axis=1) <= copies).all()
    assert (C.sum(axis=0) <= limit).all()
    if n_labels <= 4 and n_clusters <= 3:
        counts = (Y.toarray().T > 0).astype(int) @ M.astype(int)
        sets = [c for r in range(1, copies + 1) for c in combinations(range(n_clusters), min(r, n_clusters))]
        best = max(
            sum(counts[label, list(c)].sum() for label, c in enumerate(choice))
            for choice in product(set(sets), repeat=n_labels)
            if all(sum(k in c for c in choice) <= limit for k in range(n_clusters))
        )
        assert (counts * C).sum() == best


@settings(max_examples=60)
@given(worlds())
def test_clusters_are_limited_by_themselves(world):
    """One and a half times the mean size of clusters if every label had all its copies: always feasible."""
    Y, M, matches, now, copies = world
    n_labels, n_clusters = Y.shape[1], M.shape[1]
    C = binary(Overlap(copies=copies).place(Y, matches, now, seed=0, threads=1)[0])
    assert (C.sum(axis=1) >= 1).all()
    assert (C.sum(axis=1) <= copies).all()
    usual = np.ceil(1.5 * min(copies, n_clusters) * n_labels / n_clusters)
    assert (C.sum(axis=0) <= max(usual, now.sizes.max())).all()


@settings(max_examples=60)
@given(worlds(), st.integers(0, 100))
def test_random_copies_lie_anywhere_but_at_home(world, seed):
    Y, M, matches, now, copies = world
    found, gap = RandomOverlap(copies=copies).place(Y, matches, now, seed=seed)
    C = binary(found)
    assert (C.sum(axis=1) == min(copies, M.shape[1])).all()
    assert len(found.clusters) == C.sum(), "no cluster twice"
    assert C[now.labels, now.clusters].all()
    assert gap == 0


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_prices_bound_what_they_miss(seed, copies):
    """The gap that the large method tells is true: the optimum lies between its answer and its bound."""
    dice = np.random.default_rng(seed)
    n_labels, n_clusters = 60, 8
    counts = dice.integers(0, 30, (n_labels, n_clusters)) * (dice.random((n_labels, n_clusters)) < 0.6)
    counts[:, 0] += 10  # everybody likes the first
    labels, clusters = np.nonzero(counts)
    offsets = np.searchsorted(labels, np.arange(n_labels + 1)).astype(np.int64)
    wishes = Wishes(offsets, clusters.astype(np.int32), counts[labels, clusters].astype(np.int32), n_clusters)
    limit = 24  # room for all wishes, but not where everybody wants to be
    best = wishes.counts[exact(wishes, copies, limit)].sum()
    taken, bound = priced(wishes, copies, limit)
    found = wishes.counts[taken].sum()
    assert np.bincount(wishes.clusters[taken]).max() <= limit
    assert np.bincount(wishes.labels[taken]).max() <= copies
    assert found <= best <= bound + 1e-6
    assert found >= 0.95 * best


def test_too_small_a_limit_is_refused():
    import pytest

    wishes = Wishes(np.array([0, 1, 2, 3]), np.zeros(3, np.int32), np.ones(3, np.int32), 2)
    with pytest.raises(
        ValueError, match="max_cluster_size must be at least 2: 3 labels do not fit into 2 clusters of 1"
    ):
        fit_in(wishes, np.zeros(3, np.int32), copies=1, limit=1)
