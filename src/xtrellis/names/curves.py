"""What the features of a match say together: a sum of piecewise linear functions, the logarithm of the odds.

They are learned by logistic regression on matches in training rows. A function is a sum of steps between its knots; a
feature that can only speak for a label has no step down, one that can only speak against it none up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._native import names as native
from ..arrays import Array, Float64, Int32
from ..core import StoreError
from .features import FEATURES, KINDS

KNOTS = 8  # room for each function
QUANTILES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.0)
RIDGE = 2.0  # holds every step near 0: where few matches are, it stays there
ROUNDS = 30
HALVINGS = 8
SWEEPS = 500  # the quadratic problem is solved for good: with 25, Newton took five times as many rounds
FIRST = 8  # one match in so many finds roughly where the minimum is, if there are so many times MANY
MANY = 1000


class Curves(NamedTuple):
    """Kinds × features × knots, flattened to rows; how many of the knots count; a constant for each kind."""

    at: Float64
    values: Float64
    used: Int32
    bias: Float64

    @classmethod
    def nothing(cls, odds: Float64) -> Curves:
        """All functions 0."""
        shape = len(KINDS) * len(FEATURES), KNOTS
        return cls(np.zeros(shape), np.zeros(shape), np.ones(shape[0], np.int32), np.array(odds, np.float64))

    def of(self, kind: int) -> _Functions:
        """The functions of one kind."""
        rows = slice(kind * len(FEATURES), (kind + 1) * len(FEATURES))
        return _Functions(self.at[rows], self.values[rows], self.used[rows], float(self.bias[kind]))

    def check(self) -> None:
        """A StoreError if a kernel could not use them."""
        shape = len(KINDS) * len(FEATURES), KNOTS
        if self.at.shape != shape or self.values.shape != shape or self.used.shape != shape[:1]:
            raise StoreError(f"curves must be {shape[0]} functions with {KNOTS} knots each")
        if self.at.dtype != np.float64 or self.values.dtype != np.float64 or self.used.dtype != np.int32:
            raise StoreError("curves must be float64, and the numbers of their knots int32")
        if self.bias.dtype != np.float64 or self.bias.shape != (len(KINDS),):
            raise StoreError(f"curves.bias must be {len(KINDS)} float64")
        if not all(np.isfinite(array).all() for array in (self.at, self.values, self.bias)):
            raise StoreError("curves must be finite")
        if ((self.used < 1) | (self.used > KNOTS)).any():
            raise StoreError(f"curves must use from 1 to {KNOTS} knots")
        steps, there = np.diff(self.at, axis=1), np.arange(1, KNOTS)[None, :] < self.used[:, None]
        if (steps[there] <= 0).any():
            raise StoreError("the knots of curves must rise")


class _Functions(NamedTuple):
    at: Float64
    values: Float64
    used: Int32
    bias: float

    def parts(self, features: Array) -> Float64:
        """What each feature adds: matches × features."""
        columns = [
            np.interp(features[:, f].astype(np.float64), self.at[f, : self.used[f]], self.values[f, : self.used[f]])
            for f in range(len(self.used))
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(features), 0))

    def log_odds(self, features: Array) -> Float64:
        """Of matches."""
        total: Float64 = self.bias + self.parts(features).sum(axis=1)
        return total


def learn(features: Array, right: Array) -> tuple[Float64, Float64, Int32, float]:
    """Knots, values, how many count, and the constant, from matches and whether each was right."""
    knots = [_knots(features[:, f]) for f in range(features.shape[1])]
    steps = [len(k) - 1 for k in knots]
    low = np.concatenate([np.full(n, 0.0 if FEATURES[f].sign > 0 else -np.inf) for f, n in enumerate(steps)])
    high = np.concatenate([np.full(n, 0.0 if FEATURES[f].sign < 0 else np.inf) for f, n in enumerate(steps)])
    start = None
    if len(features) >= FIRST * MANY and 0 < right[::FIRST].sum() < len(right[::FIRST]):
        start = _regression(features[::FIRST], right[::FIRST], knots, low, high)
    solution = _regression(features, right, knots, low, high, start)
    at, values = np.zeros((len(knots), KNOTS)), np.zeros((len(knots), KNOTS))
    used = np.fromiter(map(len, knots), np.int32, len(knots))
    bias, place = float(solution[-1]), 0
    for f, own in enumerate(knots):
        n = steps[f]
        heights = np.concatenate([[0.0], np.cumsum(solution[place : place + n])])
        place += n
        # What a feature adds is told against its mean, so that an explanation shows what is special about a match.
        middle = float(np.interp(features[:, f].astype(np.float64), own, heights).mean()) if n else 0.0
        at[f, : n + 1], values[f, : n + 1] = own, heights - middle
        at[f, n + 1 :], values[f, n + 1 :] = own[-1], heights[-1] - middle
        bias += middle
    return at, values, used, bias


def _knots(column: Array) -> Float64:
    """Distinct quantiles; of a feature that has few values, these."""
    values = np.unique(column.astype(np.float64))
    return values if len(values) <= KNOTS else np.unique(np.quantile(column.astype(np.float64), QUANTILES))


def _regression(
    features: Array, right: Array, knots: list[Float64], low: Array, high: Array, start: Float64 | None = None
) -> Float64:
    """Newton's method; each round solves a quadratic problem within bounds, by coordinates."""
    width = len(low) + 1
    low, high = np.append(low, -np.inf), np.append(high, np.inf)
    steps = _Steps(knots)
    ridge = np.append(np.full(width - 1, RIDGE), 1e-6)
    features, right = np.ascontiguousarray(features, np.float32), np.ascontiguousarray(right, np.uint8)
    if start is None:
        share = min(max(float(right.mean()), 1e-6), 1 - 1e-6)
        start = np.append(np.zeros(width - 1), np.log(share / (1 - share)))
    at = start

    def slopes(where: Float64) -> tuple[float, Float64, Float64]:
        loss, gradient, curvature = _slopes(features, right, knots, steps.values(where))
        total = loss + 0.5 * float((ridge * where**2).sum())
        by_steps = steps.gathered(steps.gathered(curvature).T) + np.diag(ridge)
        return total, steps.gathered(gradient) + ridge * where, by_steps

    loss, gradient, curvature = slopes(at)
    for _ in range(ROUNDS):
        way = _within(at, gradient, curvature, low, high) - at
        for halving in range(HALVINGS):  # where right matches are rare, a whole step goes far beyond the minimum
            new = at + way * 0.5**halving
            tried = slopes(new)
            if tried[0] < loss:
                break
        else:
            break
        gained, at = loss - tried[0], new
        loss, gradient, curvature = tried
        if gained < 1e-5 * loss:
            break
    return at


