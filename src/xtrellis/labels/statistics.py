"""How many different features some rows have: what the sizes of classifiers go by, counted on a sample."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Csr, Int32, Int64, ranges

SAMPLE = 256  # labels looked at
SAMPLE_NONZEROS = 1_000_000
SAMPLE_ROWS = 20_000  # of a label


def label_feature_count(X: Csr, Y: Csr) -> float:
    """Different features of each label's rows, summed over all labels; by a sample, denser among frequent ones."""
    counts = np.bincount(Y.indices, minlength=int(Y.shape[1]))
    used = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    if not len(used):
        return 0.0
    ranks = np.unique(np.geomspace(1, len(used), min(SAMPLE, len(used))).astype(np.int64))  # 1: the most frequent
    looked = used[len(used) - ranks]
    place = np.full(int(Y.shape[1]), -1)
    place[looked] = np.arange(len(looked))
    entries = np.flatnonzero(place[Y.indices] >= 0)
    rows = np.searchsorted(Y.indptr, entries, side="right") - 1
    order = np.argsort(place[Y.indices[entries]], kind="stable")
    rows, sizes = rows[order], counts[looked]
    found = [_distinct(X, rows[end - size : end]) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    return float(np.interp(np.log(np.arange(1, len(used) + 1)), np.log(ranks), found).sum())


def _distinct(X: Csr, rows: Int64) -> int:
    """Different features of some rows; a label of very many rows is looked at in part, which is nearly all."""
    most = min(SAMPLE_ROWS, max(1, 2 * SAMPLE_NONZEROS * int(X.shape[0]) // max(1, int(X.nnz))))
    if len(rows) > most:
        rows = rows[:: len(rows) // most + 1]
    return len(np.unique(_columns(X, rows)))


def _columns(X: Csr, rows: Int64) -> Int32:
    """The feature ids of some rows, one row after another (SciPy would copy the whole matrix to unify its indices)."""
    found: Int32 = X.indices[ranges(X.indptr[rows], np.diff(X.indptr)[rows])]
    return found


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
