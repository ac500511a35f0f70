"""Boosted symmetric trees: from a few numbers about a pair to the log-odds that it is right. Small, monotone, additive.

All nodes of a level ask the same question, so that a pair takes a few comparisons for each tree and no branches, and
what each input added can be read off. Written here and not taken from a library: gradient boosting of scikit-learn sums
in an order that depends on threads, and its size and loading time are many times those of the whole package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native import rank as native
from ..arrays import Array, Float32, Float64, Int32
from ..core import StoreError, by_rows
from ..store import State, Storable

MOST_BINS = 64  # values of an input that learning tells apart
MOST_DEPTH = 8  # a node's number is one byte
DTYPES: Mapping[str, Any] = {
    "feature": np.int32, "threshold": np.float32, "value": np.float32, "weight": np.float32
}  # fmt: skip
LOOKED_AT = 2  # questions whose leaves are put in order to see what they are worth then
ROUNDS = 50  # of pooling leaves that are out of order
CHUNK = 16384  # pairs that a thread scores at once


@dataclass(frozen=True)
class Growth:
    """How trees are grown."""

    trees: int = 100
    depth: int = 5
    rate: float = 0.1
    l2: float = 1.0  # curvature that is added to every leaf's: few pairs count little
    least: float = 1.0  # curvature of a node that may be split


class SymmetricTrees(Storable):
    """What was learned, as plain arrays."""

    def __init__(self, base: float, feature: Int32, threshold: Float32, value: Float32, weight: Float32) -> None:
        self.base = base
        self.feature, self.threshold = feature, threshold  # trees × depth
        self.value, self.weight = value, weight  # trees × 2^depth: log-odds, and the share of what led there
        self._expected: list[Float64] | None = None

    @classmethod
    def learn(
        cls,
        inputs: Float32,
        right: Array,
        *,
        monotone: Sequence[int],
        weights: Float32 | None = None,
        growth: Growth | None = None,
        threads: int | None = None,
    ) -> SymmetricTrees:
        """From n × f inputs and whether each pair was right; `monotone` says 1, 0 or -1 for every input.

        1: log-odds never fall as the input rises; -1: they never rise. `weights` say how often each pair counts.
        """
        growth = growth or Growth()
        n, f = inputs.shape
        weights = np.ones(n, np.float32) if weights is None else weights
        total, hits = float(weights.sum()), float(weights[right].sum())
        base = float(np.log((hits + 0.5) / (total - hits + 0.5)))
        edges = [_edges(inputs[:, j], right) for j in range(f)]
        bins = np.stack([np.searchsorted(edges[j], inputs[:, j], side="left").astype(np.uint8) for j in range(f)])
        margin = np.full(n, base, np.float64)
        signs, grown = np.asarray(monotone, np.int32), []
        for _ in range(growth.trees if total > hits > 0 else 0):
            tree = _grow(bins, edges, margin, right, weights, signs, growth, threads)
            if tree is None:
                break
            grown.append(tree)
        if not grown:
            return cls.constant(base, growth.depth)
        feature, threshold, value, weight = (np.stack(part) for part in zip(*grown, strict=True))
        return cls(base, feature, threshold, value, weight)

    @classmethod
    def constant(cls, base: float, depth: int = 1) -> SymmetricTrees:
        """No tree: always the same."""
        none = np.zeros((0, 2**depth), np.float32)
        return cls(base, np.zeros((0, depth), np.int32), np.zeros((0, depth), np.float32), none, none)

    def log_odds(self, inputs: Float32, *, threads: int | None = None) -> Float32:
        """Of n pairs."""
        out = np.empty(len(inputs), np.float32)
        inputs = np.ascontiguousarray(inputs, np.float32)

        def part(first: int, last: int) -> None:
            native.log_odds(self.feature, self.threshold, self.value, self.base, inputs, first, last, out)

        by_rows(part, len(inputs), chunk=CHUNK, threads=threads)
        return out

    def shares(self, inputs: Float32) -> tuple[float, Float64]:
        """(base, what each input added) of one pair: together its log-odds.

        At every question the expected log-odds change; the change is owed to the input that was asked about.
        """
        base, added = self.base, np.zeros(len(inputs))
        if self._expected is None:
            self._expected = _expected(self.value, self.weight)
        base += float(self._expected[0].sum())
        for t in range(len(self.feature)):
            node = 0
            for level, j in enumerate(self.feature[t].tolist()):
                below = 2 * node + int(inputs[j] > self.threshold[t, level])
                added[j] += self._expected[level + 1][t, below] - self._expected[level][t, node]
                node = below
        return base, added

    def to_state(self) -> State:
        """For the store."""
        return State(
            meta={"base": self.base},
            arrays={
                "feature": self.feature, "threshold": self.threshold, "value": self.value, "weight": self.weight
            },
        )  # fmt: skip

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> SymmetricTrees:
        """From the store."""
        base = state.meta.get("base")
        if not isinstance(base, float) or not np.isfinite(base):
            raise StoreError(f"symmetric trees need a base, a finite number; got {base!r:.80}")
        found = {}
        for name, dtype in DTYPES.items():
            array = state.arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 2:
                raise StoreError(f"symmetric trees need an array {name!r} of {np.dtype(dtype)} with two dimensions")
            found[name] = np.ascontiguousarray(array)
        n, depth = found["feature"].shape
        if not 1 <= depth <= MOST_DEPTH or found["threshold"].shape != (n, depth):
            raise StoreError(f"symmetric trees have a depth of 1 to {MOST_DEPTH}, with as many thresholds as questions")
        if any(found[name].shape != (n, 2**depth) for name in ("value", "weight")):
            raise StoreError(f"symmetric trees of depth {depth} have {2**depth} leaves each")
        if (
            not all(np.isfinite(found[name]).all() for name in ("value", "weight"))
            or np.isnan(found["threshold"]).any()
        ):
            raise StoreError("the numbers of symmetric trees must be finite")
        if n and found["feature"].min() < 0:
            raise StoreError("symmetric trees ask about inputs from 0 on")
        return cls(base, **found)

    @property
    def n_inputs(self) -> int:
        """How many inputs there must be at least."""
        return int(self.feature.max()) + 1 if self.feature.size else 0


def _edges(values: Float32, right: Array) -> Float32:
    """Between which values an input is told apart, at most 63: a value of at most edge i is in bin i.

    Half of them lie among the values of right pairs: there are few of those, and they are what matters.
    """
    some = np.unique(values)
    if len(some) <= MOST_BINS:
        return some[:-1]
    half = MOST_BINS // 2
    often = np.quantile(values, np.arange(1, half) / half, method="lower")
    telling = np.quantile(values[right], np.arange(1, half + 1) / (half + 1), method="lower")
    both = np.unique(np.concatenate([often, telling]))
    return np.asarray(both[both < some[-1]], np.float32)


def _grow(
    bins: Array,
    edges: Sequence[Float32],
    margin: Float64,
    right: Array,
    weights: Float32,
    monotone: Int32,
    growth: Growth,
    threads: int | None,
) -> tuple[Int32, Float32, Float32, Float32] | None:
    """One more tree; `margin` is moved on by it. None if no question helps."""
    gradients, curvatures = _slopes(margin, right, weights)
    nodes = np.zeros(len(margin), np.uint8)
    feature, threshold = np.zeros(growth.depth, np.int32), np.full(growth.depth, np.inf, np.float32)
    sums = _sums(bins, nodes, np.arange(len(margin), dtype=np.int32), 1, gradients, curvatures, threads)
    leaves = sums[0].sum(axis=1)
    for level in range(growth.depth):
        best, question = 0.0, None
        for j, at, sides in _questions(sums, edges, monotone, growth):
            feature[level], threshold[level] = j, edges[j][at]
            value = _leaf_values(sides, feature[: level + 1], threshold[: level + 1], monotone, growth)
            worth = float((2 * sides[:, 0] * value - (sides[:, 1] + growth.l2) * value**2).sum())
            if worth > best:
                best, question = worth, (j, at, sides)
        if question is None:
            feature[level], threshold[level] = 0, np.inf
            nodes *= 2  # nobody exceeds infinity
            leaves = np.stack([leaves, np.zeros_like(leaves)], axis=1).reshape(-1, 2)
            sums = np.stack([sums, np.zeros_like(sums)], axis=2).reshape(len(bins), -1, MOST_BINS, 2)
            continue
        j, at, leaves = question
        feature[level], threshold[level] = j, edges[j][at]
        above = bins[j] > at
        if level + 1 < growth.depth:  # the smaller side is summed, the other one is what is left
            smaller = bool(2 * np.count_nonzero(above) <= len(above))
            places = np.flatnonzero(above == smaller).astype(np.int32)
            some = _sums(bins, nodes, places, 2**level, gradients, curvatures, threads)
            both = (sums - some, some) if smaller else (some, sums - some)
            sums = np.stack(both, axis=2).reshape(len(bins), -1, MOST_BINS, 2)
        nodes = 2 * nodes + above
    if not np.isfinite(threshold).any():
        return None
    steps = (growth.rate * _leaf_values(leaves, feature, threshold, monotone, growth)).astype(np.float32)
    margin += steps[nodes]
    return feature, threshold, steps, leaves[:, 1].astype(np.float32)


def _slopes(margin: Float64, right: Array, weights: Float32) -> tuple[Float32, Float32]:
    """Gradients and curvatures of the pairs' log-likelihoods."""
    p = np.exp(-margin)
    p += 1
    p = np.reciprocal(p, out=p).astype(np.float32)
    gradients, curvatures = right - p, 1 - p
    gradients *= weights
    curvatures *= p
    curvatures *= weights
    return gradients, curvatures


