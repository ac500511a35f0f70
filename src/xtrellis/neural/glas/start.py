"""Where label vectors begin."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...arrays import Csr, Float32, Int32
from ..training import take
from .network import EmbeddingNetwork

STARTS = ("centroids", "random")
PIECE = 4096  # rows that are embedded at once


def centroids(network: EmbeddingNetwork, X: Csr, Y: Csr, rows: Int32, *, threads: int | None) -> Float32:
    """Labels at the mean of their rows' embeddings, less what all labels share, which tells none from another (0 where
    that is nothing). Random feature embeddings keep the rows' products (Johnson–Lindenstrauss), so the model begins as
    a classifier by nearest mean: labels with few rows are not left where chance put them.
    """
    sums = np.zeros_like(network.label_vectors)
    counts = np.zeros(len(sums), np.float32)
    for first in range(0, len(rows), PIECE):
        part = rows[first : first + PIECE]
        labels = take(Y, part)
        matrix = sp.csr_array((labels.data, labels.indices, labels.indptr), shape=labels.shape)
        sums += matrix.T @ network.embed(take(X, part), threads=threads)
        counts += np.bincount(labels.indices, minlength=len(sums)).astype(np.float32)
    means = sums / np.maximum(counts, 1)[:, None] - sums.sum(0) / max(float(counts.sum()), 1.0)
    means[counts == 0] = 0
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    out: Float32 = np.zeros_like(means)
    np.divide(means, lengths, out=out, where=lengths > 1e-6)
    return out
