"""Searching trained trees: many rows or one, one tree or several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import progress
from .._native import search as native
from ..parallel import run, spans, thread_count
from ..types import Csr, TopK
from .packed import PackedTree

CHUNK = 8192  # rows that share the walk over a level's nodes: more share better, fewer keep memory small
SPARE = 10  # labels that each of several trees names beyond k, so that their mean has something to choose from


def search(trees: Sequence[PackedTree], X: Csr, k: int, *, beam: int, threads: int | None) -> TopK:
    """The k best labels of each row; of several trees, the mean of the scores (a label not found counts 0)."""
    n_labels = trees[0].tree.n_labels
    if len(trees) == 1:
        return search_tree(trees[0], X, min(k, n_labels), beam=beam, threads=threads)
    found = [search_tree(tree, X, min(k * SPARE, n_labels), beam=beam, threads=threads) for tree in trees]
    total = sum(top.to_csr() for top in found)
    total.data /= len(trees)
    return TopK.from_csr(total, min(k, n_labels))


def search_tree(tree: PackedTree, X: Csr, k: int, *, beam: int, threads: int | None) -> TopK:
    """Beam search in one tree."""
    n = int(X.shape[0])
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    answer = TopK(labels, scores, tree.tree.n_labels)
    if n == 1:
        native.single(tree.native, X.indices, X.data, beam, labels[0], scores[0])
        return answer

    def part(span: tuple[int, int]) -> None:
        native.batch(tree.native, X.indptr, X.indices, X.data, X.shape[1], *span, beam, labels, scores)

    workers = thread_count(threads)
    pieces = spans(n, max(workers, -(-n // CHUNK)), at_least=64)
    with progress.step("searching", total=n, unit="rows") as advance:
        run(part, pieces, threads=workers, done=lambda i: advance(pieces[i][1] - pieces[i][0]))
    return answer
