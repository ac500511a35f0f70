"""What an encoder is: features or texts in, vectors out, trainable; and the one that needs no GPU.

The last entry of every vector is 1. So a label's or cluster's bias is the last entry of its weights, and nothing but
the optimiser (which does not let biases decay) has to know of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .._native import neural as native
from ..arrays import Rows
from ..checks import integer, number
from ..config import Configured, param
from ..errors import StoreError
from ..features import unit_values
from ..parallel import run, spans, thread_count
from ..rng import generator, key
from ..types import Array, Csr, Float32, Int32
from .batches import take
from .layers import Embedding, bag

BLOCK = 4096  # rows encoded at once: bounds the memory of a large prediction


@dataclass(frozen=True)
class Inputs:
    """What rows are made of; an encoder reads one of both."""

    X: Csr | Rows | None = None
    texts: Sequence[str] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0]) if self.X is not None else len(self.texts or ())


class Trainable(Protocol):
    """An encoder under training. Its part that touches few parameters a batch steps by itself (`step`); its dense
    parameters are stepped by the model that trains it."""

    dense: dict[str, Float32]
    dense_share: float  # their rate of learning as a share of the sparse part's

    def piece(self, batch: int) -> int:
        """Rows of a batch that are worked on at once, by one thread."""

    def leaves(self, torch: Any) -> dict[str, Any]:
        """`dense` as tensors that want gradients."""

    def batch(self, rows: Int32, epoch: int) -> Any:
        """The inputs of some rows, as the other methods want them."""

    def leaf(self, batch: Any) -> Float32:
        """What the sparse part makes of a batch (rows × anything): the network goes on from there."""

    def forward(self, torch: Any, batch: Any, span: tuple[int, int], leaf: Any, dense: Mapping[str, Any]) -> Any:
        """Vectors of rows first .. last of a batch, by torch."""

    def step(self, batch: Any, gradient: Float32, rate: float) -> None:
        """A step of the sparse part, given the loss's gradient by `leaf`."""

    def weights(self) -> dict[str, Array]:
        """All that `Encoder.encode` needs, without copying: also what is averaged."""

    def arrays(self) -> dict[str, Array]:
        """What a training needs to go on, apart from `dense`."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from there."""


class Encoder(Configured):
    """Settings of an encoder; the weights live with the model that it is part of."""

    reads: ClassVar[str] = "features"  # or "texts"
    usual_rate: ClassVar[float]  # of learning
    usual_weight: ClassVar[float]  # of its vectors beside features of length 1

    @property
    @abstractmethod
    def width(self) -> int:
        """Length of the vectors."""

    @abstractmethod
    def start(self, inputs: Inputs, *, seed: int, threads: int | None, device: Any) -> Trainable:
        """Weights to begin with."""

    @abstractmethod
    def encode(self, weights: Mapping[str, Array], inputs: Inputs, *, threads: int | None, device: str) -> Float32:
        """Vectors of rows, n × width; the same whatever rows come together."""

    @abstractmethod
    def check(self, weights: Mapping[str, Array]) -> None:
        """Raise StoreError unless these are weights that `encode` can trust."""

    @abstractmethod
    def n_features(self, weights: Mapping[str, Array]) -> int | None:
        """Columns that X must have; None if the encoder does not read it."""

    def contributions(
        self, weights: Mapping[str, Array], inputs: Inputs, W: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """What a row's features add to the products of its vector with each row of W: constants, and entries × len(W).

        Constant and column add up to the product; entries are those of `inputs.X`, one row. None from an encoder whose
        vector is no sum over features.
        """
        return None

    def files(self) -> dict[str, Array]:
        """What `encode` needs beside the weights, as bytes; the model keeps it with them."""
        return {}

    def first_vectors(self, inputs: Inputs, *, threads: int | None, device: str) -> Float32 | None:
        """Vectors before any training; None from an encoder that knows nothing then."""
        return None

    @abstractmethod
    def n_weights(self, n_features: int) -> int:
        """Parameters it will have, for estimates of memory."""


class BagEncoder(Encoder):
    """Embeddings of features, averaged with their weights in the row, and a residual block: h + relu(h·R + c)."""

    usual_rate = 0.3
    usual_weight = 0.3  # it knows the training rows by heart: at full length a tree would trust it too much

    dim: int = param(integer(at_least=2), "length of the vectors", default=256)
    keep: float = param(
        number(above=0, at_most=1), "probability that a feature of a training row is kept", default=0.95
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
        run(
            lambda span: native.products(out[slice(*span)], mix, bent[slice(*span)]),
            spans(len(out), 8 * thread_count(threads), at_least=16),
            threads=threads,
        )
        bent += bias
        out += np.maximum(bent, 0, out=bent)
        out[:, -1] = 1
        return out

    def contributions(
        self, weights: Mapping[str, Array], inputs: Inputs, W: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


class _BagTraining:
    dense_share = 0.01

    def piece(self, batch: int) -> int:
        return 64

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

    def leaves(self, torch: Any) -> dict[str, Any]:
        return {name: torch.from_numpy(value).to(self.device).requires_grad_() for name, value in self.dense.items()}

    def batch(self, rows: Int32, epoch: int) -> Rows:
        kept = take(self.X, rows, keep=self.how.keep, seed=key(self.seed, "dropout", epoch))
        kept.data[...] *= np.float32(1 / self.how.keep)  # so that a whole row, later, is what a part was on average
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
