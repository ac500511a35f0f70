"""How many different features some rows have: what the sizes of classifiers go by, counted on a sample."""

from __future__ import annotations

import math
import os

import numpy as np

from ..arrays import Csr, Int32, Int64, count_ids, ranges, row_spans
from ..store import row_files

SAMPLE = 256  # labels looked at
SAMPLE_NONZEROS = 1_000_000
SAMPLE_ROWS = 20_000  # of a label
MOST_NONZEROS = 16_000_000  # of all labels that are looked at
FEW_COLUMNS = 1 << 17
CHUNK = 1 << 18  # non-zeros that are looked at together


def label_feature_count(X: Csr, Y: Csr) -> float:
    """Different features of each label's rows, summed over all labels; by a sample, denser among frequent ones."""
    counts = count_ids(Y.indices, int(Y.shape[1]))
    used = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    if not len(used):
        return 0.0
    ranks = np.unique(np.geomspace(1, len(used), min(SAMPLE, len(used))).astype(np.int64))  # 1: the most frequent
    looked = used[len(used) - ranks]
    place = np.full(int(Y.shape[1]), -1)
    place[looked] = np.arange(len(looked))
    # A label of very many rows is looked at in part, which is nearly all.
    a_row = max(1, int(X.nnz)) / max(1, int(X.shape[0]))
    most = min(SAMPLE_ROWS, max(1, int(2 * SAMPLE_NONZEROS / a_row)))
    while most > 1 and np.minimum(counts[looked], most).sum() * a_row > MOST_NONZEROS:
        most //= 2
    found = [_distinct(X, rows) for rows in _rows_of(Y, place, np.maximum(1, -(-counts[looked] // most)))]
    return float(np.interp(np.log(np.arange(1, len(used) + 1)), np.log(ranks), found).sum())


def _rows_of(Y: Csr, place: Int64, steps: Int64) -> list[Int64]:
    """The rows of the labels that have a place, by it, ascending; of label i every `steps[i]`-th."""
    n = len(steps)
    seen = np.zeros(n, np.int64)
    rows: list[Int64] = []
    places: list[Int64] = []
    for first in range(0, int(Y.nnz), CHUNK):
        here = place[Y.indices[first : first + CHUNK]]
        entries = np.flatnonzero(here >= 0)
        entries = entries[np.argsort(here[entries], kind="stable")]
        here = here[entries]
        rank = np.arange(len(here)) - np.searchsorted(here, np.arange(n))[here] + seen[here]
        kept = rank % steps[here] == 0
        rows.append(np.searchsorted(Y.indptr, first + entries[kept], side="right") - 1)
        places.append(here[kept])
        seen += np.bincount(here, minlength=n)
    order = np.argsort(np.concatenate(places), kind="stable")
    sizes = np.bincount(np.concatenate(places), minlength=n)
    return np.split(np.concatenate(rows)[order], np.cumsum(sizes)[:-1])


def _distinct(X: Csr, rows: Int64) -> int:
    """Different features of some rows."""
    upto = np.concatenate([[0], np.cumsum(X.indptr[rows + 1] - X.indptr[rows])])
    width = int(X.shape[1])
    if width > max(FEW_COLUMNS, 4 * int(upto[-1])):
        found = np.empty(0, np.int32)
        for first, last in row_spans(upto, CHUNK):
            found = np.union1d(found, _columns(X, rows[first:last]))
        return len(found)
    seen = np.zeros(width, bool)  # ticked off, which is quicker than sorting
    for first, last in row_spans(upto, CHUNK):
        seen[_columns(X, rows[first:last])] = True
    return int(np.count_nonzero(seen))


def _columns(X: Csr, rows: Int64) -> Int32:
    """The feature ids of some rows, one row after another (SciPy would copy the whole matrix to unify its indices)."""
    begins, ends = X.indptr[rows], X.indptr[rows + 1]
    files = row_files(X)
    if files is None:
        found: Int32 = X.indices[ranges(begins, ends - begins)]
        return found
    file, at = int(files[0]), int(files[1])  # rows here and there: each would bring sixteen pages into memory
    pieces = zip((at + 4 * begins).tolist(), (4 * (ends - begins)).tolist(), strict=True)
    return np.frombuffer(b"".join(os.pread(file, length, begin) for begin, length in pieces), np.int32)


class FeatureCurve:
    """How many different features a set of rows has, by its number of non-zeros (as Heaps' law has it for words)."""

    def __init__(self, X: Csr) -> None:
        n_rows = int(X.shape[0])
        step = max(1, math.ceil(int(X.nnz) / SAMPLE_NONZEROS))
        # A walk with a fixed odd stride visits rows in an order without neighbours, the same every time.
        stride = next((s for s in range(int(n_rows * 0.618) | 1, n_rows + 2) if math.gcd(s, n_rows) == 1), 1)
        rows = (np.arange(0, n_rows, step) * stride) % max(1, n_rows)
        ids = _columns(X, rows)
        self.firsts = np.sort(np.unique(ids, return_index=True)[1])  # after how many non-zeros each feature is new
        self.sampled, self.width = len(ids), int(X.shape[1])

    def distinct(self, nonzeros: float) -> float:
        """Different features among so many non-zeros."""
        if nonzeros <= self.sampled:
            return float(np.searchsorted(self.firsts, nonzeros))
        if not self.sampled:
            return 0.0
        half = max(1, int(np.searchsorted(self.firsts, self.sampled / 2)))
        growth = math.log2(max(1.0, len(self.firsts) / half))  # exponent of the last doubling
        return float(min(self.width, len(self.firsts) * (nonzeros / self.sampled) ** growth))
