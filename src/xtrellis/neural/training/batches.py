"""Batches of sparse rows with one sampled label each, keyed by (seed, epoch): the same for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._native import neural as native
from ...arrays import Csr, Float32, Int32, Int64, Rows, row_numbers
from ...core import generator, key

EVERYONE = 40  # draws a label after which each has come: the chance that one has not is e^-40


@dataclass(frozen=True)
class Batch:
    """Some rows, and the labels they are measured against."""

    rows: Int32  # of the training matrix
    X: Rows  # their features, some dropped
    block: Int32  # different labels, ascending: one of each row, and further ones drawn at random
    counts: Int64  # how many rows each was sampled for; 0 for further ones
    positives: Int64  # place of each row's sampled label in the block
    known_rows: Int64  # known_rows[i] (place in the batch) has the label block[known_positions[i]]
    known_positions: Int64

    def __len__(self) -> int:
        return len(self.rows)


def take(X: Csr | Rows, rows: Int32, *, dropout: float = 0.0, seed: int = 0) -> Rows:
    """Rows of a sparse matrix; every entry is dropped with probability `dropout`."""
    offsets, ids, values = native.take(X.indptr, X.indices, X.data, rows, 1 - dropout, seed)
    return Rows(values, ids, offsets, (len(rows), int(X.shape[1])))


def rescaled(X: Rows, whole: Rows, dropout: float, how: str) -> Rows:
    """What dropout left of the rows `whole`, made up for what it took: `share` multiplies all by 1/ρ, `length` gives
    every row the length that it had, `none` leaves them as they are."""
    if how == "none" or not dropout:
        return X
    if how == "share":
        return Rows(X.data / np.float32(1 - dropout), X.indices, X.indptr, X.shape)
    before, now = (
        np.sqrt(np.bincount(row_numbers(Z), Z.data.astype(np.float64) ** 2, len(Z.indptr) - 1)) for Z in (whole, X)
    )
    factors = np.divide(before, now, out=np.ones_like(now), where=now > 0)
    return Rows((X.data * np.repeat(factors, np.diff(X.indptr))).astype(np.float32), X.indices, X.indptr, X.shape)


class Batches:
    """Passes over the rows of X that have labels, in random order."""

    def __init__(
        self, X: Csr, Y: Csr, rows: Int32, *, size: int, dropout: float, further: int, seed: int, scale: str = "none"
    ) -> None:
        self.X, self.Y, self.scale = X, Y, scale
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
            block = np.unique(np.concatenate([labels, self._further(rng)])).astype(np.int32)
            known = native.known(self.Y.indptr, self.Y.indices, rows, block)
            X = take(self.X, rows, dropout=self.dropout, seed=key(self.seed, "dropout", epoch))
            if self.scale != "none":
                X = rescaled(X, take(self.X, rows), self.dropout, self.scale)
            positives = np.searchsorted(block, labels)
            yield Batch(rows, X, block, np.bincount(positives, minlength=len(block)), positives, *known)

    def odds(self) -> Float32:
        """Logarithm of one in how many blocks has each label: what a negative stands for in a sum over all labels."""
        n_labels = int(self.Y.shape[1])
        if self.further >= EVERYONE * n_labels:
            return np.zeros(n_labels, np.float32)
        labels = take(self.Y, self.rows)
        sizes = np.diff(labels.indptr)
        share = np.bincount(labels.indices, np.repeat(1 / sizes, sizes), n_labels) / max(1, len(sizes))
        missed = len(sizes) / self.count * np.log1p(-np.minimum(share, 1 - 1e-9))
        missed += self.further * np.log1p(-1 / max(2, n_labels))
        out: Float32 = -np.log(np.maximum(-np.expm1(missed), 1e-9)).astype(np.float32)
        return out

    def _further(self, rng: np.random.Generator) -> Int32:
        """Labels drawn at random, some of them twice; of so many draws that none would be left out, all labels."""
        n_labels = int(self.Y.shape[1])
        if self.further >= EVERYONE * n_labels:
            return np.arange(n_labels, dtype=np.int32)
        return rng.integers(0, n_labels, self.further, dtype=np.int32)
