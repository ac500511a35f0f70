"""A trained embedding classifier: sparse row → unit vector → the labels with the largest inner products. No torch here.

φ(x) = unit(h)  or  unit(h + relu(h)·Mᵀ),  h = x·W + b
score of label l = φ(x)·v_l, a cosine between -1 and 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._native import neural as native
from ...arrays import Csr, Float32, Float64, Rows
from ...core import by_rows
from ..training import bag


@dataclass(frozen=True)
class EmbeddingNetwork:
    """The arrays of a trained model: W features × dim, b dim, M dim × dim or none, V labels × dim."""

    W: Float32
    b: Float32
    M: Float32 | None
    V: Float32

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.W.shape[0])

    @property
    def n_labels(self) -> int:
        """Rows of V."""
        return int(self.V.shape[0])

    def embed(self, X: Rows | Csr, *, threads: int | None = None) -> Float32:
        """φ of each row, of unit length (0 where every output is)."""
        out = bag(X, self.W, threads)
        out += self.b
        if self.M is not None:
            positive, mixed, matrix = np.maximum(out, 0), np.empty_like(out), self.M

            def part(first: int, last: int) -> None:
                native.products(positive[first:last], matrix, mixed[first:last])

            by_rows(part, len(out), chunk=256, threads=threads, at_least=16)
            out += mixed
        # Row by row in float64: einsum over the last axis adds in an order that does not depend on the other rows.
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64)).astype(np.float32)
        out /= np.maximum(lengths, np.float32(1e-12))[:, None]
        return out

    def contributions(self, row: Csr, label: int) -> tuple[float, Float64]:
        """What the bias and each feature of one row add to the score of a label; together they are the score.

        Which ReLUs are active is a matter of the row, and then all is linear: with h = x·W + b and a = [h > 0], the
        score is (h + (a∘h)·Mᵀ)·v / length = h·(v + a∘(v·M)) / length.
        """
        terms = row.data.astype(np.float64)[:, None] * self.W[row.indices]
        hidden, direction = terms.sum(axis=0) + self.b, self.V[label].astype(np.float64)
        whole = hidden
        if self.M is not None:
            direction = direction + (hidden > 0) * (direction @ self.M)
            whole = hidden + self.M.astype(np.float64) @ np.maximum(hidden, 0)
        length = max(float(np.sqrt(whole @ whole)), 1e-12)
        return float(self.b @ direction) / length, terms @ direction / length
