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
from ..store import file_array, let_go
from .narrow import Narrow, narrowed

PARTS = 64  # for each thread, of vectors that lie in files: as much is in memory at once


class LabelSpace:
    """The labels of a training set: which rows each has, what they look like, what they are called."""

    def __init__(
        self,
        data: TrainingData,
        *,
        normalize_rows: bool = False,
        threads: int | None = None,
        narrow: Narrow | None = None,
        on_disk: bool = False,
    ) -> None:
        self.X, self.Y, self.features = data.X, data.Y, data.label_features
        self._row_weights = data.sample_weight
        self._narrow = narrow  # the rows of X, if somebody has renumbered their features already
        self._on_disk = on_disk  # vectors lie in files
        self.names: StringTable | None = data.label_names
        self.known = data.known  # what a vocabulary says of them
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

        if self._on_disk:
            return self._stacked(part, spans_of_work(upto, PARTS * self.threads), int(X.shape[1]))
        parts = run(part, spans_of_work(upto, 8 * self.threads), threads=self.threads)
        lengths, ids, values = zip(*parts, strict=True)
        del parts
        (indptr,) = join_parts([(some,) for some in lengths])
        # One after the other: ids and values are as large as all else together, and must not both be there twice.
        indices = np.concatenate(ids)
        del ids
        return assemble(np.concatenate(values), indices, indptr, (self.n_labels, int(X.shape[1])))

    def _stacked(self, part: Any, spans: list[tuple[int, int]], width: int) -> Csr:
        """Vectors part by part, each in a file as soon as it is made; then all in one."""
        lengths: list[Any] = []
        ids: list[Any] = []
        values: list[Any] = []
        for first in range(0, len(spans), self.threads):
            for found in run(part, spans[first : first + self.threads], threads=self.threads):
                lengths.append(found[0])
                for kept, array in ((ids, found[1]), (values, found[2])):
                    kept.append(file_array(len(array), array.dtype))
                    kept[-1][:] = array
            let_go()
        (indptr,) = join_parts([(some,) for some in lengths])
        whole = []
        for parts in (values, ids):
            out = file_array(int(indptr[-1]), parts[0].dtype)
            at = 0
            while parts:
                some = parts.pop(0)
                out[at : at + len(some)] = some
                at += len(some)
                let_go()
            whole.append(out)
        return assemble(whole[0], whole[1], indptr, (self.n_labels, width))
