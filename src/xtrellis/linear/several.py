"""Searching several trees: the k labels with the best mean score.

Each tree gives its best labels; a label that one tree gives and another does not is scored in the other, so nothing
counts as 0 that has a score. Only labels that can still be among the best k are scored (Fagin, Lotem, Naor 2003, the
threshold algorithm): a tree's last answer bounds all that it did not give. The same bound says whether a label that no
tree gave could be better than the k-th; rows for which it could are searched again, deeper. So where each tree's answer
is exact (best-first without beam and slack), the mean's is too, but for the order of equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native import search as native
from ..arrays import LARGEST_FEATURE, Csr, Float32, Int32, Int64, Rows, TopK, take_rows
from ..core import by_rows
from ..model import LabelSet
from .packed import PackedTree
from .search import FEW, TITLE, SearchSettings, search_tree

SPARE = 2  # times k labels are asked of each tree at first
DEEPER = 4  # times as many for rows that these do not decide
MOST_ANSWERS = 1 << 24  # that are held at once, in all trees
CHUNK = 1024  # rows whose answers a thread joins at once


class Several(NamedTuple):
    """Trees that are searched as one, how each of them is, and what the answers are.

    A tree gives at most `most` labels of a row, if that is said. `ranks` order equals, those of the first tree if they
    are not given. `precise`: scores are added in double precision.
    """

    trees: Sequence[PackedTree]
    settings: Sequence[SearchSettings]
    most: int | None = None
    ranks: Int32 | None = None
    precise: bool = False

    @property
    def ties(self) -> Int32:
        """What orders equals."""
        return self.trees[0].label_ranks if self.ranks is None else self.ranks

    def widths(self, k: int, all_labels: int) -> tuple[int, int]:
        """Labels that a tree gives for the best k: at first, and at most."""
        most = all_labels if self.most is None else min(max(self.most, k), all_labels)
        return min(k * SPARE, most), most

    def parts(self) -> tuple[list[native.Packed], list[native.Places]]:
        """As kernels take them."""
        return [tree.native for tree in self.trees], [tree.places for tree in self.trees]

    def asked(self, k: int, all_labels: int) -> tuple[Any, ...]:
        """All that kernels want to know of trees and answers."""
        beams, slacks = [how.beam for how in self.settings], [how.lost for how in self.settings]
        return *self.parts(), beams, slacks, *self.widths(k, all_labels), DEEPER, self.ties, self.precise


def search(
    several: Several, X: Rows, k: int, *, labels: Int64 | LabelSet | None = None, threads: int | None = None
) -> TopK:
    """The k best labels of each row; of several trees, by the mean of the scores."""
    trees, n = several.trees, X.shape[0]
    n_labels = trees[0].tree.n_labels
    all_labels = n_labels if labels is None else len(labels)
    k = min(k, all_labels)
    if len(trees) == 1:
        return search_tree(trees[0], X, k, several.settings[0], labels=labels, threads=threads)
    out, scores = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
    if labels is None and (n < FEW or all(how.search == "best-first" for how in several.settings)):
        asked = several.asked(k, all_labels)

        def one_by_one(first: int, last: int) -> None:
            given = (*asked, X.indptr, X.indices, X.data, X.shape[1], first, last, out, scores)
            native.together(*given)

        by_rows(one_by_one, n, chunk=256, threads=threads, title=TITLE)
        return TopK(out, scores, n_labels)
    (wide, most), left = several.widths(k, all_labels), np.arange(n)
    while len(left):
        undecided = []
        chunk = max(1, MOST_ANSWERS // (wide * len(trees)))
        for begin in range(0, len(left), chunk):
            rows = left[begin : begin + chunk]
            here: Rows | Csr = X if len(rows) == n else take_rows(X, rows)
            found = [
                search_tree(tree, here, wide, way, labels=labels, threads=threads)
                for tree, way in zip(trees, several.settings, strict=True)
            ]
            top, unseen = _joined(several, here, found, k, threads)
            out[rows], scores[rows] = top.labels, top.scores
            if wide < most:
                undecided.append(rows[top.scores[:, -1] < unseen])
        left = np.concatenate(undecided) if undecided else left[:0]
        wide = min(wide * DEEPER, most)
    return TopK(out, scores, n_labels)


def search_one(several: Several, X: Any, k: int, *, unit: bool) -> TopK | None:
    """As `search_one` of one tree: a well-formed csr row in one call; None for anything else."""
    tree = several.trees[0]
    try:
        if X.format != "csr" or X.shape != (1, tree.n_features):
            return None
        n_labels = tree.tree.n_labels
        k = min(k, n_labels)
        found, scores = np.empty((1, k), np.int32), np.empty((1, k), np.float32)
        row = (X.indptr, X.indices, X.data, tree.n_features, LARGEST_FEATURE, unit, found, scores)
        given = (*several.asked(k, n_labels), *row)
        if native.one_together(*given):
            return TopK(found, scores, n_labels)
    except (AttributeError, TypeError):  # no csr, other dtypes, arrays that are not in one piece
        pass
    return None


def _joined(
    several: Several, X: Rows | Csr, found: Sequence[TopK], k: int, threads: int | None
) -> tuple[TopK, Float32]:
    """The k best by the mean of what the trees found, and for each row what a label that no tree gave can reach."""
    n = X.shape[0]
    labels, worth = np.stack([top.labels for top in found]), np.stack([top.scores for top in found])
    out, scores, unseen = np.empty((n, k), np.int32), np.empty((n, k), np.float32), np.empty(n, np.float32)
    asked = (*several.parts(), several.ties, several.precise)

    def part(first: int, last: int) -> None:
        native.join(*asked, X.indptr, X.indices, X.data, X.shape[1], first, last, labels, worth, out, scores, unseen)

    by_rows(part, n, chunk=CHUNK, threads=threads)
    return TopK(out, scores, found[0].n_labels), unseen
