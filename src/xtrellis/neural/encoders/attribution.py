"""One row as an encoder reads it: products with its vector, taken apart by what the row's features add to them.

With a `BagEncoder` this is exact, since for a given row its network is linear (`BagEncoder.contributions`). What the
vector of another encoder adds is told as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, Float32, Float64, unit_values
from ...explain import Explanation, Path, Push, Step, strongest
from .base import Encoder, Inputs


class Parts(NamedTuple):
    """A product, taken apart."""

    bias: float
    pushes: tuple[Push, ...]  # strongest first
    vector: float | None  # what the vector adds as a whole; None if it is in the pushes

    @property
    def total(self) -> float:
        """The product again."""
        return self.bias + (self.vector or 0.0) + sum(push.contribution for push in self.pushes)


@dataclass(frozen=True)
class EncodedRow:
    """A row, and the vector that an encoder makes of it. Values of features are those of the row at length 1."""

    encoder: Encoder
    weights: Mapping[str, Array]
    inputs: Inputs
    vector: Float32

    def parts(self, W: Any) -> list[Parts]:
        """The products of the vector with the rows of W, each taken apart."""
        W = np.asarray(W, np.float64)
        split = self.encoder.contributions(self.weights, self.inputs, W)
        if split is None:
            whole = W[:, :-1] @ self.vector[:-1].astype(np.float64)
            return [Parts(bias, (), amount) for bias, amount in zip(W[:, -1].tolist(), whole.tolist(), strict=True)]
        constants, contributions = split
        ids, values = self._features()
        return [
            Parts(float(constants[i]), strongest(ids, values, contributions[:, i]), None) for i in range(len(constants))
        ]

    def _features(self) -> tuple[Array, Float64]:
        X = self.inputs.X
        if X is None:
            raise TypeError("an encoder that reads no features has no contributions of features")
        return X.indices, unit_values(X).astype(np.float64)

    def folded(self, bias: float, pushes: Sequence[Push], *, first: int) -> Parts:
        """A sum over a row [features, vector] as one over features: `pushes` from number `first` on are the vector's.

        Whatever the vector was multiplied by beside the features is in the contributions: they count, not the weights.
        """
        W = np.zeros((1, len(self.vector)))
        for push in pushes:
            if push.feature >= first and (entry := float(self.vector[push.feature - first])):
                W[0, push.feature - first] = push.contribution / entry
        own = [push for push in pushes if push.feature < first]
        vector = self.parts(W)[0]
        return Parts(bias + vector.bias, added(own, vector.pushes), vector.vector)


def folded(why: Explanation, row: EncodedRow, *, first: int) -> Explanation:
    """An explanation over rows [features, vector] as one over features; margins and scores stay."""

    def step(old: Step) -> Step:
        parts = row.folded(old.bias, old.pushes, first=first)
        return replace(old, bias=parts.bias, pushes=parts.pushes, vector=parts.vector)

    return replace(why, paths=tuple(Path(path.tree, tuple(map(step, path.steps))) for path in why.paths))


def added(left: Sequence[Push], right: Sequence[Push]) -> tuple[Push, ...]:
    """Two lists of pushes of one row as one, strongest first."""
    values = {push.feature: push.value for push in (*right, *left)}
    total = dict.fromkeys(values, 0.0)
    for push in (*left, *right):
        total[push.feature] += push.contribution
    return strongest(np.array(list(values), np.int64), np.array(list(values.values())), np.array(list(total.values())))
