"""Searching a trained tree: many rows or one, all labels, some, or given ones (ensemble.py searches several)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .. import progress
from .._native import search as native
from ..arrays import Rows, assemble, for_scipy
from ..index import LabelTree
from ..parallel import run, spans, thread_count
from ..types import Csr, Float32, Int64, TopK, UInt8
from .packed import PackedTree

SEARCHES = ("beam", "best-first")
CHUNK = 16384  # rows that share the walk over a level's nodes: more share better, fewer keep memory small
MOST_VISITS = 1 << 25  # nodes that a chunk of rows may hold at once, 32 bytes each
MOST_SCORES = 1 << 25  # scores that a chunk of rows may keep at once, 4 bytes each
FEW = 16  # rows that are searched one by one
EVERYTHING: UInt8 = np.zeros(0, np.uint8)  # no slot is closed


class SearchSettings(NamedTuple):
    """How to search."""

    search: str = "beam"
    beam: int = 10  # 0: no limit
    slack: float = 0.0  # share of a score that may be lost


def search_tree(
    tree: PackedTree,
    X: Rows,
    k: int,
    settings: SearchSettings,
    *,
    labels: Int64 | None = None,
    threads: int | None = None,
) -> TopK:
    """The k best labels in one tree."""
    n = X.shape[0]
    found, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    allowed = EVERYTHING if labels is None else open_slots(tree.tree, labels)
    if settings.search == "best-first":
        slack = -np.log1p(-settings.slack) if settings.slack < 1 else np.inf

        def best_first(first: int, last: int) -> None:
            native.best_first(
                tree.native, X.indptr, X.indices, X.data, X.shape[1], first, last,
                settings.beam, slack, allowed, found, scores,
            )  # fmt: skip

        _by_rows(best_first, n, 256, threads)
    elif n == 1:
        native.single(tree.native, X.indices, X.data, settings.beam, allowed, found, scores)
    elif n < FEW or n << 10 < 1 << tree.bits:  # too few rows to pay for a table as long as the feature space

        def one_by_one(first: int, last: int) -> None:
            for row in range(first, last):
                span, place = slice(X.indptr[row], X.indptr[row + 1]), slice(row, row + 1)
                native.single(
                    tree.native, X.indices[span], X.data[span], settings.beam, allowed, found[place], scores[place]
                )

        _by_rows(one_by_one, n, 256, threads)
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
        _by_rows(batch, n, max(64, chunk), threads)
    return TopK(found, scores, tree.tree.n_labels)


def count_nodes(trees: Sequence[PackedTree], X: Rows, k: int, settings: SearchSettings) -> float:
    """Nodes that best-first search (under the beam, if there is one) looks into: the mean a row, of all trees."""
    n = X.shape[0]
    found, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    slack = -np.log1p(-settings.slack) if settings.slack < 1 else np.inf
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


def score_tree(packed: PackedTree, X: Rows, wanted: Rows | Csr, threads: int | None) -> Float32:
    """Scores of the stored entries of `wanted` in one tree."""
    tree, scores = packed.tree, np.empty(len(wanted.indices), np.float32)
    label_offsets, label_slots = tree.label_slots

    def given(first: int, last: int) -> None:
        native.given(
            packed.native, tree.owner, tree.node_slot, label_offsets, label_slots,
            X.indptr, X.indices, X.data, X.shape[1], first, last, wanted.indptr, wanted.indices, scores,
        )  # fmt: skip

    _by_rows(given, X.shape[0], 256, threads)
    return scores


def open_slots(tree: LabelTree, labels: Int64) -> UInt8:
    """1 for slots that hold one of `labels` or lead to one."""
    offsets, slots = tree.label_slots
    counts = np.diff(offsets)[labels]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    reached = slots[np.repeat(offsets[labels], counts) + inside].astype(np.int64)
    out = np.zeros(tree.n_slots, np.uint8)
    while len(reached):
        out[reached] = 1
        above = tree.node_slot[np.unique(tree.owner[reached])]
        reached = above[above >= 0].astype(np.int64)
    return out


def _by_rows(work: Callable[[int, int], object], n: int, chunk: int, threads: int | None) -> None:
    """Run `work(first, last)` over all rows in pieces."""
    if n == 1:
        work(0, 1)
        return
    workers = thread_count(threads)
    pieces = spans(n, max(workers, -(-n // chunk)), at_least=64)
    with progress.step("searching", total=n, unit="rows") as advance:
        run(lambda span: work(*span), pieces, threads=workers, done=lambda i: advance(pieces[i][1] - pieces[i][0]))
