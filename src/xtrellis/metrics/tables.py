"""Every metric as a numerator and a denominator a row; the metric is Σ numerators / Σ denominators.

Legend: h[j, i] is 1 if row i's prediction of rank j is right, w the inverse propensity of a label, W[j, i] the j-th
largest w among row i's labels, d[j] = 1/log2(j + 2) the discount of rank j (from 0), n[i] row i's number of labels.
All tables are rank-major (k×n), so that a sum over ranks is a sum of contiguous columns.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._native import metrics as native
from ..arrays import Csr, Int32, Int64, UInt8
from . import ranking
from .names import Metric

Float64 = NDArray[np.float64]


class Fraction(NamedTuple):
    """What each row adds above and below the line; `below` is None where every row counts 1."""

    above: Float64
    below: Float64 | None

    def total(self) -> float:
        """The metric as a fraction; 0 if nothing could be gained at all."""
        if self.below is None:
            return float(self.above.mean())
        whole = float(self.below.sum())
        return float(self.above.sum()) / whole if whole > 0 else 0.0


class RankTables:
    """The tables that metrics share, each made when first needed and for the largest k asked for."""

    def __init__(self, Y: Csr, labels: Int32, k: int, weights: Float64 | None, depth: Float64 | None) -> None:
        # Beyond the table's ranks and the longest row's labels nothing is added: no table is larger for a larger k.
        self.Y, self.labels = Y, labels
        self.k: int = max(1, min(k, max(labels.shape[1], int(np.diff(Y.indptr).max(initial=0)))))
        # A last entry of 0 is what a pad (-1) finds.
        self.weights = None if weights is None else np.append(weights, 0.0)
        self.depth = None if depth is None else np.append(depth, 0.0)

    def fraction(self, metric: Metric) -> Fraction:
        """Per-row values of any metric that is a sum over rows (all but those over labels)."""
        k = min(metric.k, self.k)
        if metric.kind == "P":
            return Fraction(self._hit_counts[k - 1] / metric.k, None)
        if metric.kind == "R":
            return Fraction(self._hit_counts[k - 1] / np.maximum(self._n, 1), None)
        if metric.kind == "nDCG":
            return Fraction(self._dcg[k - 1] / self._normaliser(k), None)
        if metric.kind == "PSP":
            return Fraction(self._gain[k - 1], self._best_gain[k - 1])
        if metric.kind == "PSnDCG":
            normaliser = self._normaliser(k)
            return Fraction(self._weighted_dcg[k - 1] / normaliser, self._best_weighted_dcg[k - 1] / normaliser)
        if metric.kind == "PSnDCG-ratio":
            return Fraction(self._weighted_dcg[k - 1], self._best_weighted_dcg[k - 1])
        if metric.kind in ("F1", "microF1"):
            both = self._predicted(k) + self._n.astype(np.float64)
            if metric.kind == "microF1":
                return Fraction(2.0 * self._hit_counts[k - 1], both)
            return Fraction(2.0 * self._hit_counts[k - 1] / np.maximum(both, 1), None)
        if metric.kind == "depth":
            return Fraction(self._deepest(k), None)
        raise AssertionError(metric)

    def over_labels(self, metric: Metric) -> float:
        """A metric that is a mean over labels, not over rows."""
        return self.coverage(metric.k) if metric.kind == "coverage" else self.macro_f1(metric.k)

    def macro_f1(self, k: int) -> float:
        """The mean F1 of all labels that occur in the truth or among the first k predictions."""
        n_labels, width = int(self.Y.shape[1]), min(k, self.labels.shape[1])
        first = self.labels[:, :width]
        true = np.bincount(self.Y.indices, minlength=n_labels)
        predicted = np.bincount(first[first >= 0], minlength=n_labels)
        right = np.bincount(first[self._h[:width].T.astype(bool)], minlength=n_labels)
        there = true + predicted > 0
        return float((2 * right[there] / (true + predicted)[there]).mean()) if there.any() else 0.0

    def _predicted(self, k: int) -> Float64:
        """How many labels are predicted for each row, k at most."""
        counts: Float64 = (self.labels[:, :k] >= 0).sum(axis=1).astype(np.float64)
        return counts

    def coverage(self, k: int) -> float:
        """Labels found at least once among the first k, relative to labels that can be found."""
        there = np.zeros(int(self.Y.shape[1]), bool)
        there[self.Y.indices] = True
        width = min(k, self.labels.shape[1])
        found = np.zeros_like(there)
        found[self.labels[:, :width][self._h[:width].T.astype(bool)]] = True
        return float(found.sum() / there.sum()) if there.any() else 0.0

    @cached_property
    def _n(self) -> Int64:
        out: Int64 = np.diff(self.Y.indptr)
        return out

    @cached_property
    def _h(self) -> UInt8:
        return ranking.hits(self.Y, self.labels, self.k)

    @cached_property
    def _d(self) -> Float64:
        return (1 / np.log2(np.arange(self.k) + 2))[:, None]

    @cached_property
    def _hit_counts(self) -> Int64:
        counts: Int64 = np.cumsum(self._h, axis=0, dtype=np.int64)
        return counts

    @cached_property
    def _dcg(self) -> Float64:
        return np.cumsum(self._h * self._d, axis=0)

    def _normaliser(self, k: int) -> Float64:
        """Σ_{j < min(k, n)} d[j]; 1 for rows without labels, whose gain is 0 anyway."""
        sums = np.concatenate([[1.0], np.cumsum(self._d[:k, 0])])
        normaliser: Float64 = sums[np.minimum(self._n, k)]
        return normaliser

    @cached_property
    def _hit_weights(self) -> Float64:
        assert self.weights is not None  # evaluate asks for them as soon as a metric needs them
        out = np.zeros(self._h.shape)
        width = min(self.k, self.labels.shape[1])
        np.multiply(self.weights[self.labels[:, :width].T], self._h[:width], out=out[:width])
        return out

    @cached_property
    def _best_weights(self) -> Float64:
        assert self.weights is not None
        out = np.zeros(self._h.shape)
        native.largest(self.Y.indptr, self.Y.indices, self.weights, out)
        return out

    @cached_property
    def _gain(self) -> Float64:
        return np.cumsum(self._hit_weights, axis=0)

    @cached_property
    def _best_gain(self) -> Float64:
        return np.cumsum(self._best_weights, axis=0)

    @cached_property
    def _weighted_dcg(self) -> Float64:
        return np.cumsum(self._hit_weights * self._d, axis=0)

    @cached_property
    def _best_weighted_dcg(self) -> Float64:
        return np.cumsum(self._best_weights * self._d, axis=0)

    def _deepest(self, k: int) -> Float64:
        """The depth of the deepest label among the first k; 0 for a row without predictions."""
        assert self.depth is not None
        deepest: Float64 = self.depth[self.labels[:, :k]].max(axis=1, initial=0.0)
        return deepest
