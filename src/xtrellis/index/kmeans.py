"""Shallow, wide trees of unbalanced clusters: recursive spherical k-means (Bonsai)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Int32
from ..core import integer, key, number, param, progress, run, spans
from ..labels import LabelSpace
from .base import LEAST_GAIN, Index
from .shape import TreeLevel, unbalanced_levels
from .tree import LabelTree

# Multiply-adds a round from which the members of one set are shared between threads; below, whole sets are.
LARGE = 1 << 26


@dataclass(frozen=True)
class _Set:
    """Labels below one node, ascending."""

    node: int
    members: Int32


class KMeansTree(Index):
    """Clusters of any size, so that labels that belong together stay together; leaves lie at different depths.

    A set of more than `max_leaf` labels is split into `k` clusters, up to `depth` times on the way down. A cluster of
    one label becomes that label, without a node of its own. Labels without a vector (no rows, no features) get a
    branch of their own; labels that nothing tells apart are dealt out evenly.
    """

    k: int = param(integer(at_least=2, at_most=2**20), "clusters that a set of labels is split into", default=100)
    depth: int = param(integer(at_least=1), "levels of clusters at most", default=3)
    max_leaf: int = param(integer(at_least=1), "sets of at most so many labels are not split", default=100)
    iterations: int = param(integer(at_least=1), "rounds of k-means per split at most", default=20)
    tolerance: float = param(number(at_least=0), "mean gain in similarity below which a split is done", default=1e-4)

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """Split from the root down, a level at a time."""
        parents, owners, placed = [-1], [], []  # nodes; labels in place, by their node
        open_sets = [_Set(0, np.arange(labels.n_labels, dtype=np.int32))]
        with progress.step("clustering labels", unit="labels") as advance:
            for level in range(self.depth + 1):
                here = [s for s in open_sets if level < self.depth and len(s.members) > self.max_leaf]
                for leaf in open_sets:
                    if level == self.depth or len(leaf.members) <= self.max_leaf:
                        owners.append(np.full(len(leaf.members), leaf.node))
                        placed.append(leaf.members)
                        advance(len(leaf.members))
                open_sets = []
                for parent, clusters in zip(here, self._split_all(labels, here, seed), strict=True):
                    order = np.argsort(clusters, kind="stable")
                    pieces = np.split(parent.members[order], np.flatnonzero(np.diff(clusters[order])) + 1)
                    singles = [piece for piece in pieces if len(piece) == 1]
                    owners.append(np.full(len(singles), parent.node))
                    placed.append(np.concatenate([parent.members[:0], *singles]))
                    for piece in pieces:
                        if len(piece) > 1:
                            open_sets.append(_Set(len(parents), piece))
                            parents.append(parent.node)
                if not open_sets:
                    break
        return LabelTree.from_parents(parents, np.concatenate(placed), np.concatenate(owners), labels.n_labels)

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """About: clusters of a split have very different sizes."""
        return unbalanced_levels(labels.n_labels, self.k, self.depth, self.max_leaf)

    def clustering_bytes(self, n_labels: int, entries: float, width: float, threads: int) -> float:
        """Beside that, the sums of k clusters: of one large set, or of a small one on each thread."""
        if n_labels <= self.max_leaf:
            return 0
        small = min(width, LARGE / self.k, 8 * entries / self.k)
        sums = 4 * -(-self.k // 16) * 16 * max(width, threads * small)
        return super().clustering_bytes(n_labels, entries, width, threads) + sums

    def _split_all(self, labels: LabelSpace, sets: list[_Set], seed: int) -> list[Int32]:
        """The cluster of every member of every set; a set that is large is shared between threads."""
        if not sets:
            return []
        vectors, threads = labels.vectors, labels.threads
        lengths = np.diff(vectors.indptr)
        work = [int(lengths[s.members].sum()) * self.k for s in sets]
        out: dict[int, Int32] = {}
        for i in (i for i, w in enumerate(work) if w >= LARGE):
            out[i] = self._split(vectors, sets[i], seed, threads)
        small = [i for i, w in enumerate(work) if w < LARGE]
        found = run(lambda i: self._split(vectors, sets[i], seed, 1), small, threads=threads, size=work.__getitem__)
        out.update(zip(small, found, strict=True))
        return [out[i] for i in range(len(sets))]

    def _split(self, vectors: Csr, labels: _Set, seed: int, threads: int) -> Int32:
        members = labels.members
        known = np.diff(vectors.indptr)[members] > 0
        clusters = np.full(len(members), self.k - 1, np.int32)  # the last one is for labels without a vector
        k = self.k if known.all() else self.k - 1
        if known.sum() > k > 1:
            started = native.kmeans(
                vectors.indptr, vectors.indices, vectors.data, vectors.shape[1], members[known], k,
                key(seed, "kmeans", labels.node),
            )  # fmt: skip
            self._iterate(started, int(known.sum()), threads)
            clusters[known] = started.clusters()
        else:  # fewer labels than clusters: one each
            clusters[known] = np.minimum(np.arange(known.sum()), k - 1)
        if clusters.min() == clusters.max():  # nothing tells them apart
            parts = min(self.k, -(-len(members) // self.max_leaf))
            clusters = (np.arange(len(members), dtype=np.int64) * parts // len(members)).astype(np.int32)
        return clusters

    def _iterate(self, state: native.KMeans, n: int, threads: int) -> None:
        tolerance = max(self.tolerance, LEAST_GAIN)
        if threads == 1:
            state.run(self.iterations, tolerance)
            return
        # The same rounds as `run`, step by step. More pieces than threads: rows differ in length.
        pieces, best = spans(n, 8 * threads), -1.0
        for _ in range(self.iterations):
            run(lambda span: state.assign(*span), pieces, threads=threads)
            if state.repair() == 0:
                return
            run(state.update, range(state.groups), threads=threads)
            now = state.objective()
            if now - best < tolerance * n:
                return
            best = max(best, now)
