"""`Overlap(assign="coverage")`: greedy covers of labels' rows, against brute force in NumPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis.arrays.inputs import as_labels
from xtrellis.index.capacity import Wishes, give_more
from xtrellis.index.overlap import Matches, Overlap, Placing, coverage, uncovered


@st.composite
def worlds(draw):
    """Random Y (n×L), M (n×K) and a partition of the labels."""
    n, n_labels, n_clusters = draw(st.integers(1, 14)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = as_labels(sp.csr_array((dice.random((n, n_labels)) < 0.5).astype(np.float32)))
    M = dice.random((n, n_clusters)) < dice.choice([0.1, 0.3, 0.5])
    rows, clusters = np.nonzero(M)
    offsets = np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)
    matches = Matches(offsets, clusters.astype(np.int32), dice.random(len(rows)).astype(np.float32), n_clusters)
    now = Placing.of_pairs(np.arange(n_labels), dice.integers(0, n_clusters, n_labels), n_labels, n_clusters)
    return Y, M, matches, now, draw(st.integers(1, 4))


def clusters_of(placing, label):
    return placing.clusters[placing.offsets[label] : placing.offsets[label + 1]].tolist()


@settings(max_examples=120, deadline=None)
@given(worlds(), st.integers(1, 3))
def test_every_place_covers_as_much_as_any_could_and_enough(world, min_gain):
    Y, M, matches, now, copies = world
    overlap = Overlap(copies=copies, assign="coverage", min_gain=min_gain, max_cluster_size=None)
    found, gap = overlap.place(Y, matches, now, seed=0, threads=1)
    assert gap == 0
    for label in range(Y.shape[1]):
        held = M[Y.toarray()[:, label] > 0]
        mine = clusters_of(found, label)
        assert 1 <= len(mine) <= copies
        if not held.any():
            assert mine == clusters_of(now, label), "nobody asks for it: it stays"
            continue
        # In some order, every place was the one that covers most of what was left, and enough of it.
        assert is_greedy(held, mine, min_gain, copies)


def is_greedy(held, places, min_gain, copies):
    def walk(left, still, first):
        new = left.sum(axis=0)
        if not still:
            return len(places) == copies or new.max(initial=0) < min_gain
        enough = 1 if first else min_gain
        return any(
            new[k] == new.max() >= enough and walk(left[~left[:, k]], [p for p in still if p != k], False)
            for k in still
        )

    return walk(held, places, True)


@settings(max_examples=80, deadline=None)
@given(worlds())
def test_it_covers_most_of_what_so_many_places_can(world):
    """1 − 1/e of the best, the bound of greedy covers; and never less than any partition."""
    Y, M, matches, now, copies = world
    overlap = Overlap(copies=copies, assign="coverage", min_gain=1, max_cluster_size=None)
    ours = round(coverage(Y, matches, overlap.place(Y, matches, now, seed=0, threads=1)[0]) * Y.nnz)
    best = single = 0
    for label in range(Y.shape[1]):
        held = M[Y.toarray()[:, label] > 0]
        choices = combinations(range(M.shape[1]), min(copies, M.shape[1]))
        best += max(int(held[:, list(c)].any(axis=1).sum()) for c in choices)
        single += int(held.sum(axis=0).max(initial=0))
    assert ours >= (1 - 1 / np.e) * best - 1e-9
    assert single <= ours <= best


@settings(max_examples=80, deadline=None)
@given(worlds(), st.integers(0, 2), st.integers(1, 2))
def test_limits_hold_and_threads_do_not_matter(world, slack, min_gain):
    Y, M, matches, now, copies = world
    limit = -(-Y.shape[1] // M.shape[1]) + slack
    overlap = Overlap(copies=copies, assign="coverage", min_gain=min_gain, max_cluster_size=limit)
    found, _ = overlap.place(Y, matches, now, seed=0, threads=1)
    again, _ = overlap.place(Y, matches, now, seed=0, threads=2)
    np.testing.assert_array_equal(found.clusters, again.clusters)
    np.testing.assert_array_equal(found.offsets, again.offsets)
    counts = np.diff(found.offsets)
    assert counts.min() >= 1
    assert counts.max() <= copies
    assert found.sizes.max() <= limit
    assert len(set(zip(found.labels.tolist(), found.clusters.tolist(), strict=True))) == len(found.clusters)
    for label in np.flatnonzero(counts > 1).tolist():  # a further place covers rows of its own
        held = M[Y.toarray()[:, label] > 0]
        mine = clusters_of(found, label)
        assert held[:, mine].any(axis=1).sum() >= min_gain * (len(mine) - 1)


@settings(max_examples=80, deadline=None)
@given(worlds())
def test_what_is_not_covered_yet(world):
    Y, M, matches, _, _ = world
    dice = np.random.default_rng(Y.nnz)
    labels = np.flatnonzero(dice.random(Y.shape[1]) < 0.7)
    clusters = dice.integers(0, M.shape[1], len(labels))
    truth = Y.toarray() > 0
    for label, cluster in zip(labels, clusters, strict=True):
        truth[:, label] &= ~M[:, cluster]
    np.testing.assert_array_equal(uncovered(Y, matches, labels, clusters).toarray() > 0, truth)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_further_places_keep_to_the_room_there_is(seed):
    dice = np.random.default_rng(seed)
    counts = dice.integers(0, 9, (30, 5))
    labels, clusters = np.nonzero(counts)
    offsets = np.searchsorted(labels, np.arange(31)).astype(np.int64)
    wishes = Wishes(offsets, clusters.astype(np.int32), counts[labels, clusters].astype(np.int32), 5)
    room = dice.integers(0, 6, 5)
    dear = wishes.worth(4)
    assert (counts[dear.labels, dear.clusters] >= 4).all()
    assert len(dear.clusters) == (counts >= 4).sum()
    got, where = give_more(dear, room)
    assert (np.bincount(where, minlength=5) <= room).all()
    assert len(np.unique(got)) == len(got)
    assert (counts[got, where] >= 4).all()
