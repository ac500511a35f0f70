"""`Candidates`: the labels of several answers together, each pair (row, label) once, rows and labels ascending.

Kernels want them as n × c with -1 behind each row's own (`padded`), users give and get csr.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from .._native import rank as native
from ..arrays import Array, Csr, Float32, Int32, Int64, TopK
from ..core import by_rows

CHUNK = 2048  # rows that a kernel works on at once
CONSTANT = 60  # of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): how little the first ranks differ


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs as numbers row · n_labels + label, ascending."""

    numbers: Int64
    n_rows: int
    n_labels: int

    @classmethod
    def of(cls, answers: Sequence[TopK]) -> Candidates:
        """Whatever one of them holds."""
        numbers = np.sort(np.concatenate([_numbers(top)[0] for top in answers]))  # np.unique hashes: slower
        first = np.append(True, numbers[1:] != numbers[:-1]) if len(numbers) else np.zeros(0, bool)
        return cls(numbers[first], len(answers[0]), answers[0].n_labels)

    def __len__(self) -> int:
        return len(self.numbers)

    def among(self, allowed: Array) -> Array:
        """True for pairs whose label may be answered; `allowed` has one number for each label, or none at all."""
        return allowed[self.numbers % self.n_labels] > 0 if len(allowed) else np.ones(len(self), bool)

    def only(self, kept: Array) -> Candidates:
        """Some of the pairs."""
        return self if kept.all() else Candidates(self.numbers[kept], self.n_rows, self.n_labels)

    def scores_of(self, top: TopK) -> tuple[Array, Array]:
        """(scores, missing): an answer's scores of all pairs, and which of them it does not hold (0 there)."""
        numbers, values = _numbers(top)
        place = np.searchsorted(self.numbers, numbers)
        scores, missing = np.zeros(len(self), np.float32), np.ones(len(self), bool)
        scores[place], missing[place] = values, False
        return scores, missing

    def ranked(self, top: TopK, wide: int) -> tuple[Array, Float32, Array]:
        """(scores, ranks, missing): as `scores_of`, with the ranks; wide + 1 beyond the first `wide` or if missing.

        The answer may hold pairs that are not asked about.
        """
        numbers, values = _numbers(top)
        rank = np.broadcast_to(np.arange(1, top.k + 1, dtype=np.float32), top.labels.shape)[top.labels >= 0]
        place = np.searchsorted(self.numbers, numbers)
        here = np.append(self.numbers, -1)[place] == numbers
        if not here.all():
            place, values, rank = place[here], values[here], rank[here]
        scores, missing = np.zeros(len(self), np.float32), np.ones(len(self), bool)
        ranks = np.full(len(self), wide + 1, np.float32)
        scores[place], missing[place] = values, False
        ranks[place] = np.minimum(rank, wide + 1)
        return scores, ranks, missing

    def pairs(self, some: Array) -> Csr:
        """Some of the pairs, as a csr of ones."""
        return self._csr(self.numbers[some], np.ones(int(some.sum()), np.float32))

    def best(self, scores: Array, k: int, *, threads: int | None = None) -> TopK:
        """The k best of each row."""
        labels, place = padded(self._csr(self.numbers, scores))
        wide = np.zeros(labels.shape, np.float32)
        wide[place] = scores
        k = min(k, self.n_labels)
        top = best(labels, wide, k, self.n_labels, threads=threads)
        if top.k == k:
            return top
        lacking = ((0, 0), (0, k - top.k))
        found = np.pad(top.labels, lacking, constant_values=-1)
        return TopK(found, np.pad(top.scores, lacking), self.n_labels)

    def _csr(self, pairs: Int64, values: Array) -> Csr:
        begins = np.searchsorted(pairs, np.arange(self.n_rows + 1, dtype=np.int64) * self.n_labels)
        return sp.csr_array((values, pairs % self.n_labels, begins), shape=(self.n_rows, self.n_labels))


def reciprocal_ranks(pool: Candidates, scores: Array, unknown: Array | None) -> Array:
    """1 / (60 + rank) of every pair among those of its row; 0 for pairs the member knows nothing of."""
    known = np.ones(len(pool), bool) if unknown is None else ~unknown
    pairs, values = pool.numbers[known], scores[known]
    rows = pairs // pool.n_labels
    order = np.lexsort((pairs, -values, rows))
    first = np.searchsorted(rows, rows)  # where each pair's row begins
    rank = np.empty(len(pairs), np.int64)
    rank[order] = np.arange(len(pairs))
    out = np.zeros(len(pool))
    out[known] = 1 / (CONSTANT + 1 + rank - first)
    return out


def _numbers(top: TopK) -> tuple[Int64, Array]:
    there = top.labels >= 0
    rows = np.broadcast_to(np.arange(len(top), dtype=np.int64)[:, None], top.labels.shape)[there]
    return rows * top.n_labels + top.labels[there], top.scores[there]


def padded(pairs: Csr) -> tuple[Int32, Array]:
    """(labels, place): labels n × c, -1 behind each row's own; `place` picks the real ones, in the order of the csr."""
    counts: Int64 = np.diff(pairs.indptr)
    width = int(counts.max()) if len(counts) else 0
    place = np.arange(width) < counts[:, None]
    labels = np.full(place.shape, -1, np.int32)
    labels[place] = pairs.indices
    return labels, place


def best(labels: Int32, scores: Float32, k: int, n_labels: int, *, threads: int | None = None) -> TopK:
    """The k best of n × c scored candidates (a label of -1 is none), fewer columns if there are fewer candidates."""
    n, k = len(labels), min(k, labels.shape[1])
    found, kept = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def part(first: int, last: int) -> None:
        native.best(labels, scores, first, last, found, kept)

    by_rows(part, n, chunk=CHUNK, threads=threads)
    return TopK(found, kept, n_labels)


def filled(top: TopK, rows: Int64, more: TopK) -> TopK:
    """Answers with some rows' empty places filled by others; what was there keeps its score."""
    labels, scores = top.labels.copy(), top.scores.copy()
    for i, row in enumerate(rows.tolist()):
        mine = labels[row] >= 0
        new = (more.labels[i] >= 0) & ~np.isin(more.labels[i], labels[row][mine])
        ids = np.concatenate([labels[row][mine], more.labels[i][new]])
        values = np.concatenate([scores[row][mine], more.scores[i][new]])
        order = np.argsort(-values, kind="stable")[: top.k]
        labels[row, : len(order)], scores[row, : len(order)] = ids[order], values[order]
    return TopK(labels, scores, top.n_labels)
