"""`EncodedModel`: what models that train an encoder have in common, their parameters first of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ...arrays import Array, Csr, Float32, Int32, as_row
from ...core import InputError, TrainingError, integer, number, param, part, text
from ...data import TrainingData
from ...model import Model
from ...store import State
from ..training import Curves, Loop, from_array, import_torch, n_processes, to_array
from .attribution import EncodedRow
from .bag import BagEncoder
from .base import Encoder, Inputs
from .inputs import encoded, texts_for, validation_split


class EncodedModel(Model):
    """An encoder that is trained in epochs, chosen by validation rows, and asked for vectors afterwards."""

    keeps_checkpoints: ClassVar[Literal[True]] = True
    needs_labels = True

    encoder: Encoder = param(part(Encoder), "turns rows into vectors", default=BagEncoder())
    dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a vector's entries set to 0 in training", default=0.2
    )
    batch_size: int | None = param(
        integer(at_least=1, or_none=True), "rows in a batch; None: up to 512, fewer for small data", default=None
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most", default=15)
    learning_rate: float = param(number(above=0), "first step of classifiers; falls to 0 over the epochs", default=0.02)
    encoder_learning_rate: float | None = param(
        number(above=0, or_none=True), "the same for the encoder; None: what suits it", default=None
    )
    weight_decay: float = param(number(at_least=0), "how fast weights (not biases) decay", default=0.01)
    swa_start: float = param(
        number(at_least=0, at_most=1),
        "stochastic weight averaging: from this share of training on, the mean of the weights counts",
        default=0.7,
    )
    holdout: float = param(
        number(at_least=0, at_most=0.5),
        "share of rows (5000 at most) to validate on and choose the best epoch by; fewer than 50 are none",
        default=0.05,
    )
    patience: int | None = param(
        integer(at_least=1, or_none=True),
        "epochs without gain on validation rows before stopping early; None: never",
        default=3,
    )
    device: str = param(text(), "where torch runs the encoder: auto, cpu, cuda …", default="auto", role="machine")

    _weights: Mapping[str, Array] = {}
    _curves: Curves = []  # noqa: RUF012

    @property
    def reads_texts(self) -> bool:
        """True with an encoder that reads texts."""
        return self.encoder.reads == "texts"

    @property
    def curves(self) -> Curves:
        """One entry per epoch: loss, and precision and recall on rows of the training and on validation rows."""
        self._require_fitted()
        return self._curves

    def embed(self, X: Any, *, texts: Sequence[str] | None = None) -> Float32:
        """The rows as vectors, n × width of the encoder; the last entry of each is 1."""
        self._require_fitted()
        return encoded(self.encoder, self._weights, X, texts, threads=self.threads, device=self.device)

    def encoded_row(self, x: Any, *, texts: Sequence[str] | None = None) -> EncodedRow:
        """One row (and its text, in a list, if the encoder reads it) with its vector, for explanations."""
        self._require_fitted()
        n_features = self.encoder.n_features(self._weights)
        if n_features is None:
            inputs = Inputs(texts=texts_for(self.encoder, texts, 1))
        else:
            inputs = Inputs(X=as_row(x, n_features=n_features))
        vectors = self.encoder.encode(self._weights, inputs, threads=self.threads, device=self.device)
        return EncodedRow(self.encoder, self._weights, inputs, vectors[0])

    def validation_rows(self, Y: Csr) -> Int32:
        """The rows that choose the epoch; of their labels only the clusters that Elias begins with know."""
        return validation_split(Y, self.holdout, self.seed)[1]

    def _torch(self, checkpoint: Path | None) -> Any:
        """The library, if it is there and may do what is asked for."""
        torch = import_torch(f"training an {type(self).__name__}")
        if checkpoint is not None and n_processes(torch) > 1:
            raise InputError("a training on several processes cannot use a checkpoint; start it without")
        return torch

    def _batch_size(self, n: int) -> int:
        # Small data gets small batches: an index needs some hundred steps to settle.
        return int(self.batch_size or min(512, max(16, n // 100)))

    def _run(self, task: Any, loop: Loop, data: TrainingData, checkpoint: Path | None) -> None:
        """The training; one that fails leaves its best state before that, if there is one."""
        try:
            loop.run(checkpoint=checkpoint, made_from=self.made_from(data) if checkpoint else {})
        except TrainingError:
            if loop.curves:
                self._finish(task, loop)
                self._remember_params()
            raise
        self._finish(task, loop)

    def _finish(self, task: Any, loop: Loop, **learned: Any) -> None:
        """Take over what was trained; subclasses add their own attributes. All at once: Ctrl-C must not leave an old
        encoder below new classifiers."""
        weights = {n: v.copy() for n, v in task.encoder_weights().items()} | self.encoder.files()
        vars(self).update(learned, _weights=weights, _curves=loop.curves)

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
