"""Interpolated trees: from clusters by similarity to a code by frequency, and everything between (Baharav et al. 2021).

Splits are those of eq. (4) of the paper, found by `native/cluster/weighted.hpp`. With λ = 2λ'/(1+λ'), λ' the tradeoff:
f_l(λ) ∝ (2-λ) f_l^min(λ,1) + (λ-1)₊ f̃_l + γ/n in a set of n labels, where f and f̃ sum to 1; similarity counts 2-λ, the
code (λ-1)₊. So λ'=0 is balanced 2-means, λ'=1 2-means weighted by frequency, λ'=∞ Fano's code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native import cluster as native
from ..arrays import Float64, Int32, Int64, assemble, ranges, spans_of_work
from ..core import choice, integer, key, number, param, progress, run
from ..labels import FREQUENCIES, LabelSpace
from .balanced import BalancedTree
from .base import LEAST_GAIN
from .binary import JOINS, Binary
from .frequency import FrequencyIndex
from .shape import TreeLevel, balanced_levels
from .tree import LabelTree

ROUTES = ("weighted", "direct")
NO_VECTORS = assemble(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64), (0, 1))


class InterpolatedTree(FrequencyIndex):
    """Frequent labels lie nearer to the root, as far as similar ones can stay together; leaves lie at different depths.

    `tradeoff` says how much frequencies count: 0 makes the splits of `BalancedTree`, 1 makes both halves of a split
    equally frequent instead of equally large, inf is Fano's code, which looks at frequencies alone. `join` says how
    nodes of two become wider ones, whatever the tradeoff: with 0 and "levels" it is the tree of `BalancedTree`.
    """

    tradeoff: float = param(
        number(at_least=0, infinite=True), "what frequencies count: 0 nothing (balanced), inf everything", default=0.5
    )
    arity: int = param(integer(at_least=2), "children of an inner node at most", default=16)
    join: str = param(
        choice(*JOINS),
        "nodes of two become wider: frequent ones by being taken in, or all by levels",
        default="frequency",
    )
    max_leaf: int = param(integer(at_least=1), "sets of at most so many labels are not split", default=100)
    frequency: str = param(
        choice(*FREQUENCIES), "above tradeoff 1: labels a row counts for, all or as few as serve it", default="marginal"
    )
    focus: float = param(
        number(at_least=0, at_most=1), "frequency 'soft': share of a row for its most frequent label", default=0.5
    )
    answers: int = param(
        integer(at_least=1), "frequency 'marginal' and 'soft': a row's most frequent labels that count", default=1
    )
    smoothing: float = param(number(at_least=0), "weight that all labels of a set share evenly", default=0.1)
    route: str = param(
        choice(*ROUTES),
        "from balanced to code by way of the weighted clusters of tradeoff 1, or not",
        default="weighted",
    )
    iterations: int = param(integer(at_least=1), "rounds of 2-means per split at most", default=20)
    tolerance: float = param(number(at_least=0), "mean gain in similarity below which a split is done", default=1e-4)

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """Split from the root down, a level at a time, then join nodes of two to wider ones."""
        if self.tradeoff == 0:
            same = ("max_leaf", "iterations", "tolerance")
            even = BalancedTree(**{name: getattr(self, name) for name in same})
            halves = Binary.nested(*even.halves(labels, seed=seed), self.max_leaf)
            by_frequency = self.arity > 2 and self.join == "frequency"
            return halves.join(self.arity, self.join, self._frequency(labels, "all") if by_frequency else None)
        weights = self._weights(labels)
        tree = Binary(labels.n_labels, self.max_leaf)
        with progress.step("clustering labels", total=labels.n_labels, unit="labels") as advance:
            while True:
                done = tree.n_closed
                open_sets = tree.open_level()
                advance(tree.n_closed - done)
                if not len(open_sets):
                    break
                keys = np.array([key(seed, "split", tree.level, i) for i in range(len(open_sets))], np.uint64)
                begins, ends = tree.begin[open_sets], tree.end[open_sets]
                weights.refresh(tree.members, begins, ends)
                tree.split(open_sets, self._split(labels, tree.members, begins, ends, weights, keys))
        return tree.join(self.arity, self.join, weights.plain)

    @classmethod
    def params_from_json(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Before `join` was a parameter, balanced trees were joined by levels and all others by frequency."""
        found = super().params_from_json(params)
        return {"join": "levels" if found.get("tradeoff") == 0 else "frequency", **found}

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """As if it were balanced."""
        return balanced_levels(labels.n_labels, self.arity, self.max_leaf)

    @property
    def needs_vectors(self) -> bool:
        """Fano's code looks at frequencies alone."""
        return not math.isinf(self.tradeoff)

    def _weights(self, labels: LabelSpace) -> _Weights:
        share = 2.0 if math.isinf(self.tradeoff) else 2 * self.tradeoff / (1 + self.tradeoff)  # λ
        plain = self._frequency(labels, "all")
        needs_code = share > 1 or self.route == "direct"
        code = self._frequency(labels, self.frequency, self.focus, self.answers) if needs_code else plain
        if self.route == "direct":
            return _Weights(plain, code, 2 - share, 0.0, share, self.smoothing)
        return _Weights(plain, code, 2 - share, min(share, 1), max(share - 1, 0), self.smoothing)

    def _split(
        self,
        labels: LabelSpace,
        members: Int32,
        begins: Int64,
        ends: Int64,
        weights: _Weights,
        keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    ) -> Int64:
        """Reorder every set; returns how many of its members come first."""
        vectors = labels.vectors if weights.similarity > 0 else NO_VECTORS
        n, threads = len(keys), labels.threads
        lefts, borders = np.zeros(n, np.int64), np.zeros(n, np.int32)
        objectives, alphas = np.zeros(n), np.zeros(n)
        # Groups of sets with about the same work: labels with many features tend to lie together.
        lengths = np.diff(vectors.indptr) if weights.similarity > 0 else np.zeros(labels.n_labels, np.int64)
        upto = np.concatenate([[0], np.cumsum(lengths[members] + 1)])
        work = np.concatenate([[0], np.cumsum(upto[ends] - upto[begins])])

        def split(group: tuple[int, int]) -> None:
            part = slice(*group)
            native.split_weighted(
                vectors.indptr, vectors.indices, vectors.data, vectors.shape[1],
                members, begins[part], ends[part], weights.of_label, keys[part],
                similarity=weights.similarity, code=weights.code_share,
                iterations=self.iterations, tolerance=max(self.tolerance, LEAST_GAIN),
                lefts=lefts[part], objectives=objectives[part], borders=borders[part], alphas=alphas[part],
            )  # fmt: skip

        run(split, spans_of_work(work, 8 * threads), threads=threads)
        return lefts