class _Steps:
    """Between steps (and the constant) and values at knots (features × KNOTS + 1): a value is the sum of the steps up
    to it. Summed here: a product of matrices wakes up threads that wait for more work and takes their time, and how it
    rounds depends on their number."""

    def __init__(self, knots: list[Float64]) -> None:
        self.n = len(knots)
        self.there = np.zeros((self.n, KNOTS), np.bool_)  # knots that a step leads to
        for f, own in enumerate(knots):
            self.there[f, 1 : len(own)] = True

    def values(self, steps: Float64) -> Float64:
        """At the knots; behind a feature's last knot its last value."""
        out = np.zeros((self.n, KNOTS))
        out[self.there] = steps[:-1]
        return np.append(np.cumsum(out, axis=1), steps[-1])

    def gathered(self, by_values: Float64) -> Float64:
        """What is known of values (the first axis), by steps: each step moves all values from it on."""
        inner = by_values[:-1].reshape(self.n, KNOTS, *by_values.shape[1:])
        sums = np.cumsum(inner[:, ::-1], axis=1)[:, ::-1]
        return np.concatenate([sums[self.there], by_values[-1:]])


def _slopes(features: Array, right: Array, knots: list[Float64], values: Float64) -> tuple[float, Float64, Float64]:
    """Loss of all matches, its gradient and curvature by the values at knots."""
    at = np.zeros((len(knots), KNOTS))
    for f, own in enumerate(knots):
        at[f, : len(own)] = own
    used = np.fromiter(map(len, knots), np.int32, len(knots))
    gradient, curvature = np.zeros(len(values)), np.zeros((len(values), len(values)))
    table = np.ascontiguousarray(values[:-1].reshape(len(knots), KNOTS))
    loss = native.slopes(at, table, used, float(values[-1]), features, right, gradient, curvature)
    return loss, gradient, curvature


def _within(at: Float64, gradient: Float64, curvature: Any, low: Array, high: Array) -> Float64:
    """The minimum of a quadratic function within bounds: one coordinate after another."""
    moved = at.copy()
    native.within(moved, gradient.copy(), np.ascontiguousarray(curvature), low, high, SWEEPS)
    return moved
