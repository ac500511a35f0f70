"""What an encoder is: features or texts in, vectors out, trainable.

The last entry of every vector is 1. So a label's or cluster's bias is the last entry of its weights, and nothing but
the optimiser (which does not let biases decay) has to know of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array, Csr, Float32, Float64, Int32, Rows
from ...core import Configured


@dataclass(frozen=True)
class Inputs:
    """What rows are made of; an encoder reads one of both."""

    X: Csr | Rows | None = None
    texts: Sequence[str] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0]) if self.X is not None else len(self.texts or ())


class Trainable:
    """An encoder under training. Its part that touches few parameters a batch steps by itself (`step`); its dense
    parameters are stepped by the model that trains it. What is here suits an encoder that has only dense ones."""

    dense: dict[str, Float32]
    dense_share: float = 1.0  # their rate of learning as a share of the sparse part's
    device: Any = "cpu"

    def piece(self, batch: int) -> int:
        """Rows of a batch that are worked on at once, by one thread."""
        return 64

    def leaves(self, torch: Any) -> dict[str, Any]:
        """`dense` as tensors that want gradients."""
        return {name: torch.from_numpy(value).to(self.device).requires_grad_() for name, value in self.dense.items()}

    def batch(self, rows: Int32, epoch: int) -> Any:
        """The inputs of some rows, as the other methods want them."""
        return rows

    def leaf(self, batch: Any) -> Float32:
        """What the sparse part makes of a batch (rows × anything): the network goes on from there."""
        return np.zeros((len(batch), 1), np.float32)

    @abstractmethod
    def forward(self, torch: Any, batch: Any, span: tuple[int, int], leaf: Any, dense: Mapping[str, Any]) -> Any:
        """Vectors of rows first .. last of a batch, by torch; a function of `leaf`, if only by adding 0 · leaf."""

    def step(self, batch: Any, gradient: Float32, rate: float) -> None:
        """A step of the sparse part, given the loss's gradient by `leaf`."""

    def weights(self) -> dict[str, Array]:
        """All that `Encoder.encode` needs, without copying: also what is averaged."""
        return dict(self.dense)

    def arrays(self) -> dict[str, Array]:
        """What a training needs to go on, apart from `dense`."""
        return {}

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

    def contributions(self, weights: Mapping[str, Array], inputs: Inputs, W: Float64) -> tuple[Float64, Float64] | None:
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
