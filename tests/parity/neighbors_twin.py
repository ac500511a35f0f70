"""What native/neighbors computes, the long way: every row compared with every query, in the order of the features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def similarities(X: sp.csr_array, Q: sp.csr_array) -> np.ndarray:
    """Queries × rows in float32: products in double, added one after another."""
    out = np.zeros((Q.shape[0], X.shape[0]))
    lengths = np.diff(X.indptr)
    for i in range(Q.shape[0]):
        query = np.zeros(X.shape[1])
        query[Q.indices[Q.indptr[i] : Q.indptr[i + 1]]] = Q.data[Q.indptr[i] : Q.indptr[i + 1]]
        products = query[X.indices] * X.data.astype(np.float64)
        for j in range(lengths.max(initial=0)):  # the j-th feature of every row that has so many
            rows = np.flatnonzero(lengths > j)
            out[i, rows] += products[X.indptr[rows] + j]
    return out.astype(np.float32)


def nearest(scores: np.ndarray, k: int, left_out: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The k best rows above 0 of each line; of equal ones the first. `left_out`: queries × rows."""
    scores = scores.copy()
    if left_out is not None:
        scores[left_out] = 0
    k = min(k, scores.shape[1])
    order = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(scores, order, axis=1)
    return np.where(best > 0, order, -1).astype(np.int32), np.where(best > 0, best, 0).astype(np.float32)


def votes(
    rows: np.ndarray, similar: np.ndarray, Y: sp.csr_array, k: int, *, power: float, frequency: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels of most votes."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    weights = (np.maximum(counts, 1).astype(np.float64) ** -frequency).astype(np.float32)
    labels, scores = np.full((len(rows), k), -1, np.int32), np.zeros((len(rows), k), np.float32)
    for i in range(len(rows)):
        there = rows[i] >= 0
        if not there.any():
            continue
        shares = similar[i][there].astype(np.float64) ** power
        found = np.zeros(Y.shape[1])
        for row, share in zip(rows[i][there], shares, strict=True):
            found[Y.indices[Y.indptr[row] : Y.indptr[row + 1]]] += share
        final = (found / np.cumsum(shares)[-1] * weights).astype(np.float32)
        best = [j for j in np.lexsort((np.arange(len(final)), -counts, -final)) if final[j] > 0][:k]
        labels[i, : len(best)], scores[i, : len(best)] = best, final[best]
    return labels, scores
