"""`EncodedModel`: what models that train an encoder have in common, their parameters first of all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import integer, number, part, text
from ..config import param
from ..errors import InputError, TrainingError
from ..linear.explain import as_row
from ..model import Model
from ..store import State
from ..types import Array, Csr, Float32, Int32
from .curves import from_array, to_array
from .encoder import BagEncoder, Encoder, Inputs
from .extra import import_torch
from .processes import n_processes
from .reading import Reading
from .rows import checked_texts, encoded, split
from .training import Curves, Loop

FREE = ("threads", "device", "memory_limit")  # parameters that may change between a stop and going on


class EncodedModel(Model):
    """An encoder that is trained in epochs, chosen by held-out rows, and asked for vectors afterwards."""

    encoder: Encoder = param(part(Encoder), "turns rows into vectors", default=BagEncoder())
    dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a vector's entries set to 0 in training", default=0.2
    )
    batch: int | None = param(
        integer(at_least=1, or_none=True), "rows in a batch; None: up to 512, fewer for small data", default=None
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most", default=15)
    learning_rate: float = param(number(above=0), "first step of classifiers; falls to 0 over the epochs", default=0.02)
    encoder_rate: float | None = param(
        number(above=0, or_none=True), "the same for the encoder; None: what suits it", default=None
    )
    decay: float = param(number(at_least=0), "how fast weights (not biases) decay", default=0.01)
    averaging: float = param(
        number(at_least=0, at_most=1), "from this share of training on, the mean of the weights counts", default=0.7
    )
    holdout: float = param(
        number(at_least=0, at_most=0.5),
        "share of rows (5000 at most) to choose the best epoch by; fewer than 50 are none",
        default=0.05,
    )
    early_stopping: int | None = param(
        integer(at_least=1, or_none=True), "epochs without gain on held-out rows before stopping", default=3
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    device: str = param(text(), "where torch runs the encoder: auto, cpu, cuda …", default="auto", stored=False)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _weights: Mapping[str, Array] = {}
    _curves: Curves = []  # noqa: RUF012

    @property
    def reads_texts(self) -> bool:
        """True with an encoder that reads texts."""
        return self.encoder.reads == "texts"

    @property
    def curves(self) -> Curves:
        """One entry an epoch: loss, and precision and recall on rows of the training and on held-out ones."""
        self._require_fitted()
        return self._curves

    def embed(self, X: Any, *, texts: Sequence[str] | None = None) -> Float32:
        """The rows as vectors, n × width of the encoder; the last entry of each is 1."""
        self._require_fitted()
        return encoded(self.encoder, self._weights, X, texts, threads=self.threads, device=self.device)

    def reading(self, x: Any, *, texts: Sequence[str] | None = None) -> Reading:
        """One row (and its text, in a list, if the encoder reads it) with its vector, for explanations."""
        self._require_fitted()
        n_features = self.encoder.n_features(self._weights)
        if n_features is None:
            inputs = Inputs(texts=checked_texts(self.encoder, texts, 1))
        else:
            inputs = Inputs(X=as_row(x, n_features=n_features))
        vectors = self.encoder.encode(self._weights, inputs, threads=self.threads, device=self.device)
        return Reading(self.encoder, self._weights, inputs, vectors[0])

    def unseen_rows(self, Y: Csr) -> Int32:
        """The rows that choose the epoch; of their labels only the clusters that Elias begins with know."""
        return split(Y, self.holdout, self.seed)[1]

    def _torch(self, checkpoint: str | os.PathLike[str] | None) -> Any:
        """The library, if it is there and may do what is asked for."""
        torch = import_torch(f"training an {type(self).__name__}")
        if checkpoint is not None and n_processes(torch) > 1:
            raise InputError("a training on several processes cannot use a checkpoint; start it without")
        return torch

    def _batch(self, n: int) -> int:
        # Small data gets small batches: an index needs some hundred steps to settle.
        return self.batch or min(512, max(16, n // 100))

    def _run(self, task: Any, loop: Loop, X: Csr, Y: Csr, checkpoint: str | os.PathLike[str] | None) -> None:
        """The training; one that fails leaves its best state before that, if there is one."""
        params = {name: value for name, value in self.to_config()["params"].items() if name not in FREE}
        try:
            loop.run(checkpoint=checkpoint, params=params, data={"X": X, "Y": Y})
        except TrainingError:
            if loop.curves:
                self._finish(task, loop)
            raise
        self._finish(task, loop)

    def _finish(self, task: Any, loop: Loop) -> None:
        """Take over what was trained; subclasses take their own parts as well."""
        self._weights = {n: v.copy() for n, v in task.encoder_weights().items()} | self.encoder.files()
        self._curves = loop.curves

    def _encoder_arrays(self, columns: Sequence[str]) -> dict[str, Array]:
        """For the store."""
        return {
            "curves": to_array(self._curves, columns),
            **{f"encoder.{name}": value for name, value in self._weights.items()},
        }

    def _take_encoder(self, state: State, columns: Sequence[str]) -> None:
        """From the store; weights are looked at."""
        weights = {n.removeprefix("encoder."): a for n, a in state.arrays.items() if n.startswith("encoder.")}
        self.encoder.check(weights)
        self._weights = weights
        self._curves = from_array(state.arrays.get("curves", np.zeros((0, len(columns)))), columns)
