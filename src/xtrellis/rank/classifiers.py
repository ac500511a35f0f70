"""`Classifiers`: one sparse linear classifier a label, kept label by label, that scores given candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._native import rank as native
from ..arrays import Array, Csr, Float32, Int32, Int64, Rows
from ..core import StoreError, by_rows
from ..explain import Push, strongest
from ..store import State, Storable
from .candidates import CHUNK

TRANSFORMS: tuple[str, ...] = ("sigmoid", "l3-hinge")
DTYPES: Mapping[str, Any] = {"offsets": np.int64, "features": np.int32, "weights": np.float32, "biases": np.float32}


class Classifiers(Storable):
    """Weights of label l: `features[offsets[l] : offsets[l + 1]]`, ascending, `weights` beside them; one bias each."""

    def __init__(
        self, offsets: Int64, features: Int32, weights: Float32, biases: Float32, *, n_features: int, transform: str
    ) -> None:
        self.offsets, self.features, self.weights, self.biases = offsets, features, weights, biases
        self.n_features, self.transform = n_features, transform

    @property
    def n_labels(self) -> int:
        """How many classifiers."""
        return len(self.biases)

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in DTYPES)

    def score(self, X: Rows | Csr, labels: Int32, *, threads: int | None = None) -> Float32:
        """Scores in [0, 1] of n × c candidates, row i of `labels` for row i of X; 0 where a label is -1."""
        margins = np.full(labels.shape, -np.inf, np.float32)

        def part(first: int, last: int) -> None:
            native.margins(
                self.offsets, self.features, self.weights, self.biases,
                X.indptr, X.indices, X.data, X.shape[1], first, last, labels, margins,
            )  # fmt: skip
            rows = margins[first:last]
            _TRANSFORM[self.transform](rows)

        by_rows(part, len(labels), chunk=CHUNK, threads=threads)
        return margins

    def pushes(self, row: Csr, label: int) -> tuple[float, tuple[Push, ...]]:
        """The bias of a label, and what each feature of a row adds to its margin, strongest first."""
        span = slice(int(self.offsets[label]), int(self.offsets[label + 1]))
        features, at, mine = np.intersect1d(row.indices, self.features[span], assume_unique=True, return_indices=True)
        values = row.data[at].astype(np.float64)
        return float(self.biases[label]), strongest(features, values, values * self.weights[span][mine])

    def to_state(self) -> State:
        """For the store."""
        arrays = {name: getattr(self, name) for name in DTYPES}
        return State(meta={"n_features": self.n_features, "transform": self.transform}, arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Classifiers:
        """From the store; what the kernel relies on is checked."""
        arrays: dict[str, Array] = {}
        for name, dtype in DTYPES.items():
            array = state.arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise StoreError(f"classifiers need an array {name!r} of {np.dtype(dtype)} with one dimension")
            arrays[name] = array
        offsets, features, n_features = arrays["offsets"], arrays["features"], state.meta["n_features"]
        if not isinstance(n_features, int) or not 0 <= n_features < 2**31:
            raise StoreError(f"n_features must be a number from 0 to 2147483647; got {n_features!r}")
        if len(offsets) != len(arrays["biases"]) + 1 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise StoreError("offsets must rise from 0, with one more entry than there are biases")
        if not offsets[-1] == len(features) == len(arrays["weights"]):
            raise StoreError("offsets must end at the number of features, which must be that of weights")
        if len(features) and not 0 <= features.min() <= features.max() < n_features:
            raise StoreError(f"features must be from 0 to {n_features - 1}")
        falls = features[1:] <= features[:-1]
        inner = offsets[1:-1]
        falls[inner[(inner > 0) & (inner < len(features))] - 1] = False  # there another label begins
        if falls.any():
            label = int(np.searchsorted(offsets, np.argmax(falls), side="right")) - 1
            raise StoreError(f"the features of a label must ascend; those of label {label} do not")
        if state.meta["transform"] not in TRANSFORMS:
            raise StoreError(f"transform must be one of {', '.join(TRANSFORMS)}; got {state.meta['transform']!r}")
        return cls(**arrays, n_features=n_features, transform=state.meta["transform"])


def _sigmoid(margins: Float32) -> None:
    np.negative(margins, out=margins)
    np.minimum(margins, 80, out=margins)  # exp stays finite in float32
    np.exp(margins, out=margins)
    margins += 1
    np.reciprocal(margins, out=margins)


def _l3_hinge(margins: Float32) -> None:
    np.subtract(1, margins, out=margins)
    np.clip(margins, 0, 1e12, out=margins)
    margins **= 3
    np.negative(margins, out=margins)
    np.exp(margins, out=margins)


_TRANSFORM = {"sigmoid": _sigmoid, "l3-hinge": _l3_hinge}
