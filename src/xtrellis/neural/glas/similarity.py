"""How alike two labels are, from how often they occur together: U of the GLaS regulariser, one block at a time.

    A = YᵀY counts the rows that two labels share, z = diag(A) those of each one. For labels a, b:
    arithmetic   ½ (A_ab/z_a + A_ab/z_b)                 eq. 3 of the paper: mean of the conditional frequencies
    geometric    A_ab / √(z_a z_b)                       its appendix B
    jaccard      A_ab / (z_a + z_b − A_ab)
    pmi          ln(n A_ab / (z_a z_b)) / −ln(A_ab/n)    normalised to [-1, 1]; negative ones count as 0

All are 1 for a label and itself, and 0 for two that never meet, so a block is as sparse as the labels' meetings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from ..._native import neural as native
from ...arrays import Csr, Float32, Float64, Int32, Int64, Rows, join_parts, row_numbers, spans_of_work, transpose
from ...core import run
from ..training import bag

SIMILARITIES = ("arithmetic", "geometric", "pmi", "jaccard")


@dataclass(frozen=True)
class Block:
    """U of some labels, symmetric, sparse, with ones on its diagonal, and how often each of them was drawn."""

    U: Rows
    counts: Float64

    @cached_property
    def _weights(self) -> Float64:
        """Of the entries of U: c_a·c_b, and 0 on the diagonal."""
        a = row_numbers(self.U)
        weights: Float64 = self.counts[a] * self.counts[self.U.indices]
        weights[a == self.U.indices] = 0
        return weights

    @cached_property
    def total(self) -> float:
        """Σ c_a c_b u_ab over different labels."""
        return float(self._weights @ self.U.data.astype(np.float64))

    @cached_property
    def total_squares(self) -> float:
        """Σ c_a c_b u_ab² over different labels."""
        return float(self._weights @ self.U.data.astype(np.float64) ** 2)

    def times(self, V: Any, torch: Any, threads: int | None) -> Any:
        """U·V as a constant."""
        V = V.detach()
        if V.device.type == "cpu" and V.dtype == torch.float32:
            return torch.from_numpy(bag(self.U, V.contiguous().numpy(), threads))
        rows, ids, values = (
            torch.from_numpy(array).to(V.device)
            for array in (row_numbers(self.U), self.U.indices.astype(np.int64), self.U.data)
        )
        return torch.zeros_like(V).index_add_(0, rows, values.to(V.dtype)[:, None] * V[ids])


class Similarity:
    """Makes blocks of U from the label matrix; nothing of the size labels × labels is ever built."""

    def __init__(self, Y: Csr, kind: str, *, threads: int | None = None) -> None:
        self.Y, self.kind, self.threads = Y, kind, threads
        self.label_rows = transpose(Y)
        self.frequency = np.diff(self.label_rows.indptr).astype(np.float64)
        # Counting the meetings of label a looks at every label of every row that has a.
        per_row = np.concatenate([[0], np.cumsum(np.diff(Y.indptr)[self.label_rows.indices])])
        self._work: Int64 = np.diff(per_row[self.label_rows.indptr])

    def block(self, labels: Int32, drawn: Int64 | None = None) -> Block:
        """U of different labels in ascending order, and how often each was drawn (once unless told)."""
        counts = self._counts(labels)
        a = row_numbers(counts)
        z = self.frequency[labels]
        values = _KINDS[self.kind](counts.data.astype(np.float64), z[a], z[counts.indices], float(self.Y.shape[0]))
        values[a == counts.indices] = 1.0
        U = Rows(values.astype(np.float32), counts.indices, counts.indptr, counts.shape)
        U = U if (self.frequency[labels] > 0).all() else _with_diagonal(U)
        return Block(U, np.ones(len(labels)) if drawn is None else drawn.astype(np.float64))

    def _counts(self, labels: Int32) -> Rows:
        upto = np.concatenate([[0], np.cumsum(self._work[labels])])

        def part(span: tuple[int, int]) -> tuple[Int64, Int32, Float32]:
            return native.together(
                self.Y.indptr, self.Y.indices, self.label_rows.indptr, self.label_rows.indices, labels, *span
            )

        offsets, ids, counts = join_parts(run(part, spans_of_work(upto, 8), threads=self.threads))
        return Rows(counts, ids, offsets, (len(labels), len(labels)))


def _with_diagonal(U: Rows) -> Rows:
    """A label without rows meets nobody, not even itself; its 1 is put in."""
    full = sp.csr_array((U.data, U.indices, U.indptr), shape=U.shape)
    full = sp.csr_array(full + sp.diags_array((full.diagonal() == 0).astype(np.float32)))
    full.sort_indices()
    return Rows(full.data.astype(np.float32), full.indices.astype(np.int32), full.indptr.astype(np.int64), U.shape)


def _arithmetic(both: Float64, a: Float64, b: Float64, n: float) -> Float64:
    return 0.5 * (both / a + both / b)


def _geometric(both: Float64, a: Float64, b: Float64, n: float) -> Float64:
    return both / np.sqrt(a * b)


def _jaccard(both: Float64, a: Float64, b: Float64, n: float) -> Float64:
    return both / (a + b - both)


def _pmi(both: Float64, a: Float64, b: Float64, n: float) -> Float64:
    information = -np.log(both / n)
    everywhere = information < 1e-12  # two labels that every row has
    out: Float64 = np.log(both * n / (a * b)) / np.where(everywhere, 1.0, information)
    return np.where(everywhere, 1.0, np.maximum(out, 0.0))


_KINDS = {"arithmetic": _arithmetic, "geometric": _geometric, "jaccard": _jaccard, "pmi": _pmi}