def _sums(
    bins: Array, nodes: Array, places: Int32, n_nodes: int, gradients: Float32, curvatures: Float32, threads: int | None
) -> Float64:
    """Gradients and curvatures by input, node and bin; an input is summed by one thread, so the order is the same."""
    out = np.zeros((len(bins), n_nodes, MOST_BINS, 2))

    def part(first: int, last: int) -> None:
        native.gather_sums(bins, nodes, gradients, curvatures, places, n_nodes, MOST_BINS, first, last, out.reshape(-1))

    by_rows(part, len(bins), chunk=1, threads=threads)
    return out


def _questions(
    sums: Float64, edges: Sequence[Float32], monotone: Int32, growth: Growth
) -> Iterator[tuple[int, int, Float64]]:
    """(input, edge, sums of the leaves) of the few questions that explain most, over all nodes of a level together."""
    f, nodes = sums.shape[:2]
    gains, at, sides = np.empty(f), np.empty(f, np.int32), np.zeros((f, 2 * nodes, 2))
    n_edges = np.fromiter(map(len, edges), np.int32, f)
    native.questions(
        sums.reshape(-1), n_edges, monotone, growth.l2, growth.least, nodes, MOST_BINS, 0, f, gains, at,
        sides.reshape(-1),
    )  # fmt: skip
    for j in np.argsort(-gains, kind="stable")[:LOOKED_AT].tolist():
        if gains[j] > 1e-6:
            yield j, int(at[j]), sides[j]


