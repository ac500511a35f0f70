"""Searching several trees: the k labels with the best mean score.

Each tree gives its best labels; a label that one tree gives and another does not is scored in the other, so nothing
counts as 0 that has a score. Only labels that can still be among the best k are scored (Fagin, Lotem, Naor 2003, the
threshold algorithm): a tree's last answer bounds all that it did not give. The same bound says whether a label that no
tree gave could be better than the k-th; rows for which it could are searched again, deeper. So where each tree's answer
is exact (best-first without beam and slack), the mean's is too, but for the order of equals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Csr, Float32, Int64, Rows, TopK, take_rows
from ..model import LabelSet
from .packed import PackedTree
from .search import SearchSettings, score_tree, search_tree

SPARE = 3  # times k labels are asked of each tree at first
DEEPER = 4  # times as many for rows that these do not decide
MOST_ANSWERS = 1 << 24  # that are held at once, in all trees


def search(
    trees: Sequence[PackedTree],
    X: Rows,
    k: int,
    settings: SearchSettings,
    *,
    labels: Int64 | LabelSet | None = None,
    threads: int | None = None,
) -> TopK:
    """The k best labels of each row; of several trees, by the mean of the scores."""
    n_labels = trees[0].tree.n_labels
    most = n_labels if labels is None else len(labels)
    k = min(k, most)
    if len(trees) == 1:
        return search_tree(trees[0], X, k, settings, labels=labels, threads=threads)
    n = X.shape[0]
    out, scores = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
    wide, left = min(k * SPARE, most), np.arange(n)
    while len(left):
        undecided = []
        chunk = max(1, MOST_ANSWERS // (wide * len(trees)))
        for begin in range(0, len(left), chunk):
            rows = left[begin : begin + chunk]
            here: Rows | Csr = X if len(rows) == n else take_rows(X, rows)
            found = [search_tree(tree, here, wide, settings, labels=labels, threads=threads) for tree in trees]
            top, unseen = _best(trees, here, found, k, threads)
            out[rows], scores[rows] = top.labels, top.scores
            if wide < most:
                undecided.append(rows[top.scores[:, -1] < unseen])
        left = np.concatenate(undecided) if undecided else left[:0]
        wide = min(wide * DEEPER, most)
    return TopK(out, scores, n_labels)


def _best(
    trees: Sequence[PackedTree], X: Rows | Csr, found: Sequence[TopK], k: int, threads: int | None
) -> tuple[TopK, Float32]:
    """The k best by the mean of what the trees found, and for each row what a label that no tree gave can reach."""
    n, n_labels = X.shape[0], found[0].n_labels
    # What a tree did not give scores no more than its last answer (what a beam missed: as a rule). A list that is not
    # full holds all there is.
    floors = [np.where(top.labels >= 0, top.scores, np.float32(np.inf)).min(axis=1) for top in found]
    full = [top.labels[:, -1] >= 0 for top in found]
    unseen = np.sum([np.where(all_, last, 0) for all_, last in zip(full, floors, strict=True)], axis=0).astype(
        np.float32
    )
    given = [_flat(top) for top in found]  # (row × n_labels + label, score), ascending
    pairs = np.unique(np.concatenate([keys for keys, _ in given]))
    of_row = pairs // n_labels
    table = np.full((len(trees), len(pairs)), np.nan, np.float32)
    for line, (keys, values) in zip(table, given, strict=True):
        line[np.searchsorted(pairs, keys)] = values
    missing = np.isnan(table)
    at_least = np.where(missing, np.float32(0), table).sum(axis=0)
    at_most = np.where(missing, np.stack(floors)[:, of_row], table).sum(axis=0)
    bar = _top(of_row, pairs % n_labels, at_least, n, k, trees[0]).scores[:, -1]
    hopeful = at_most >= bar[of_row]
    table, missing, pairs, of_row = table[:, hopeful], missing[:, hopeful], pairs[hopeful], of_row[hopeful]
    for tree, line, gone in zip(trees, table, missing, strict=True):
        if gone.any():
            asked = np.searchsorted(of_row[gone], np.arange(n + 1)).astype(np.int64)
            ids = (pairs[gone] % n_labels).astype(np.int32)
            wanted = Rows(line[gone], ids, asked, (n, n_labels))
            line[gone] = score_tree(tree, X, wanted, threads)
    mean = _sum(table) / np.float32(len(trees))
    return _top(of_row, pairs % n_labels, mean, n, k, trees[0]), unseen / np.float32(len(trees))


def _top(rows: Int64, labels: Int64, values: Float32, n: int, k: int, tree: PackedTree) -> TopK:
    """The k best of each row, as `TopK.from_csr`, but without the cost of a matrix: it counts for a single row."""
    ties = tree.label_ranks[labels] if len(tree.label_ranks) else labels
    order = np.lexsort((ties, -values, rows))
    counts = np.bincount(rows, minlength=n)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < k
    at = rows[kept], rank[kept]  # rows ascend, so their places are those of the sorted ones
    out, scores = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
    out[at], scores[at] = labels[order[kept]], values[order[kept]]
    return TopK(out, scores, tree.tree.n_labels)


def _sum(table: Float32) -> Float32:
    """Line by line: the same order of additions for any number of columns, as `score_given` adds."""
    total: Float32 = table[0].copy()
    for line in table[1:]:
        total += line
    return total


def _flat(top: TopK) -> tuple[Int64, Float32]:
    kept: NDArray[np.bool_] = top.labels >= 0
    keys = (np.arange(len(top))[:, None] * top.n_labels + top.labels)[kept]
    order = np.argsort(keys)
    return keys[order], top.scores[kept][order]
