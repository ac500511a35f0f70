"""Kernels over many rows of candidates, in pieces, on all threads; and the best of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._native import rank as native
from ..parallel import run, spans, thread_count
from ..types import Float32, Int32, TopK

CHUNK = 2048  # rows a task


def by_rows(work: Callable[[int, int], object], n: int, threads: int | None) -> None:
    """`work(first, last)` over all rows."""
    if n <= 64:
        work(0, n)
        return
    workers = thread_count(threads)
    run(lambda span: work(*span), spans(n, max(workers, -(-n // CHUNK)), at_least=64), threads=workers)


def best(labels: Int32, scores: Float32, k: int, n_labels: int, *, threads: int | None = None) -> TopK:
    """The k best of n × c scored candidates (a label of -1 is none), fewer columns if there are fewer candidates."""
    n, k = len(labels), min(k, labels.shape[1])
    found, kept = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def part(first: int, last: int) -> None:
        native.best(labels, scores, first, last, found, kept)

    by_rows(part, n, threads)
    return TopK(found, kept, n_labels)
