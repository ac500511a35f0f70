"""`LabelSpace`: all that an index builder may ask about labels, computed when asked."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse as sp

from .._native import labels as native
from ..arrays import as_features, assemble
from ..errors import InputError
from ..parallel import run, thread_count
from ..types import Csr


class LabelSpace:
    """The labels of a training set: which rows each has and what they look like."""

    def __init__(
        self, X: Csr, Y: Csr, *, features: Any = None, normalize_rows: bool = False, threads: int | None = None
    ) -> None:
        self.X, self.Y, self.threads = X, Y, thread_count(threads)
        self.normalize_rows = normalize_rows
        self.features = None if features is None else as_features(features, name="label features")
        if self.features is not None and self.features.shape[0] != self.n_labels:
            raise InputError(f"label features have {self.features.shape[0]} rows; Y has {self.n_labels} labels")

    @property
    def n_labels(self) -> int:
        """Columns of Y."""
        return int(self.Y.shape[1])

    @cached_property
    def rows(self) -> Csr:
        """Labels × rows: which rows have each label."""
        return transpose(self.Y)

    @cached_property
    def vectors(self) -> Csr:
        """One unit vector a label: PIFA, beside the label's own features if there are any. Rows without data are 0."""
        vectors = self._pifa()
        if self.features is None:
            return vectors
        both = sp.hstack([vectors, _unit_rows(self.features)], format="csr")
        return as_features(_unit_rows(as_features(both)))

    def _pifa(self) -> Csr:
        rows, X = self.rows, self.X
        weights = np.ones(rows.nnz, np.float32)
        if self.normalize_rows:  # a row with many labels says less about each of them
            per_row = np.diff(self.Y.indptr)
            weights = (1 / np.sqrt(per_row[rows.indices])).astype(np.float32)
        work = np.concatenate([[0], np.cumsum(np.diff(X.indptr)[rows.indices])])[
            rows.indptr
        ]  # multiply-adds up to a label
        cuts = np.searchsorted(work, np.linspace(0, work[-1], 8 * self.threads + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], cuts, [self.n_labels]])).tolist()

        def part(span: tuple[int, int]) -> Any:
            args = (rows.indptr, rows.indices, weights, X.indptr, X.indices, X.data, X.shape[1])
            return native.pifa(*args, *span)

        parts = run(part, list(pairwise(edges)), threads=self.threads)
        shift = np.cumsum([0, *(p[0][-1] for p in parts)])
        indptr = np.concatenate([[0], *(p[0][1:] + s for p, s in zip(parts, shift, strict=False))]).astype(np.int64)
        ids, values = (np.concatenate([p[i] for p in parts]) for i in (1, 2))
        return assemble(values, ids, indptr, (self.n_labels, int(X.shape[1])))


def transpose(matrix: Csr) -> Csr:
    """A csr of the transpose, with int32 ids and int64 offsets."""
    turned = matrix.tocsc()
    return assemble(
        turned.data,
        turned.indices.astype(np.int32, copy=False),
        turned.indptr.astype(np.int64, copy=False),
        (matrix.shape[1], matrix.shape[0]),
    )


def _unit_rows(matrix: Csr) -> Csr:
    lengths = np.sqrt(np.add.reduceat(np.append(matrix.data**2, 0), matrix.indptr[:-1]) * (np.diff(matrix.indptr) > 0))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    data = (matrix.data * np.repeat(scale, np.diff(matrix.indptr))).astype(np.float32)
    return assemble(data, matrix.indices, matrix.indptr, matrix.shape)
