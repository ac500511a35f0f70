"""`LabelSpace`: all that an index builder may ask about labels, computed when asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from .._native import labels as native
from ..arrays import (
    Csr,
    Float32,
    Int32,
    Int64,
    Rows,
    StringTable,
    as_features,
    assemble,
    count_ids,
    join_parts,
    ranges,
    row_spans,
    spans_of_work,
    transpose,
    unit_rows,
)
from ..core import Engine, current, run, thread_count
from ..data import FarRows, TrainingData, all_rows, far_rows, near_rows
from ..store import GrowingArray, file_array, let_go, row_files
from .narrow import Narrow, narrowed

CHUNK = 1 << 18  # entries that are looked at together
FAR_PARTS = 8  # for each worker, of vectors that are made elsewhere: at most
FAR_WORK = 1 << 22  # multiply-adds that are worth a task there
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
        read_files: bool = False,
    ) -> None:
        self.X, self.Y, self.features = data.X, data.Y, data.label_features
        self._row_weights = data.sample_weight
        self._narrow = narrow  # the rows of X, if somebody has renumbered their features already
        self._on_disk = on_disk  # vectors lie in files
        self._read_files = read_files  # rows that lie in files are read, not looked at through mapped pages
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
        return _transposed_to_file(self.Y) if self._on_disk else transpose(self.Y)

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
        upto = np.concatenate([[0], np.cumsum(self._work(X))])

        def members(span: tuple[int, int]) -> Members:
            first, last = span
            here = rows.indices[rows.indptr[first] : rows.indptr[last]]
            return rows.indptr[first : last + 1] - rows.indptr[first], here, self._weights(here)

        files, engine = row_files(X) if self._read_files else None, current()
        if engine is not None and engine.far:
            found = self._far(engine, X, members, spans_of_work(upto, far_parts(int(upto[-1]), engine.workers)))
            join = self._in_files if self._on_disk else self._joined
            return join(found, int(X.shape[1]))

        def part(span: tuple[int, int]) -> Any:
            return pifa(members(span), X, files)

        if self._on_disk:
            return self._in_files(self._few(part, spans_of_work(upto, PARTS * self.threads)), int(X.shape[1]))
        return self._joined(run(part, spans_of_work(upto, 8 * self.threads), threads=self.threads), int(X.shape[1]))

    def _far(self, engine: Engine, X: Csr, members: Any, spans: list[tuple[int, int]]) -> list[Any]:
        """The vectors of some labels each, made where the engine runs tasks: a label's rows are added in one place and
        in their order, so the sums are the same to the bit."""
        shared = engine.share(far_rows(X))
        found: dict[tuple[int, int], Any] = {}

        def task(span: tuple[int, int]) -> tuple[tuple[int, int], tuple[Any, ...]]:
            return span, (shared, *members(span))

        def split(span: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[Any, ...]]]:
            middle = sum(span) // 2
            return [task((span[0], middle)), task((middle, span[1]))] if span[1] - span[0] > 1 else []

        if not self._on_disk:
            engine.run(far_pifa, map(task, spans), found.__setitem__, split=split)
            return [found[span] for span in sorted(found)]
        # In files as they come, in whatever order that is.
        ids, values, at = GrowingArray(np.int32), GrowingArray(np.float32), 0

        def done(span: tuple[int, int], vectors: tuple[Int64, Int32, Float32]) -> None:
            nonlocal at
            found[span] = vectors[0], slice(at, at + len(vectors[1]))
            ids.append(vectors[1])
            values.append(vectors[2])
            at += len(vectors[1])

        engine.run(far_pifa, map(task, spans), done, split=split)
        all_ids, all_values = ids.finish(), values.finish()
        return [(found[s][0], all_ids[found[s][1]], all_values[found[s][1]]) for s in sorted(found)]

    def _joined(self, parts: list[Any], width: int) -> Csr:
        lengths, ids, values = zip(*parts, strict=True)
        parts.clear()
        (indptr,) = join_parts([(some,) for some in lengths])
        # One after the other: ids and values are as large as all else together, and must not both be there twice.
        indices = np.concatenate(ids)
        del ids
        return assemble(np.concatenate(values), indices, indptr, (self.n_labels, width))

    def _work(self, X: Csr) -> Int64:
        """Multiply-adds of each label: the non-zeros of its rows."""
        work = np.zeros(self.n_labels, np.float64)
        for first, last in row_spans(self.Y.indptr, max(CHUNK, self.n_labels)):
            lengths = np.repeat(np.diff(X.indptr[first : last + 1]), np.diff(self.Y.indptr[first : last + 1]))
            ids = self.Y.indices[self.Y.indptr[first] : self.Y.indptr[last]]
            work += np.bincount(ids, weights=lengths, minlength=self.n_labels)
        return work.astype(np.int64)

    def _weights(self, rows: Int32) -> Float32:
        """What each of these rows counts for its label."""
        weights = np.ones(len(rows), np.float32)
        if self.normalize_rows:  # a row with many labels says less about each of them
            weights = (1 / np.sqrt(self.Y.indptr[rows + 1] - self.Y.indptr[rows])).astype(np.float32)
        return weights if self._row_weights is None else weights * self._row_weights[rows]

    def _few(self, part: Any, spans: list[tuple[int, int]]) -> Iterator[Any]:
        """Parts in their order, as many at once as there are threads."""
        for first in range(0, len(spans), self.threads):
            yield from run(part, spans[first : first + self.threads], threads=self.threads)

    def _in_files(self, parts: Iterable[Any], width: int) -> Csr:
        """Vectors part by part, in files."""
        ids, values, lengths = GrowingArray(np.int32), GrowingArray(np.float32), []
        for offsets, its_ids, its_values in parts:
            lengths.append(np.diff(offsets))
            ids.append(its_ids)
            values.append(its_values)
            let_go()
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return assemble(values.finish(), ids.finish(), indptr, (self.n_labels, width))


Members = tuple[Int64, Int32, Float32]  # of some labels: where the rows of each begin, the rows, what they count


def pifa(members: Members, X: Csr | Rows, files: Int64 | None = None) -> tuple[Int64, Int32, Float32]:
    """Unit vectors of some labels."""
    vectors: tuple[Int64, Int32, Float32] = native.pifa(
        *members, X.indptr, X.indices, X.data, X.shape[1], 0, len(members[0]) - 1, files
    )
    return vectors


def far_parts(work: int, workers: int) -> int:
    """Tasks for so many multiply-adds: one a worker, or more if they are large."""
    return int(np.clip(work // FAR_WORK, workers, FAR_PARTS * workers))


def far_pifa(X: FarRows, offsets: Int64, rows: Int32, weights: Float32) -> tuple[Int64, Int32, Float32]:
    """A task: the same with just the rows that these labels have."""
    everything = all_rows(X)
    if everything is not None:
        return pifa((offsets, rows, weights), everything)
    needed, places = np.unique(rows, return_inverse=True)
    return pifa((offsets, places.astype(np.int32), weights), near_rows(X, needed))


def _transposed_to_file(Y: Csr) -> Csr:
    """`transpose`, some rows at a time and into files; only where entries lie is there, not that they are ones."""
    n_labels = int(Y.shape[1])
    offsets = np.concatenate([[0], np.cumsum(count_ids(Y.indices, n_labels))])
    out, following = file_array(int(Y.nnz), np.int32), offsets[:-1].copy()
    for first, last in row_spans(Y.indptr, max(CHUNK, n_labels)):
        ids = Y.indices[Y.indptr[first] : Y.indptr[last]]
        rows = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(Y.indptr[first : last + 1]))
        order = np.argsort(ids, kind="stable")
        counts = np.bincount(ids, minlength=n_labels)
        out[ranges(following, counts)] = rows[order]
        following += counts
        let_go()
    return assemble(np.broadcast_to(np.float32(1), out.shape), out, offsets, (n_labels, int(Y.shape[0])))
