"""`RowIndex`: all training rows that a model remembers, in a few segments. It never changes: adding and removing make
another one that shares what stays, so whoever is searching meanwhile is not disturbed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from .._native import neighbors as native
from ..arrays import MAX_ID, Array, Csr, Float32, Int32, Int64, Rows, TopK, UInt8, assemble, for_scipy, take_rows
from ..core import InputError, by_rows
from .segment import RowSegment

CHUNK = 256  # rows that are searched at once
MUCH_LARGER = 4  # a segment that is not so many times larger than the one after it is joined with it
# Many queries with many features each are searched in rows that are laid out anew (`Table`): measured on four sets, one
# query of 68 features took 0.2 of the time, of 43 features 0.45, of 12 features 0.8 to 1.7. Beyond two tiles it was not
# measured, and it grows with the rows, where blocks grow less. Laying out takes as long as 300 of the queries that it
# saves time on, for a million values.
LONG, MOST_LAID_OUT, PAYS = 32, 2**17, 2000  # features a query; rows; values of rows for each query
FEW = 5  # queries, where values may be below 0: without a table they are compared with all rows, one by one
NOBODY: Int32 = np.zeros(0, np.int32)
ALL_LABELS: UInt8 = np.zeros(0, np.uint8)
NO_WORK: Int64 = np.zeros((0, 2), np.int64)


class RowIndex:
    """Segments of rows, one after another, and how many rows each label has."""

    def __init__(self, segments: Sequence[RowSegment], label_counts: Int64) -> None:
        self.segments, self.label_counts = tuple(segments), label_counts
        self._table: LaidOut | None = None  # the rows laid out anew, once so many single queries have come
        self._asked = 0  # such queries
        self._native = native.Index()
        for segment in self.segments:
            self._native.append(segment.native)

    @classmethod
    def of(cls, X: Csr, Y: Csr, texts: Sequence[str] | None = None, *, threads: int | None = None) -> RowIndex:
        """All rows; the columns of Y are the labels."""
        return cls(RowSegment.of(X, Y, texts=texts, threads=threads), _counts(Y.indices, int(Y.shape[1])))

    @property
    def n_labels(self) -> int:
        """Labels that rows can have."""
        return len(self.label_counts)

    @property
    def n_features(self) -> int:
        """Columns of the rows; earlier segments may have fewer."""
        return self.segments[-1].n_features

    @property
    def n_rows(self) -> int:
        """Rows that were ever there: one more than the last one's number."""
        return self.segments[-1].first + self.segments[-1].n_rows

    @property
    def n_bytes(self) -> int:
        """Bytes of the index: without labels and texts."""
        return sum(segment.n_bytes for segment in self.segments)

    def removed_rows(self) -> Array:
        """True for each row that was removed."""
        return np.concatenate([segment.removed_rows() for segment in self.segments])

    def with_rows(self, X: Csr, Y: Csr, texts: Sequence[str] | None = None, *, threads: int | None = None) -> RowIndex:
        """And these rows. Segments that are not much larger than the next are joined, so there are few of them."""
        if self.n_rows + X.shape[0] > MAX_ID:
            raise InputError(f"there can be {MAX_ID} rows at most, removed ones included; fit anew to forget these")
        segments = [*self.segments, *RowSegment.of(X, Y, first=self.n_rows, texts=texts, threads=threads)]
        while len(segments) > 1:
            larger, last = segments[-2:]
            if larger.n_rows > MUCH_LARGER * last.n_rows or larger.n_rows + last.n_rows > native.MOST_ROWS:
                break
            segments[-2:] = RowSegment.join([larger, last], threads=threads)
        return RowIndex(segments, self.label_counts + _counts(Y.indices, self.n_labels))

    def without(self, rows: Int64) -> RowIndex:
        """All but these rows; a segment that is mostly of removed rows is made anew."""
        segments, counts = [], self.label_counts.copy()
        for segment in self.segments:
            mine = rows[(rows >= segment.first) & (rows < segment.first + segment.n_rows)] - segment.first
            if not len(mine):
                segments.append(segment)
                continue
            removed = segment.removed_rows()
            removed[mine] = True
            left = segment.without(removed)
            counts -= _counts(np.concatenate([segment.labels_of(int(row)) for row in mine]), self.n_labels)
            segments += RowSegment.join([left]) if 2 * left.n_dead > left.n_rows else [left]
        return RowIndex(segments, counts)

    def relabelled(self, rows: Int64, Y: Csr) -> RowIndex:
        """The same rows, some of them with other labels: row i of Y is of row rows[i], which rise."""
        segments, counts = [], self.label_counts.copy()
        for segment in self.segments:
            at = np.flatnonzero((rows >= segment.first) & (rows < segment.first + segment.n_rows))
            mine = rows[at] - segment.first
            before = np.concatenate([segment.labels_of(int(row)) for row in mine]) if len(mine) else NOBODY
            counts += _counts(take_rows(Y, at).indices, self.n_labels) - _counts(before, self.n_labels)
            segments.append(segment.relabelled(mine, take_rows(Y, at)) if len(mine) else segment)
        return RowIndex(segments, counts)

    def place(self, row: int) -> tuple[RowSegment, int]:
        """The segment that holds a row, and the row's number within it."""
        segment = next(segment for segment in reversed(self.segments) if segment.first <= row)
        return segment, row - segment.first

    def rows(self) -> Csr:
        """The rows of features; removed ones are empty."""
        parts = [segment.rows() for segment in self.segments]
        indptr = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]), out=indptr[1:])
        data, indices = np.concatenate([part.data for part in parts]), np.concatenate([part.indices for part in parts])
        return assemble(data, indices, indptr, (self.n_rows, self.n_features))

    @contextmanager
    def _laid_out(self, X: Rows | Csr) -> Iterator[native.Index | native.Table | native.Mixed]:
        """The rows for a search: laid out anew where so many queries are worth it; the answers are the same.

        Of a batch, while it lasts. Single queries, if there are as many one after another, keep it.
        """
        n, values = int(X.shape[0]), sum(int(segment.arrays["begins"][-1]) for segment in self.segments)
        negative = any(segment.meta["negative"] for segment in self.segments)
        able = negative or (len(X.indices) >= LONG * n and self.n_rows <= MOST_LAID_OUT)
        if not able:
            yield self._native
        elif self._table is not None:
            yield self._table.native
        elif n > 1 and not negative and PAYS * n >= values:
            made = LaidOut(self)
            yield made.native
        else:
            self._asked += n  # threads that count at once may lose some, which does no harm
            if self._asked >= FEW if negative else PAYS * self._asked >= values:
                self._table = LaidOut(self, mixed=negative)
            yield self._native if self._table is None else self._table.native

    def nearest(
        self, X: Rows | Csr, k: int, *, exclude: Int32 = NOBODY, threads: int | None = None, work: Int64 = NO_WORK
    ) -> TopK:
        """The k most similar rows of each row of X as a TopK of row numbers; `work` gets what it took."""
        k = min(k, self.n_rows)
        found, similarities = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32)

        def part(first: int, last: int) -> None:
            native_rows.nearest(
                X.indptr, X.indices, X.data, X.shape[1], first, last, exclude, found, similarities, work
            )

        with self._laid_out(X) as native_rows:
            by_rows(part, X.shape[0], chunk=CHUNK, threads=threads, at_least=16, title="searching")
        return TopK(found, similarities, self.n_rows)

    def vote(
        self,
        X: Rows | Csr,
        k: int,
        *,
        neighbors: int,
        power: float,
        weights: Float32,
        exclude: Int32 = NOBODY,
        allowed: UInt8 = ALL_LABELS,
        threads: int | None = None,
    ) -> TopK:
        """The k labels of each row that the nearest rows vote for most."""
        found, scores = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32)
        neighbors = min(neighbors, self.n_rows)

        def part(first: int, last: int) -> None:
            native_rows.vote(
                X.indptr, X.indices, X.data, X.shape[1], first, last, exclude, neighbors, power, weights,
                self.label_counts, allowed, found, scores,
            )  # fmt: skip

        with self._laid_out(X) as native_rows:
            by_rows(part, X.shape[0], chunk=CHUNK, threads=threads, at_least=16, title="searching")
        return TopK(found, scores, self.n_labels)

    def given(
        self,
        X: Rows | Csr,
        wanted: Csr,
        *,
        neighbors: int,
        power: float,
        weights: Float32,
        exclude: Int32 = NOBODY,
        threads: int | None = None,
    ) -> Csr:
        """The votes for the stored entries of `wanted`, rows × labels."""
        scores = np.empty(wanted.nnz, np.float32)
        neighbors = min(neighbors, self.n_rows)

        def part(first: int, last: int) -> None:
            native_rows.given(
                X.indptr, X.indices, X.data, X.shape[1], first, last, exclude, neighbors, power, weights,
                self.label_counts, wanted.indptr, wanted.indices, scores,
            )  # fmt: skip

        with self._laid_out(X) as native_rows:
            by_rows(part, X.shape[0], chunk=CHUNK, threads=threads, at_least=16, title="searching")
        return for_scipy(assemble(scores, wanted.indices, wanted.indptr, wanted.shape))


class LaidOut:
    """A native table, and the rows that it looks into; `mixed`: of rows with values below 0."""

    def __init__(self, index: RowIndex, *, mixed: bool = False) -> None:
        self.rows = rows = index.rows()
        made = native.Mixed if mixed else native.Table
        self.native = made(index._native, rows.indptr, rows.indices, rows.data, rows.shape[1])


def _counts(labels: Array, n_labels: int) -> Int64:
    return np.bincount(labels[labels < n_labels], minlength=n_labels).astype(np.int64)
