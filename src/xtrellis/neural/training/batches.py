"""Batches of sparse rows with one sampled label each, keyed by (seed, epoch): the same for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._native import neural as native
from ...arrays import Csr, Int32, Int64, Rows
from ...core import generator, key


@dataclass(frozen=True)
class Batch:
    """Some rows, and the labels they are measured against."""

    rows: Int32  # of the training matrix
    X: Rows  # their features, some dropped
    block: Int32  # different labels, ascending: one of each row, and further ones drawn at random
    positives: Int64  # place of each row's sampled label in the block
    known_rows: Int64  # known_rows[i] (place in the batch) has the label block[known_positions[i]]
    known_positions: Int64

    def __len__(self) -> int:
        return len(self.rows)


def take(X: Csr | Rows, rows: Int32, *, dropout: float = 0.0, seed: int = 0) -> Rows:
    """Rows of a sparse matrix; every entry is dropped with probability `dropout`."""
    offsets, ids, values = native.take(X.indptr, X.indices, X.data, rows, 1 - dropout, seed)
    return Rows(values, ids, offsets, (len(rows), int(X.shape[1])))


class Batches:
    """Passes over the rows of X that have labels, in random order."""

    def __init__(self, X: Csr, Y: Csr, rows: Int32, *, size: int, dropout: float, further: int, seed: int) -> None:
        self.X, self.Y = X, Y
        self.rows = rows[np.diff(Y.indptr)[rows] > 0]
        # Batches of nearly equal size: a last one of three rows would be a step in an arbitrary direction.
        self.count = max(1, -(-len(self.rows) // size))
        self.dropout, self.further, self.seed = dropout, further, seed

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """All rows once."""
        rng = generator(self.seed, "epoch", epoch)
        order = rng.permutation(self.rows).astype(np.int32, copy=False)
        counts = np.diff(self.Y.indptr)[order]
        picked = self.Y.indices[self.Y.indptr[order] + (rng.random(len(order)) * counts).astype(np.int64)]
        edges = [len(order) * i // self.count for i in range(self.count + 1)]
        for first, last in pairwise(edges):
            rows, labels = order[first:last], picked[first:last]
            more = rng.integers(0, self.Y.shape[1], self.further, dtype=np.int32) if self.further else labels[:0]
            block = np.unique(np.concatenate([labels, more])).astype(np.int32)
            known = native.known(self.Y.indptr, self.Y.indices, rows, block)
            X = take(self.X, rows, dropout=self.dropout, seed=key(self.seed, "dropout", epoch))
            yield Batch(rows, X, block, np.searchsorted(block, labels), *known)