def _leaf_values(leaves: Float64, feature: Int32, threshold: Float32, monotone: Int32, growth: Growth) -> Float64:
    """Newton's step in every leaf, in order."""
    steps = leaves[:, 0] / (leaves[:, 1] + growth.l2)
    return _in_order(steps, leaves[:, 1] + growth.l2, feature, threshold, monotone)


def _in_order(value: Float64, weight: Float64, feature: Int32, threshold: Float32, monotone: Int32) -> Float64:
    """Leaf values that rise with every monotone input: neighbours that do not are pooled by weight.

    What little is left after some rounds is lifted to what lies below it and lowered to what lies above; the mean of
    both is in order for certain, and neither higher nor lower than it was on the whole.
    """
    cube, pairs = value.copy(), []
    for level, j in enumerate(feature.tolist()):
        if monotone[j] and np.isfinite(threshold[level]):
            (low, high), (w_low, w_high) = (_sides(all_, level, int(monotone[j])) for all_ in (cube, weight))
            pairs.append((low, high, w_low, w_high, w_low + w_high))
    for _ in range(ROUNDS):
        worst = 0.0
        for low, high, w_low, w_high, both in pairs:
            wrong = low > high
            if wrong.any():
                worst = max(worst, float((low - high).max()))
                pooled = (low * w_low + high * w_high) / both
                np.copyto(low, pooled, where=wrong)
                np.copyto(high, pooled, where=wrong)
        if worst < 1e-6:
            break
    lifted, lowered = cube.copy(), cube
    for level, j in enumerate(feature.tolist()):
        if monotone[j] and np.isfinite(threshold[level]):
            low, high = _sides(lifted, level, int(monotone[j]))
            np.maximum(low, high, out=high)
            low, high = _sides(lowered, level, int(monotone[j]))
            np.minimum(low, high, out=low)
    return np.asarray((lifted + lowered) / 2)


def _sides(leaves: Float64, level: int, sign: int) -> tuple[Float64, Float64]:
    """Those of the leaves that shall be lower, and those that shall be higher, by the question of a level: views."""
    split = leaves.reshape(2**level, 2, -1)
    return (split[:, 0], split[:, 1]) if sign > 0 else (split[:, 1], split[:, 0])


def _expected(value: Float32, weight: Float32) -> list[Float64]:
    """The mean log-odds at the nodes of every level, by the weight of what led there."""
    levels = [value.astype(np.float64)]
    mass = weight.astype(np.float64) + 1e-9
    while levels[0].shape[1] > 1:
        shape = len(value), levels[0].shape[1] // 2, 2  # there may be no trees, where nothing is to be told apart
        pairs, masses = levels[0].reshape(shape), mass.reshape(shape)
        mass = masses.sum(axis=2)
        levels.insert(0, (pairs * masses).sum(axis=2) / mass)
    return levels
