"""`Overlap`: labels in several clusters, placed where the rows that have them are led (Liu et al. 2021, "Label
Disentanglement in Partition-based Extreme Multilabel Classification").

Legend: Y n×L labels of rows, M n×K clusters that a row's beam holds, C L×K clusters of labels. Search can only find a
true label if the beam holds one of its clusters: at most Tr(Yᵀ Binary(M Cᵀ)) of them, the *coverage*. Without Binary
the best C with λ clusters a label is known: for each label the λ largest of (YᵀM)_l (`assign="counts"`). It covers at
least as much as any partition. With Binary the best C is a set cover for each label, which nobody finds quickly; taking
the cluster that covers most rows not covered yet, again and again, covers at least 1 − 1/e of what λ clusters can
(`assign="coverage"`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Float32, Int32, Int64, assemble, join_parts, row_numbers, transpose
from ..core import Configured, choice, flag, integer, param, run, spans, thread_count
from .capacity import Wishes, fit_in, give_more
from .tree import LabelTree

MERGES = ("mean", "max")
ASSIGNMENTS = ("counts", "coverage")
CANDIDATES = 64  # clusters of a label that are looked at when clusters may be full
USUAL = 1.5  # times the mean size: as large as a cluster may become by itself


class _ClusterSize(integer):
    """A number of labels, or "auto"."""

    def __init__(self) -> None:
        super().__init__(at_least=1, or_none=True)
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
    folds: int = param(
        integer(at_least=1, at_most=100),
        "parts of the rows, each led to clusters by classifiers trained on the other parts; 1: by such as know them",
        default=1,
    )
    assign: str = param(
        choice(*ASSIGNMENTS),
        "the clusters that most of a label's rows are led to, or such as together cover most of them",
        default="counts",
    )
    min_gain: int = param(
        integer(at_least=1), "assign='coverage': rows that a further place of a label must cover anew", default=2
    )

    def limit(self, now: Placing) -> int | None:
        """Labels in a cluster at most; by itself never less than the largest cluster has already. There is never room
        for more labels than there are: what is kept of it grows with it."""
        n_labels = len(now.offsets) - 1
        if self.max_cluster_size == "auto":
            usual = min(self.copies, now.n_clusters) * n_labels / now.n_clusters
            return max(math.ceil(USUAL * usual), int(now.sizes.max()))
        return None if self.max_cluster_size is None else min(int(self.max_cluster_size), n_labels)

    def place(
        self, Y: Csr, matches: Matches, now: Placing, *, seed: int, threads: int | None = None
    ) -> tuple[Placing, float]:
        """The new places of all labels, and how far they may be from the best (with a limit of sizes; else 0)."""
        if self.assign == "coverage":
            return self._cover(Y, matches, now, threads)
        limit, wishes = self.limit(now), self._wishes(Y, matches, now, threads)
        if limit is not None:
            chosen, gap = fit_in(wishes, now.first, copies=self.copies, limit=limit)
            return Placing.of_pairs(*chosen, wishes.n_labels, matches.n_clusters), gap
        lost = np.flatnonzero(np.diff(wishes.offsets) == 0)  # nobody asks for them: they stay
        stay = np.isin(now.labels, lost)
        labels = np.concatenate([wishes.labels, now.labels[stay]])
        clusters = np.concatenate([wishes.clusters, now.clusters[stay]])
        return Placing.of_pairs(labels, clusters, wishes.n_labels, matches.n_clusters), 0.0

    def _cover(self, Y: Csr, matches: Matches, now: Placing, threads: int | None) -> tuple[Placing, float]:
        """Greedily: the first place of a label is where most of its rows are led, each further one where most of those
        are that none of its places covers yet, if there are `min_gain` of them. All labels' first places come before
        any second one, which cannot take another label's room."""
        n_labels, limit = int(Y.shape[1]), self.limit(now)
        limit = n_labels if limit is None else limit  # room for everybody
        wishes = self._wishes(Y, matches, now, threads)
        (labels, clusters), gap = fit_in(wishes, now.first, copies=1, limit=limit)
        room = np.full(matches.n_clusters, limit, np.int64)
        places = [(labels, clusters)]
        for _ in range(self.copies - 1):
            room -= np.bincount(clusters, minlength=matches.n_clusters)
            Y = uncovered(Y, matches, labels, clusters)
            wishes = self._wishes(Y, matches, now, threads).worth(self.min_gain)
            labels, clusters = give_more(wishes, room)
            if not len(labels):
                break
            places.append((labels, clusters))
        labels, clusters = (np.concatenate(column) for column in zip(*places, strict=True))
        return Placing.of_pairs(labels, clusters, n_labels, matches.n_clusters), gap

    def _wishes(self, Y: Csr, matches: Matches, now: Placing, threads: int | None) -> Wishes:
        """The clusters that hold most of each label's rows; more than it can have, where they may be full."""
        most = self.copies if self.limit(now) is None else max(CANDIDATES, self.copies)
        return Wishes(*best_clusters(Y, matches, now, most, threads=threads), matches.n_clusters)


@dataclass(frozen=True)
class Matches:
    """The clusters (numbered among those that hold labels) that each row's beam holds, with their scores."""

    offsets: Int64
    clusters: Int32
    weights: Float32
    n_clusters: int

    @property
    def pairs(self) -> Int64:
        """row × n_clusters + cluster of all that is held, ascending."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return np.sort(rows * self.n_clusters + self.clusters)


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
    def first(self) -> Int32:
        """A cluster of every label."""
        return self.clusters[self.offsets[:-1]]

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


def uncovered(Y: Csr, matches: Matches, labels: Int64, clusters: Int64) -> Csr:
    """Y without the pairs (row, label) for which the row's beam holds the cluster that the label is given here (some
    labels, one each)."""
    given = np.full(int(Y.shape[1]), -1, np.int64)
    given[labels] = clusters
    rows, wanted, held = row_numbers(Y), given[Y.indices], matches.pairs
    keys = rows * matches.n_clusters + wanted
    at = np.searchsorted(held, keys)
    found = held[np.minimum(at, len(held) - 1)] == keys if len(held) else np.zeros(len(keys), bool)
    left = np.flatnonzero((wanted < 0) | ~found)
    offsets = np.searchsorted(rows[left], np.arange(int(Y.shape[0]) + 1)).astype(np.int64)
    return assemble(Y.data[left], Y.indices[left], offsets, (int(Y.shape[0]), int(Y.shape[1])))


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
