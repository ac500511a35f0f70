"""The order in which rows lie in a segment: similar ones together, so that most blocks hold nothing for a query."""

from __future__ import annotations

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Int32, assemble, spans_of_work
from ..core import key, progress, run, thread_count

FROM = 2_000  # rows; of fewer, all can be looked at
LEAF = 8  # rows of a cluster that is not split any more: those of a block
ITERATIONS, TOLERANCE = 4, 1e-3  # of 2-means; the order need not be good, only cheap


def similar_together(X: Csr, first: int, last: int, *, threads: int | None = None) -> Int32 | None:
    """Rows first .. last (as numbers from 0) in the order of a tree of halves; None: as they come."""
    n = last - first
    if n < FROM or (X.data < 0).any():
        return None
    rows = X
    if n < X.shape[0]:
        offsets = X.indptr[first : last + 1] - X.indptr[first]
        part = slice(int(X.indptr[first]), int(X.indptr[last]))
        rows = assemble(X.data[part], X.indices[part], offsets, (n, X.shape[1]))
    members, cuts = np.arange(n, dtype=np.int32), np.array([0, n], np.int64)
    lengths = np.diff(rows.indptr) + 1
    levels = int(np.ceil(np.log2(n / LEAF)))
    with progress.step("ordering rows", total=levels, unit="levels") as advance:
        for level in range(levels):
            keys = np.array([key(0, "rows", level, i) for i in range(len(cuts) - 1)], np.uint64)
            upto = np.concatenate([[0], np.cumsum(lengths[members])])[cuts]

            def split(group: tuple[int, int], cuts: np.ndarray = cuts, keys: np.ndarray = keys) -> None:
                begin, end = group
                native.split_balanced(
                    rows.indptr, rows.indices, rows.data, rows.shape[1], members, cuts[begin : end + 1],
                    keys[begin:end], iterations=ITERATIONS, tolerance=TOLERANCE, objectives=np.zeros(end - begin),
                )  # fmt: skip

            run(split, spans_of_work(upto, 8 * thread_count(threads)), threads=threads)
            halves = cuts[:-1] + (np.diff(cuts) + 1) // 2
            cuts = np.append(np.column_stack([cuts[:-1], halves]).ravel(), cuts[-1])
            advance(1)
    return members
