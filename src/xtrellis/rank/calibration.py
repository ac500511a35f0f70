"""`Calibration`: how likely a candidate is right, given both models' scores and the label's frequency (ELIAS++, D.2).

A decision tree over (p, q, p·q, frequency), learned by scikit-learn from candidates of rows that neither model has seen
and kept as plain arrays. The tree is held to what must be so: of scores from 0 on, a
higher one never makes a label less likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._native import rank as native
from ..arrays import Array, Csr, Float32, Int32, Int64, is_right
from ..core import MissingExtraError, StoreError, by_rows
from ..store import State, Storable
from .candidates import CHUNK

DTYPES: Mapping[str, Any] = {
    "feature": np.int32,  # 0 to 3: p, q, p·q, frequency; -1 in a leaf
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "value": np.float32,
    "frequency": np.float32,  # one per label
}
TREE = ("feature", "threshold", "left", "right", "value")
INPUTS = 4


class Calibration(Storable):
    """A decision tree as arrays, and the labels' frequencies in training."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = {name: arrays[name] for name in DTYPES}

    @classmethod
    def learn(
        cls,
        p: Float32,
        q: Float32,
        labels: Int32,
        Y: Csr,
        frequency: Int64,
        *,
        max_leaves: int,
        min_leaf: int,
        seed: int,
    ) -> Calibration:
        """From n × c candidates of held-out rows, their scores, and the rows' true labels."""
        decision_tree = cls.learner()
        counts = frequency.astype(np.float32)
        there = labels >= 0
        right = is_right(labels, Y)[there]
        inputs = np.stack([p[there], q[there], p[there] * q[there], counts[labels[there]]], axis=1)
        if right.all() or not right.any():  # nothing to tell apart
            share = np.float32(right.mean() if len(right) else 0)
            return cls(_leaf(share) | {"frequency": counts})
        tree = decision_tree(
            max_leaf_nodes=max_leaves,
            min_samples_leaf=min(min_leaf, max(1, len(right) // 4)),
            monotonic_cst=(1, 1, 1, 0),
            random_state=seed % 2**32,
        ).fit(inputs, right)
        found = tree.tree_
        value = found.value[:, 0, :]
        return cls(
            {
                "feature": np.maximum(found.feature, -1).astype(np.int32),
                "threshold": np.ascontiguousarray(found.threshold, np.float64),
                "left": found.children_left.astype(np.int32),
                "right": found.children_right.astype(np.int32),
                "value": (value[:, 1] / value.sum(axis=1)).astype(np.float32),
                "frequency": counts,
            }
        )

    @staticmethod
    def learner() -> Any:
        """scikit-learn's decision tree, or an error that says how to get it: before anything is trained."""
        try:
            from sklearn.tree import DecisionTreeClassifier
        except ImportError:
            raise MissingExtraError("scikit-learn", "rank", "calibrating a ranker") from None
        return DecisionTreeClassifier

    def probability(self, p: Float32, q: Float32, labels: Int32, *, threads: int | None = None) -> Float32:
        """Of n × c candidates; 0 where there is none."""
        out = np.zeros(labels.shape, np.float32)
        feature, threshold, left, right, value = (self.arrays[name] for name in TREE)

        def part(first: int, last: int) -> None:
            native.calibrate(
                feature, threshold, left, right, value, first, last, p, q, labels, self.arrays["frequency"], out
            )

        by_rows(part, len(labels), chunk=CHUNK, threads=threads)
        return out

    @property
    def n_leaves(self) -> int:
        """How many different probabilities there are, at most."""
        return int((self.arrays["feature"] < 0).sum())

    @property
    def n_labels(self) -> int:
        """How many labels it knows the frequencies of."""
        return len(self.arrays["frequency"])

    def to_state(self) -> State:
        """For the store."""
        return State(arrays=dict(self.arrays))

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Calibration:
        """From the store; a walk through the tree must stay inside and end."""
        for name, dtype in DTYPES.items():
            array = state.arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise StoreError(f"a calibration needs an array {name!r} of {np.dtype(dtype)} with one dimension")
        feature, left, right = (np.asarray(state.arrays[name]) for name in ("feature", "left", "right"))
        n = len(feature)
        if not n or any(len(state.arrays[name]) != n for name in ("threshold", "left", "right", "value")):
            raise StoreError("a calibration's tree needs at least one node and arrays of one length")
        inner = np.flatnonzero(feature >= 0)
        if (feature >= INPUTS).any():
            raise StoreError(f"a calibration's tree knows inputs 0 to {INPUTS - 1}; got {feature.max()}")
        for child in (left[inner], right[inner]):
            if ((child <= inner) | (child >= n)).any():
                raise StoreError("a node of a calibration's tree must come before its children")
        return cls(state.arrays)


def _leaf(value: np.float32) -> dict[str, Array]:
    none = np.array([-1], np.int32)
    return {
        "feature": none, "threshold": np.zeros(1), "left": none, "right": none, "value": np.array([value], np.float32)
    }  # fmt: skip
