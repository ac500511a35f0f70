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
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import neural as native
from ..arrays import Rows
from ..labels.space import transpose
from ..parallel import run
from ..types import Csr, Float32, Int32, Int64
from .layers import bag

SIMILARITIES = ("arithmetic", "geometric", "pmi", "jaccard")


@dataclass(frozen=True)
class Block:
    """U of some labels: symmetric, sparse, with ones on its diagonal."""

    U: Rows

    @cached_property
    def total(self) -> float:
        """Σ u_ab over different labels."""
        return float(self.U.data.sum(dtype=np.float64)) - self.U.shape[0]

    @cached_property
    def total_squares(self) -> float:
        """Σ u_ab² over different labels."""
        return float((self.U.data.astype(np.float64) ** 2).sum()) - self.U.shape[0]

    def times(self, V: Any, torch: Any, threads: int | None) -> Any:
        """U·V as a constant."""
        V = V.detach()
        if V.device.type == "cpu" and V.dtype == torch.float32:
            return torch.from_numpy(bag(self.U, V.contiguous().numpy(), threads))
        counts = np.diff(self.U.indptr)
        rows, ids, values = (
            torch.from_numpy(array).to(V.device)
            for array in (np.repeat(np.arange(len(counts)), counts), self.U.indices.astype(np.int64), self.U.data)
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

    def block(self, labels: Int32) -> Block:
        """U of different labels in ascending order."""
        counts = self._counts(labels)
        a = np.repeat(np.arange(len(labels)), np.diff(counts.indptr))
        z = self.frequency[labels]
        values = _KINDS[self.kind](counts.data.astype(np.float64), z[a], z[counts.indices], float(self.Y.shape[0]))
        values[a == counts.indices] = 1.0
        U = Rows(values.astype(np.float32), counts.indices, counts.indptr, counts.shape)
        return Block(U if (self.frequency[labels] > 0).all() else _with_diagonal(U))

    def _counts(self, labels: Int32) -> Rows:
        work = np.concatenate([[0], np.cumsum(self._work[labels])])
        edges = np.unique(
            np.concatenate([[0], np.searchsorted(work, np.linspace(0, work[-1], 9)[1:-1]), [len(labels)]])
        )

        def part(span: tuple[int, int]) -> tuple[Int64, Int32, Float32]:
            return native.together(
                self.Y.indptr, self.Y.indices, self.label_rows.indptr, self.label_rows.indices, labels, *span
            )

        parts = run(part, list(pairwise(edges.tolist())), threads=self.threads)
        shift = np.cumsum([0, *(p[0][-1] for p in parts)])
        offsets = np.concatenate([[0], *(p[0][1:] + s for p, s in zip(parts, shift, strict=False))]).astype(np.int64)
        ids = np.concatenate([p[1] for p in parts])
        return Rows(np.concatenate([p[2] for p in parts]), ids, offsets, (len(labels), len(labels)))


def _with_diagonal(U: Rows) -> Rows:
    """A label without rows meets nobody, not even itself; its 1 is put in."""
    from scipy import sparse as sp

    full = sp.csr_array((U.data, U.indices, U.indptr), shape=U.shape)
    full = sp.csr_array(full + sp.diags_array((full.diagonal() == 0).astype(np.float32)))
    full.sort_indices()
    return Rows(full.data.astype(np.float32), full.indices.astype(np.int32), full.indptr.astype(np.int64), U.shape)


_Doubles = NDArray[np.float64]


def _arithmetic(both: _Doubles, a: _Doubles, b: _Doubles, n: float) -> _Doubles:
    return 0.5 * (both / a + both / b)


def _geometric(both: _Doubles, a: _Doubles, b: _Doubles, n: float) -> _Doubles:
    return both / np.sqrt(a * b)


def _jaccard(both: _Doubles, a: _Doubles, b: _Doubles, n: float) -> _Doubles:
    return both / (a + b - both)


def _pmi(both: _Doubles, a: _Doubles, b: _Doubles, n: float) -> _Doubles:
    information = -np.log(both / n)
    everywhere = information < 1e-12  # two labels that every row has
    out: _Doubles = np.log(both * n / (a * b)) / np.where(everywhere, 1.0, information)
    return np.where(everywhere, 1.0, np.maximum(out, 0.0))


_KINDS = {"arithmetic": _arithmetic, "geometric": _geometric, "jaccard": _jaccard, "pmi": _pmi}
