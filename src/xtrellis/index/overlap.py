"""`Overlap`: labels in several clusters, placed where the rows that have them are led (Liu et al. 2021, "Label
Disentanglement in Partition-based Extreme Multilabel Classification").

Legend: Y n×L labels of rows, M n×K clusters that a row's beam holds, C L×K clusters of labels. Search can only find a
true label if the beam holds one of its clusters: at most Tr(Yᵀ Binary(M Cᵀ)) of them, the *coverage*. Without Binary
the best C with λ clusters a label is known: for each label the λ largest of (YᵀM)_l. It covers at least as much as any
partition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Float32, Int32, Int64, join_parts, transpose
from ..core import Configured, choice, flag, integer, param, run, spans, thread_count
from .capacity import Wishes, fit_in
from .tree import LabelTree

MERGES = ("mean", "max")
CANDIDATES = 64  # clusters of a label that are looked at when clusters may be full
USUAL = 1.5  # times the mean size: as large as a cluster may become by itself


class _ClusterSize(integer):
    """A number of labels, or "auto"."""

    def __init__(self) -> None:
        super().__init__(at_least=1, at_most=2**31 - 1, or_none=True)
        self.requirement = f"{self.requirement}, 'auto'"

    def holds(self, value: Any) -> bool:
        return value == "auto" if isinstance(value, str) else super().holds(value)

    def read(self, text: str) -> Any:
        return text if text == "auto" else super().read(text)


class Overlap(Configured):
    """Lets every label sit in up to `copies` clusters, each with a classifier of its own."""

    copies: int = param(integer(at_least=1, at_most=255), "clusters a label sits in at most", default=2)
    rounds: int = param(
        integer(at_least=1), "times that labels are placed anew; stops when it gains nothing", default=1
    )
    merge: str = param(choice(*MERGES), "what a label scores that search finds in several clusters", default="mean")
    max_cluster_size: int | str | None = param(
        _ClusterSize(),
        "labels in a cluster at most; 'auto': one and a half times what it would be if all were alike, None: no limit",
        default="auto",
    )
    update: bool = param(flag(), "train the classifiers above the clusters again for the new clusters", default=True)
    beam: int = param(integer(at_least=1), "clusters a row is led to when they are counted", default=10)

    def limit(self, now: Placing) -> int | None:
        """Labels in a cluster at most; by itself never less than the largest cluster has already."""
        if self.max_cluster_size == "auto":
            usual = min(self.copies, now.n_clusters) * (len(now.offsets) - 1) / now.n_clusters
            return max(math.ceil(USUAL * usual), int(now.sizes.max()))
        return None if self.max_cluster_size is None else int(self.max_cluster_size)

    def place(
        self, Y: Csr, matches: Matches, now: Placing, *, seed: int, threads: int | None = None
    ) -> tuple[Placing, float]:
        """The new places of all labels, and how far they may be from the best (with a limit of sizes; else 0)."""
        limit = self.limit(now)
        most = self.copies if limit is None else max(CANDIDATES, self.copies)
        offsets, clusters, counts = best_clusters(Y, matches, now, most, threads=threads)
        n_labels = len(offsets) - 1
        if limit is not None:
            wishes = Wishes(offsets, clusters, counts, matches.n_clusters)
            chosen, gap = fit_in(wishes, now.clusters[now.offsets[:-1]], copies=self.copies, limit=limit)
            return Placing.of_pairs(*chosen, n_labels, matches.n_clusters), gap
        lost = np.flatnonzero(np.diff(offsets) == 0)  # nobody asks for them: they stay
        stay = np.isin(now.labels, lost)
        labels = np.concatenate([np.repeat(np.arange(n_labels), np.diff(offsets)), now.labels[stay]])
        clusters = np.concatenate([clusters, now.clusters[stay]])
        return Placing.of_pairs(labels, clusters, n_labels, matches.n_clusters), 0.0


@dataclass(frozen=True)
class Matches:
    """The clusters (numbered among those that hold labels) that each row's beam holds, with their scores."""

    offsets: Int64
    clusters: Int32
    weights: Float32
    n_clusters: int


