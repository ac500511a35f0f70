"""Products of rows' vectors with labels' vectors: the largest of all, or those of given pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import neural as native
from ..arrays import Csr, Float32, Int32, assemble, for_scipy, row_numbers
from ..core import by_rows

PIECE = 1 << 14  # pairs at once: their vectors lie side by side for a moment


def products(vectors: Float32, V: Float32, wanted: Csr, *, threads: int | None = None) -> Float32:
    """The product of row and label for every pair, in their order."""
    rows = row_numbers(wanted)
    out = np.empty(len(rows), np.float32)

    def part(first: int, last: int) -> None:
        out[first:last] = np.einsum("ij,ij->i", vectors[rows[first:last]], V[wanted.indices[first:last]])

    by_rows(part, len(rows), chunk=PIECE, threads=threads)
    return out


def as_scores(values: Any, wanted: Csr) -> Csr:
    """The pairs with these scores."""
    return for_scipy(assemble(np.asarray(values, np.float32), wanted.indices, wanted.indptr, wanted.shape))


def sigmoid(logits: Float32) -> Float32:
    """1 / (1 + e^-x), without a warning for large ones."""
    with np.errstate(over="ignore"):
        out: Float32 = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return out


def exact(queries: Float32, V: Float32, k: int, *, threads: int | None = None) -> tuple[Int32, Float32]:
    """The k labels with the largest products: labels and scores, -1 pads. Nothing of size rows × labels is kept."""
    n, k = len(queries), min(k, len(V))
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def part(first: int, last: int) -> None:
        native.best_of_all(queries[first:last], V, labels[first:last], scores[first:last])

    by_rows(part, n, chunk=256, threads=threads, at_least=4)
    return labels, scores
