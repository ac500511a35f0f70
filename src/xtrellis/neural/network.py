"""A trained embedding classifier: sparse row → unit vector → the labels with the largest inner products. No torch here.

φ(x) = unit(act(x·W + b))  or  unit(relu(x·W + b)·M)         act: nothing or relu
score of label l = φ(x)·v_l, a cosine between -1 and 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._native import neural as native
from ..arrays import Rows
from ..parallel import run, spans, thread_count
from ..types import Float32, Int32
from .layers import bag


@dataclass(frozen=True)
class Network:
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

    def embed(self, X: Rows, *, threads: int | None = None) -> Float32:
        """φ of each row, of unit length (0 where every output is)."""
        out = bag(X, self.W, threads)
        out += self.b
        if self.M is not None:
            positive, mixed, matrix = np.maximum(out, 0), np.empty_like(out), self.M
            run(
                lambda span: native.products(positive[slice(*span)], matrix, mixed[slice(*span)]),
                spans(len(out), 8 * thread_count(threads), at_least=16),
                threads=threads,
            )
            out += mixed
        # Row by row in float64: einsum over the last axis adds in an order that does not depend on the other rows.
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64)).astype(np.float32)
        out /= np.maximum(lengths, np.float32(1e-12))[:, None]
        return out


def exact(queries: Float32, V: Float32, k: int, *, threads: int | None = None) -> tuple[Int32, Float32]:
    """The k labels with the largest products: labels and scores, -1 pads. Nothing of size rows × labels is kept."""
    n = len(queries)
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def part(span: tuple[int, int]) -> None:
        at = slice(*span)
        native.best_of_all(queries[at], V, labels[at], scores[at])

    run(part, spans(n, max(thread_count(threads), n // 256), at_least=4), threads=threads)
    return labels, scores