@dataclass(frozen=True)
class Placing:
    """The clusters of every label, ascending: `clusters[offsets[l] : offsets[l + 1]]`."""

    offsets: Int64
    clusters: Int32
    n_clusters: int

    @classmethod
    def of_pairs(cls, labels: Any, clusters: Any, n_labels: int, n_clusters: int) -> Placing:
        """From pairs in any order."""
        labels, clusters = np.asarray(labels, np.int64), np.asarray(clusters, np.int64)
        order = np.lexsort((clusters, labels))
        offsets = np.zeros(n_labels + 1, np.int64)
        np.cumsum(np.bincount(labels, minlength=n_labels), out=offsets[1:])
        return cls(offsets, clusters[order].astype(np.int32), n_clusters)

    @property
    def labels(self) -> Int64:
        """The label of every pair."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def sizes(self) -> Int64:
        """Labels of each cluster."""
        return np.bincount(self.clusters, minlength=self.n_clusters)


@dataclass(frozen=True)
class OverlapRound:
    """What one placing did: shares of true pairs that search could find, and the clusters it left."""

    covered_before: float
    covered_after: float
    clusters: int
    largest: int
    mean_size: float
    copies: float  # a label
    gap: float  # to the best that the limit of sizes allows, as a share; 0 without a limit

    def __str__(self) -> str:
        limit = f", at most {100 * self.gap:.2f} % from the best within the limit" if self.gap else ""
        return (
            f"search can find {100 * self.covered_before:.2f} → {100 * self.covered_after:.2f} % of rows' labels; "
            f"{self.clusters:,} clusters of {self.mean_size:.0f} labels, {self.largest:,} at most{limit}; "
            f"{self.copies:.2f} places per label"
        )


def leaf_nodes(tree: LabelTree) -> Int64:
    """The nodes that hold labels, ascending: the clusters."""
    return np.unique(tree.owner[tree.label_slots[1]]).astype(np.int64)


def placing_of(tree: LabelTree) -> Placing:
    """Where labels sit now."""
    offsets, slots = tree.label_slots
    leaves = leaf_nodes(tree)
    labels = np.repeat(np.arange(tree.n_labels), np.diff(offsets))
    return Placing.of_pairs(labels, np.searchsorted(leaves, tree.owner[slots]), tree.n_labels, len(leaves))


def best_clusters(
    Y: Csr, matches: Matches, now: Placing, most: int, *, threads: int | None = None
) -> tuple[Int64, Int32, Int32]:
    """For each label the clusters that hold most of its rows, best first, with counts: (offsets, clusters, counts)."""
    rows = transpose(Y)
    n_labels, workers = int(Y.shape[1]), thread_count(threads)

    def part(span: tuple[int, int]) -> tuple[Int64, Int32, Int32]:
        return native.best_clusters(
            rows.indptr, rows.indices, matches.offsets, matches.clusters, matches.weights, matches.n_clusters,
            now.offsets, now.clusters, *span, most,
        )  # fmt: skip

    offsets, clusters, counts = join_parts(run(part, spans(n_labels, 4 * workers, at_least=256), threads=workers))
    return offsets, clusters, counts


def coverage(Y: Csr, matches: Matches, placing: Placing) -> float:
    """The share of true pairs (row, label) for which the row's beam holds a cluster of the label."""
    found = native.covered_pairs(
        Y.indptr, Y.indices, matches.offsets, matches.clusters, matches.n_clusters,
        placing.offsets, placing.clusters, 0, int(Y.shape[0]),
    )  # fmt: skip
    return found / max(1, int(Y.nnz))


def replanted(tree: LabelTree, placing: Placing, *, keep_all: bool = False) -> LabelTree:
    """The tree with labels in their new places. Nodes left without any label go; with `keep_all` none does: a cluster
    that nobody wants keeps the first label it had."""
    leaves = leaf_nodes(tree)
    labels, clusters = placing.labels, placing.clusters.astype(np.int64)
    if keep_all:
        empty = np.flatnonzero(placing.sizes == 0)
        first = tree.children[tree.offsets[leaves[empty] + 1] - 1]
        labels, clusters = np.concatenate([labels, ~first]), np.concatenate([clusters, empty])
    parents = np.full(tree.n_nodes, -1, np.int64)
    parents[1:] = tree.owner[tree.node_slot[1:]]
    used = np.zeros(tree.n_nodes, bool)
    used[0] = True
    reached = np.unique(leaves[clusters])
    while len(reached):
        used[reached] = True
        reached = np.unique(parents[reached[reached > 0]])
        reached = reached[~used[reached]]
    number = np.cumsum(used) - 1
    above = np.where(parents[used] < 0, -1, number[parents[used]])
    return LabelTree.from_parents(above, labels, number[leaves[clusters]], tree.n_labels)
