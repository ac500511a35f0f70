"""Searching several trees: the k labels with the best mean score.

Each tree gives its best labels; a label that one tree gives and another does not is scored in the other, so nothing
counts as 0 that has a score. Only labels that can still be among the best k are scored (Fagin, Lotem, Naor 2003, the
threshold algorithm): a tree's last answer bounds all that it did not give. The same bound says whether a label that no
tree gave could be better than the k-th; rows for which it could are searched again, deeper. So where each tree's answer
is exact (best-first without beam and slack), the mean's is too, but for the order of equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import search as native
from ..arrays import Csr, Float32, Int32, Int64, Rows, TopK, join_parts, take_rows
from ..core import by_rows
from ..model import LabelSet
from .packed import PackedTree
from .search import SearchSettings, score_tree, search_tree

SPARE = 2  # times k labels are asked of each tree at first
DEEPER = 4  # times as many for rows that these do not decide
MOST_ANSWERS = 1 << 24  # that are held at once, in all trees
CHUNK = 1024  # rows whose answers a thread pools at once


def search(
    trees: Sequence[PackedTree],
    X: Rows,
    k: int,
    settings: SearchSettings | Sequence[SearchSettings],
    *,
    labels: Int64 | LabelSet | None = None,
    threads: int | None = None,
    most: int | None = None,
    ranks: Int32 | None = None,
    precise: bool = False,
) -> TopK:
    """The k best labels of each row; of several trees, by the mean of the scores.

    `settings` are of all trees, or one for each. A tree gives at most `most` labels of a row, if that is said. `ranks`
    order equals, those of the first tree if they are not given. `precise`: scores are added in double precision.
    """
    n_labels = trees[0].tree.n_labels
    all_labels = n_labels if labels is None else len(labels)
    k = min(k, all_labels)
    how = [settings] * len(trees) if isinstance(settings, SearchSettings) else list(settings)
    if len(trees) == 1:
        return search_tree(trees[0], X, k, how[0], labels=labels, threads=threads)
    most = all_labels if most is None else min(max(most, k), all_labels)
    n, ties = X.shape[0], trees[0].label_ranks if ranks is None else ranks
    out, scores = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
    wide, left = min(k * SPARE, most), np.arange(n)
    while len(left):
        undecided = []
        chunk = max(1, MOST_ANSWERS // (wide * len(trees)))
        for begin in range(0, len(left), chunk):
            rows = left[begin : begin + chunk]
            here: Rows | Csr = X if len(rows) == n else take_rows(X, rows)
            found = [
                search_tree(tree, here, wide, way, labels=labels, threads=threads)
                for tree, way in zip(trees, how, strict=True)
            ]
            top, unseen = _best(trees, here, found, k, ties, threads, np.float64 if precise else np.float32)
            out[rows], scores[rows] = top.labels, top.scores
            if wide < most:
                undecided.append(rows[top.scores[:, -1] < unseen])
        left = np.concatenate(undecided) if undecided else left[:0]
        wide = min(wide * DEEPER, most)
    return TopK(out, scores, n_labels)


def _best(
    trees: Sequence[PackedTree], X: Rows | Csr, found: Sequence[TopK], k: int, ranks: Int32, threads: int | None,
    sums: type[np.floating[Any]],
) -> tuple[TopK, Float32]:  # fmt: skip
    """The k best by the mean of what the trees found, and for each row what a label that no tree gave can reach."""
    n, n_labels = X.shape[0], found[0].n_labels
    offsets, labels, table, unseen = _pooled(found, k, threads)
    mean = np.zeros(len(labels), sums)
    for tree, line in zip(trees, table.T, strict=True):
        gone = np.isnan(line)
        asked = np.concatenate([[0], np.cumsum(gone, dtype=np.int64)])[offsets]
        if asked[-1]:
            wanted = Rows(line[gone], labels[gone], asked, (n, n_labels))
            line[gone] = score_tree(tree, X, wanted, threads)
        mean += line  # one tree after another, as `score_given` adds
    mean /= sums(len(trees))
    values = mean.astype(np.float32, copy=False)
    out, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def part(first: int, last: int) -> None:
        native.best_pooled(offsets, labels, values, ranks, first, last, out, scores)

    by_rows(part, n, chunk=CHUNK, threads=threads)
    return TopK(out, scores, n_labels), unseen / np.float32(len(trees))


def _pooled(found: Sequence[TopK], k: int, threads: int | None) -> tuple[Int64, Int32, Float32, Float32]:
    """Of each row (offsets) the labels that can be among the best, each once; their scores in all trees (NaN where a
    tree did not give them); and what a label that no tree gave can reach at most, in sum."""
    labels, scores = np.concatenate([top.labels for top in found]), np.concatenate([top.scores for top in found])
    parts: dict[int, tuple[Int64, Int32, Float32, Float32]] = {}

    def part(first: int, last: int) -> None:
        parts[first] = native.pool(labels, scores, len(found), first, last, k)

    by_rows(part, len(found[0]), chunk=CHUNK, threads=threads)
    offsets, ids, table, unseen = join_parts([parts[first] for first in sorted(parts)])
    return offsets, ids, table.reshape(-1, len(found)), unseen
