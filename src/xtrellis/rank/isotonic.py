"""A model's scores as probabilities: the rising curve that fits held-out answers best (pool adjacent violators)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Float32, is_right
from ..core import StoreError
from ..data import TrainingData
from ..model import Model
from .members import asked

BINS = 500  # equal numbers of scores; what lies between two is interpolated
TIE = 1e-6  # scores of one probability keep their order


class Curve(NamedTuple):
    """Probabilities at rising scores."""

    scores: Array
    probabilities: Array

    @classmethod
    def learn(cls, scores: Any, right: Any) -> Curve:
        """From scores and whether each answer was right. O(n log n)."""
        scores, right = np.asarray(scores, np.float64).ravel(), np.asarray(right, np.float64).ravel()
        if not len(scores):
            return cls(np.zeros(1), np.zeros(1))
        order = np.argsort(scores, kind="stable")
        pieces = np.array_split(order, min(BINS, len(order)))
        # Stacks of (sum of scores, sum of right, count): a bin that falls below the one before joins it.
        pooled: list[tuple[float, float, int]] = []
        for piece in pieces:
            s, r, n = float(scores[piece].sum()), float(right[piece].sum()), len(piece)
            while pooled and pooled[-1][1] / pooled[-1][2] >= r / n:
                above = pooled.pop()
                s, r, n = s + above[0], r + above[1], n + above[2]
            pooled.append((s, r, n))
        sums, hits, counts = (np.array(column) for column in zip(*pooled, strict=True))
        return cls(sums / counts, hits / counts)

    def check(self, whose: str) -> None:
        """Of a stored curve: something that can be interpolated."""
        if any(a.dtype != np.float64 or a.ndim != 1 for a in self) or not len(self.scores) == len(self[1]) > 0:
            raise StoreError(f"a curve of {whose} needs scores and probabilities, float64, of one length")
        if not all(np.isfinite(a).all() for a in self) or (np.diff(self.scores) < 0).any():
            raise StoreError(f"the scores and probabilities of a curve of {whose} must be finite, the scores rise")

    def __call__(self, scores: Any) -> Float32:
        """Probabilities of scores; a higher score never gets a lower one."""
        found = np.interp(scores, self.scores, self.probabilities) + TIE * np.asarray(scores)
        return np.asarray(found, np.float32)


def learn_curves(members: Sequence[Model], data: TrainingData, k: int, threads: int | None) -> tuple[Curve, ...]:
    """Of several models, by their answers to rows that they have not seen."""
    curves = []
    for member in members:
        top = asked(member, data.X, k, data.texts, threads=threads)
        there = top.labels >= 0
        curves.append(Curve.learn(top.scores[there], is_right(top.labels, data.Y)[there]))
    return tuple(curves)
