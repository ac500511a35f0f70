"""`Probabilities`: a model's scores as probabilities, learned from rows that it has not seen.

A rising curve for each band of labels that are about as frequent: a tree's score of 0.9 means something else for a
label with two rows than for one with two thousand. Beside them the one threshold that gives the best micro F1 there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._native import rank as native
from ..arrays import Array, Csr, Float32, Float64, Int64, TopK, is_right
from ..core import StoreError
from ..store import State, Storable
from .isotonic import Curve

BANDS = (1, 2, 4, 8, 16, 64, 256)  # rows that the labels of the next band have at least
FEWEST = 200  # right answers that a band needs for a curve of its own; else it shares its neighbour's


class Probabilities(Storable):
    """Bands of labels, and a curve for each."""

    def __init__(self, bands: Int64, curves: tuple[Curve, ...], threshold: float) -> None:
        self.bands, self.curves, self.threshold = bands, curves, threshold  # bands: where each but the first begins
        ends = np.cumsum([0, *(len(curve.scores) for curve in curves)])
        scores, probabilities = (np.concatenate(parts) for parts in zip(*curves, strict=True))
        self._joined: tuple[Int64, Float64, Float64] = (ends, scores, probabilities)

    @classmethod
    def learn(cls, top: TopK, Y: Csr, frequency: Int64) -> Probabilities:
        """From answers to rows whose labels are known."""
        there = top.labels >= 0
        scores, right = top.scores[there], is_right(top.labels, Y)[there]
        counts = frequency[top.labels[there]]
        band = np.searchsorted(BANDS, counts, side="right")
        bands, curves, begin = [], [], 0
        for end in range(1, len(BANDS) + 2):
            mine = (band >= begin) & (band < end)
            last = end == len(BANDS) + 1
            rest = right[band >= end].sum()
            if last or (right[mine].sum() >= FEWEST and rest >= FEWEST):
                curves.append(Curve.learn(scores[mine], right[mine]))
                if not last:
                    bands.append(BANDS[end - 1])
                begin = end
        made = cls(np.array(bands, np.int64), tuple(curves), 0.5)
        made.threshold = best_threshold(made(top, frequency), Y)
        return made

    def __call__(self, top: TopK, frequency: Int64) -> TopK:
        """The same answers, in the same order, with probabilities in place of scores."""
        labels, scores = top.labels, np.ascontiguousarray(top.scores, np.float64)
        if labels.dtype != np.int32:
            frequency[labels]  # refuses what does not fit
        out = np.empty(labels.shape, np.float32)
        native.probabilities(
            np.ascontiguousarray(labels, np.int32), scores, np.ascontiguousarray(frequency, np.int64), self.bands,
            *self._joined, out,
        )  # fmt: skip
        return TopK(labels, out, top.n_labels)

    def to_state(self) -> State:
        """For the store."""
        arrays: dict[str, Array] = {"bands": self.bands}
        for i, curve in enumerate(self.curves):
            arrays[f"scores{i}"], arrays[f"probabilities{i}"] = curve
        return State(meta={"curves": len(self.curves), "threshold": self.threshold}, arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Probabilities:
        """From the store."""
        n, threshold, bands = state.meta.get("curves"), state.meta.get("threshold"), state.arrays.get("bands")
        if type(n) is not int or not 1 <= n <= 100 or not isinstance(threshold, float) or not 0 <= threshold <= 1:
            raise StoreError(f"probabilities need curves and a threshold from 0 to 1; got {n!r:.80}, {threshold!r:.80}")
        if bands is None or bands.dtype != np.int64 or bands.shape != (n - 1,) or (np.diff(bands) <= 0).any():
            raise StoreError(f"probabilities of {n} curves need {n - 1} rising bands of type int64")
        curves = []
        for i in range(n):
            curve = Curve(*(state.arrays.get(f"{what}{i}", np.zeros(0)) for what in ("scores", "probabilities")))
            curve.check("probabilities")
            curves.append(curve)
        return cls(bands, tuple(curves), threshold)


def best_threshold(top: TopK, Y: Csr) -> float:
    """The probability from which on answers give the best micro F1: 2 · right / (answers + labels)."""
    there = top.labels >= 0
    p, right = top.scores[there].astype(np.float64), is_right(top.labels, Y)[there]
    if not right.any():
        return 0.5
    order = np.argsort(-p, kind="stable")
    p, hits = p[order], np.cumsum(right[order])
    ends = np.append(p[1:] != p[:-1], True)  # equal probabilities are answered together or not at all
    f1 = np.where(ends, 2 * hits / (np.arange(1, len(p) + 1) + Y.nnz), -1)
    return float(p[int(f1.argmax())])


def best_cut(probabilities: Float32) -> Int64:
    """Of n × c probabilities, best first: how many answers of each row give the best expected F1.

    With s the sum of all of a row's, the first i answers are expected to have F1 = 2 · (p₁ + … + pᵢ) / (i + s): a close
    approximation, since both numbers vary little beside their means. O(n · c).
    """
    p: Float64 = probabilities.astype(np.float64)
    if not p.shape[1]:
        return np.zeros(len(p), np.int64)
    expected = 2 * np.cumsum(p, axis=1) / (np.arange(1, p.shape[1] + 1) + p.sum(axis=1, keepdims=True))
    return np.asarray(expected.argmax(axis=1) + 1, np.int64)
