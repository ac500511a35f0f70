"""`BagEncoder`: the encoder that needs no GPU, averaged feature embeddings and a residual block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._native import neural as native
from ...arrays import Array, Float32, Float64, Int32, Rows, unit_values
from ...core import StoreError, by_rows, generator, integer, key, number, param
from ..training import Embedding, bag, take
from .base import Encoder, Inputs, Trainable


class BagEncoder(Encoder):
    """Embeddings of features, averaged with their weights in the row, and a residual block: h + relu(h·R + c)."""

    usual_rate = 0.3
    usual_weight = 0.3  # it knows the training rows by heart: at full length a tree would trust it too much

    dim: int = param(integer(at_least=2, at_most=2**14), "length of the vectors", default=256)
    input_dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a training row's features that are dropped", default=0.05
    )

    @property
    def width(self) -> int:
        return self.dim

    def start(self, inputs: Inputs, *, seed: int, threads: int | None, device: Any) -> Trainable:
        return _BagTraining(self, inputs, seed, threads, device)

    def encode(self, weights: Mapping[str, Array], inputs: Inputs, *, threads: int | None, device: str) -> Float32:
        X = inputs.X
        if X is None:
            raise TypeError("a BagEncoder reads X")
        features, mix, bias = weights["features"], weights["mix"], weights["bias"]
        out = bag(Rows(unit_values(X), X.indices, X.indptr, X.shape), features, threads)
        bent = np.empty_like(out)

        def part(first: int, last: int) -> None:
            native.products(out[first:last], mix, bent[first:last])

        by_rows(part, len(out), chunk=256, threads=threads, at_least=16)
        bent += bias
        out += np.maximum(bent, 0, out=bent)
        out[:, -1] = 1
        return out

    def contributions(self, weights: Mapping[str, Array], inputs: Inputs, W: Float64) -> tuple[Float64, Float64]:
        """Exact: which units of the residual block are active is a matter of the row, and then all is linear.

        With h = Σ xᵢ Eᵢ and a = [R·h + c > 0], w·φ = w'·h + (a∘w')·(R·h + c) + w_last, where w' is w without its last
        entry, which meets the constant 1. So feature i adds xᵢ Eᵢ·(w' + Rᵀ(a∘w')). O(dim² + entries · dim) a row of W.
        """
        X = inputs.X
        if X is None or X.shape[0] != 1:
            raise TypeError("a BagEncoder reads X, and one row of it here")
        features, mix, bias = weights["features"], weights["mix"], weights["bias"]
        terms = unit_values(X).astype(np.float64)[:, None] * features[X.indices]  # xᵢ Eᵢ
        active = mix @ terms.sum(axis=0) + bias > 0
        inner = W.copy()
        inner[:, -1] = 0
        bent = inner * active
        return W[:, -1] + bent @ bias, terms @ (inner + bent @ mix).T

    def check(self, weights: Mapping[str, Array]) -> None:
        shapes = {"features": (len(weights.get("features", ())), self.dim), "mix": (self.dim,) * 2, "bias": (self.dim,)}
        for name, shape in shapes.items():
            array = weights.get(name)
            if array is None or array.dtype != np.float32 or array.shape != shape:
                raise StoreError(f"a BagEncoder needs {name} as float32 of shape {shape}")

    def n_features(self, weights: Mapping[str, Array]) -> int | None:
        return len(weights["features"])

    def n_weights(self, n_features: int) -> int:
        return (n_features + self.dim + 1) * self.dim


class _BagTraining(Trainable):
    dense_share = 0.01

    def __init__(self, how: BagEncoder, inputs: Inputs, seed: int, threads: int | None, device: Any) -> None:
        if inputs.X is None:
            raise TypeError("a BagEncoder reads X")
        X, self.how, self.seed, self.device = inputs.X, how, seed, device
        self.X = Rows(unit_values(X), X.indices, X.indptr, X.shape)
        self.embedding = Embedding(int(X.shape[1]), how.dim, seed=seed, threads=threads)
        scale = np.float32(1 / np.sqrt(how.dim))
        self.dense: dict[str, Float32] = {
            "mix": generator(seed, "residual").standard_normal((how.dim, how.dim), dtype=np.float32) * scale,
            "bias": np.zeros(how.dim, np.float32),
        }

    def batch(self, rows: Int32, epoch: int) -> Rows:
        dropout = self.how.input_dropout
        kept = take(self.X, rows, dropout=dropout, seed=key(self.seed, "dropout", epoch))
        kept.data[...] *= np.float32(1 / (1 - dropout))  # so that a whole row, later, is what a part was on average
        return kept

    def leaf(self, batch: Rows) -> Float32:
        return self.embedding.forward(batch)

    def forward(self, torch: Any, batch: Any, span: tuple[int, int], leaf: Any, dense: Mapping[str, Any]) -> Any:
        leaf = leaf.to(self.device)
        h = leaf + (leaf @ dense["mix"].T + dense["bias"]).relu()
        return torch.cat([h[:, :-1], torch.ones_like(h[:, :1])], dim=1)

    def step(self, batch: Rows, gradient: Float32, rate: float) -> None:
        self.embedding.step(batch, gradient, rate)

    def weights(self) -> dict[str, Array]:
        return {"features": self.embedding.weights, **self.dense}

    def arrays(self) -> dict[str, Array]:
        return self.embedding.arrays()

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.embedding.restore(dict(arrays))
