"""A trained embedding classifier: sparse row → unit vector → the labels with the largest inner products. No torch here.

φ(x) = unit(h), unit(relu(h)) or unit(h + relu(h)·Mᵀ),  h = x·W + b
score of label l = φ(x)·v_l, a cosine between -1 and 1, plus what the label's frequency adds (`prior.py`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._native import neural as native
from ...arrays import Csr, Float32, Float64, Rows
from ...core import by_rows
from ..training import bag


@dataclass(frozen=True)
class EmbeddingNetwork:
    """The arrays of a trained model: W features × dim, b dim, M dim × dim or none, V labels × dim.

    `rectified`: the outputs are ReLUs, as in the paper; M adds a layer of them to the sum instead. Where labels have
    offsets, they are a last column of V beyond dim, so that a search for large products finds the large sums.
    """

    W: Float32
    b: Float32
    M: Float32 | None
    V: Float32
    rectified: bool = False

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.W.shape[0])

    @property
    def n_labels(self) -> int:
        """Rows of V."""
        return int(self.V.shape[0])

    @property
    def dim(self) -> int:
        """Of the embeddings."""
        return len(self.b)

    @property
    def label_vectors(self) -> Float32:
        """V without offsets: of unit length, unless lengths were trained."""
        return self.V[:, : self.dim]

    def with_offsets(self, offsets: Float32) -> EmbeddingNetwork:
        """The same with what is added to the score of each label, besides what was added before."""
        before = self.V[:, self.dim :].sum(axis=1, dtype=np.float32)
        return replace(self, V=np.concatenate([self.label_vectors, (before + offsets)[:, None]], axis=1))

    def queries(self, X: Rows | Csr, *, threads: int | None = None) -> Float32:
        """What is multiplied with V: φ of each row, and a 1 for the offsets."""
        inputs = self.embed(X, threads=threads)
        if self.V.shape[1] == self.dim:
            return inputs
        return np.concatenate([inputs, np.ones((len(inputs), 1), np.float32)], axis=1)

    def embed(self, X: Rows | Csr, *, threads: int | None = None) -> Float32:
        """φ of each row, of unit length (0 where every output is)."""
        out = bag(X, self.W, threads)
        out += self.b
        if self.rectified:
            np.maximum(out, 0, out=out)
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
        score is (h + (a∘h)·Mᵀ)·v / length = h·(v + a∘(v·M)) / length, or h·(a∘v) / length where outputs are ReLUs.
        """
        terms = row.data.astype(np.float64)[:, None] * self.W[row.indices]
        hidden, direction = terms.sum(axis=0) + self.b, self.label_vectors[label].astype(np.float64)
        offset = float(self.V[label, self.dim :].sum())
        whole = hidden
        if self.rectified:
            whole, direction = np.maximum(hidden, 0), (hidden > 0) * direction
        if self.M is not None:
            direction = direction + (hidden > 0) * (direction @ self.M)
            whole = hidden + self.M.astype(np.float64) @ np.maximum(hidden, 0)
        length = max(float(np.sqrt(whole @ whole)), 1e-12)
        return float(self.b @ direction) / length + offset, terms @ direction / length
