"""Searching a trained tree: many rows or one, all labels, some, or given ones (several.py searches several)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log1p
from typing import Any, NamedTuple

import numpy as np

from .._native import search as native
from ..arrays import LARGEST_FEATURE, Csr, Float32, Int64, Rows, TopK, UInt8, assemble, for_scipy, ranges
from ..core import by_rows
from ..index import LabelTree
from ..model import LabelSet
from .packed import PackedTree

TITLE = "searching"
SEARCHES = ("beam", "best-first")
CHUNK = 16384  # rows that share the walk over a level's nodes: more share better, fewer keep memory small
MOST_VISITS = 1 << 25  # nodes that a chunk of rows may hold at once, up to 48 bytes each
MOST_SCORES = 1 << 25  # scores that a chunk of rows may keep at once, 4 bytes each
FEW = 16  # rows that are searched one by one
EVERYTHING: UInt8 = np.zeros(0, np.uint8)  # no slot is closed


class SearchSettings(NamedTuple):
    """How to search."""

    search: str = "beam"
    beam: int = 10  # 0: no limit
    slack: float = 0.0  # share of a score that may be lost

    @property
    def lost(self) -> float:
        """The slack as a logarithm; nothing is lost by beam search."""
        if self.search != "best-first" or not self.slack:
            return 0.0
        return -log1p(-self.slack) if self.slack < 1 else inf


def search_tree(
    tree: PackedTree,
    X: Rows | Csr,
    k: int,
    settings: SearchSettings,
    *,
    labels: Int64 | LabelSet | None = None,
    threads: int | None = None,
) -> TopK:
    """The k best labels in one tree."""
    n = X.shape[0]
    found, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    allowed = EVERYTHING if labels is None else open_slots(tree.tree, labels)
    if settings.search == "best-first":

        def best_first(first: int, last: int) -> None:
            native.best_first(
                tree.native, X.indptr, X.indices, X.data, X.shape[1], first, last,
                settings.beam, settings.lost, allowed, found, scores,
            )  # fmt: skip

        by_rows(best_first, n, chunk=256, threads=threads, title=TITLE)
    elif n == 1:
        native.single(tree.native, X.indices, X.data, settings.beam, allowed, found, scores)
    elif n < FEW:

        def one_by_one(first: int, last: int) -> None:
            for row in range(first, last):
                span, place = slice(X.indptr[row], X.indptr[row + 1]), slice(row, row + 1)
                native.single(
                    tree.native, X.indices[span], X.data[span], settings.beam, allowed, found[place], scores[place]
                )

        by_rows(one_by_one, n, chunk=256, threads=threads, title=TITLE)
    else:

        def batch(first: int, last: int) -> None:
            native.batch(
                tree.native, X.indptr, X.indices, X.data, X.shape[1], first, last, settings.beam, allowed, found, scores
            )

        width = min(settings.beam or tree.tree.n_nodes, tree.tree.n_nodes)
        chunk = min(CHUNK, MOST_VISITS // width)
        if tree.tree.has_copies and tree.merge == "mean":  # the scores of all labels looked at are kept meanwhile
            looked_at = width * -(-tree.tree.n_slots // tree.tree.n_nodes)
            chunk = min(chunk, MOST_SCORES // looked_at)
        by_rows(batch, n, chunk=max(64, chunk), threads=threads, title=TITLE)
    return TopK(found, scores, tree.tree.n_labels)


def search_one(tree: PackedTree, X: Any, k: int, beam: int, *, unit: bool) -> TopK | None:
    """One well-formed csr row, checked and searched in one call of the kernel; None for anything else.

    The same answer as `search_tree` gives for the row as `as_rows` makes it, with half of the work in Python.
    """
    try:
        if X.format != "csr" or X.shape != (1, tree.n_features):
            return None
        n_labels = tree.tree.n_labels
        found, scores = np.empty((1, min(k, n_labels)), np.int32), np.empty((1, min(k, n_labels)), np.float32)
        arrays = (X.indptr, X.indices, X.data)
        if native.one(tree.native, *arrays, tree.n_features, LARGEST_FEATURE, unit, beam, found, scores):
            return TopK(found, scores, n_labels)
    except (AttributeError, TypeError):  # no csr, other dtypes, arrays that are not in one piece
        pass
    return None


def count_nodes(trees: Sequence[PackedTree], X: Rows, k: int, settings: SearchSettings) -> float:
    """Nodes that best-first search (under the beam, if there is one) looks into: the mean a row, of all trees."""
    n = X.shape[0]
    found, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    slack = settings._replace(search="best-first").lost
    total = sum(
        native.best_first(
            tree.native, X.indptr, X.indices, X.data, X.shape[1], 0, n, settings.beam, slack, EVERYTHING, found, scores
        )
        for tree in trees
    )
    return float(total) / max(n, 1)


def score_given(trees: Sequence[PackedTree], X: Rows, wanted: Csr, *, threads: int | None = None) -> Csr:
    """Scores of the stored entries of `wanted`, rows × labels; of several trees, the mean."""
    total = sum(score_tree(tree, X, wanted, threads) for tree in trees)
    return for_scipy(assemble(total / np.float32(len(trees)), wanted.indices, wanted.indptr, wanted.shape))


def score_tree(packed: PackedTree, X: Rows | Csr, wanted: Rows | Csr, threads: int | None) -> Float32:
    """Scores of the stored entries of `wanted` in one tree."""
    scores = np.empty(len(wanted.indices), np.float32)

    def given(first: int, last: int) -> None:
        native.given(
            packed.native, packed.places, X.indptr, X.indices, X.data, X.shape[1], first, last,
            wanted.indptr, wanted.indices, scores,
        )  # fmt: skip

    by_rows(given, X.shape[0], chunk=256, threads=threads, title=TITLE)
    return scores


def open_slots(tree: LabelTree, labels: Int64 | LabelSet) -> UInt8:
    """1 for slots that hold one of `labels` or lead to one."""
    if isinstance(labels, LabelSet):
        ids = labels.ids
        return labels.made_for(tree, lambda: open_slots(tree, ids))
    offsets, slots = tree.label_slots
    reached = slots[ranges(offsets[labels], np.diff(offsets)[labels])].astype(np.int64)
    out = np.zeros(tree.n_slots, np.uint8)
    while len(reached):
        out[reached] = 1
        above = tree.node_slot[np.unique(tree.owner[reached])]
        reached = above[above >= 0].astype(np.int64)
    return out
