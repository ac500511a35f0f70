"""`LabelSpace`: all that an index builder may ask about labels, computed when asked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from .._native import labels as native
from ..arrays import Csr, StringTable, as_features, assemble, join_parts, spans_of_work, transpose, unit_rows
from ..core import run, thread_count
from ..data import TrainingData
from .narrow import Narrow, narrowed


class LabelSpace:
    """The labels of a training set: which rows each has, what they look like, what they are called."""

    def __init__(
        self,
        data: TrainingData,
        *,
        normalize_rows: bool = False,
        threads: int | None = None,
        narrow: Narrow | None = None,
    ) -> None:
        self.X, self.Y, self.features = data.X, data.Y, data.label_features
        self._row_weights = data.sample_weight
        self._narrow = narrow  # the rows of X, if somebody has renumbered their features already
        self.names: StringTable | None = data.label_names
        self.normalize_rows, self.threads = normalize_rows, thread_count(threads)

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
        """One unit vector per label: PIFA, beside the label's own features if it has any. Rows without data are 0.

        Of a wide feature space only the columns that occur are there, in their order.
        """
        vectors = self._pifa()
        if self.features is None:
            return vectors
        both = sp.hstack([vectors, unit_rows(self.features)], format="csr")
        return unit_rows(as_features(both))

    def _pifa(self) -> Csr:
        rows, X = self.rows, (self._narrow or narrowed(self.X)).X
        weights = np.ones(rows.nnz, np.float32)
        if self.normalize_rows:  # a row with many labels says less about each of them
            per_row = np.diff(self.Y.indptr)
            weights = (1 / np.sqrt(per_row[rows.indices])).astype(np.float32)
        if self._row_weights is not None:
            weights = weights * self._row_weights[rows.indices]
        upto = np.concatenate([[0], np.cumsum(np.diff(X.indptr)[rows.indices])])[rows.indptr]  # multiply-adds

        def part(span: tuple[int, int]) -> Any:
            args = (rows.indptr, rows.indices, weights, X.indptr, X.indices, X.data, X.shape[1])
            return native.pifa(*args, *span)

        parts = run(part, spans_of_work(upto, 8 * self.threads), threads=self.threads)
        lengths, ids, values = zip(*parts, strict=True)
        del parts
        (indptr,) = join_parts([(some,) for some in lengths])
        # One after the other: ids and values are as large as all else together, and must not both be there twice.
        indices = np.concatenate(ids)
        del ids
        return assemble(np.concatenate(values), indices, indptr, (self.n_labels, int(X.shape[1])))