@dataclass
class _Weights:
    """f(λ) of every label in the set it is in; f and f̃ are normalised anew in each."""

    plain: Float64  # f
    code: Float64  # f̃
    similarity: float  # what similarity counts: 2 - λ
    power: float  # f counts as f^power; 0: every label alike
    code_share: float  # what f̃ counts, and the code in the objective
    smoothing: float

    def __post_init__(self) -> None:
        self.of_label = np.zeros_like(self.plain)

    def refresh(self, members: Int32, begins: Int64, ends: Int64) -> None:
        """For labels in the sets members[begins[s] : ends[s]]."""
        sizes = ends - begins
        starts = np.cumsum(sizes) - sizes
        ids = members[ranges(begins, sizes)]

        def within(values: Float64) -> Float64:
            """Normalised in each set; 0 where a set has nothing."""
            total = np.repeat(np.add.reduceat(values, starts), sizes)
            share: Float64 = np.divide(values, total, out=np.zeros_like(values), where=total > 0)
            return share

        even = np.repeat(1 / sizes, sizes)
        raw = self.smoothing * even + self.code_share * within(self.code[ids])
        if self.similarity > 0:
            raw += self.similarity * (within(self.plain[ids]) ** self.power if self.power else even)
        share = within(raw)
        empty = np.repeat(np.add.reduceat(raw, starts) <= 0, sizes)  # no smoothing, and nothing known of the labels
        self.of_label[ids] = np.where(empty, even, share)
