"""`EncoderOvA`: an encoder and one classifier for every label, all of them asked. What an index has to live up to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import integer, number, part, text
from ..config import param
from ..errors import InputError, NotFittedError, StoreError, TrainingError
from ..model import Model, check_k
from ..store import State
from ..types import Array, Float32, TopK
from .curves import from_array, to_array
from .encoder import BagEncoder, Encoder
from .extra import device_of, import_torch
from .network import exact
from .ova_task import OvATask, Settings
from .processes import n_processes
from .rows import door, encoded, inputs_of, split
from .training import Curves, Loop

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "loss", "train_p1", "held_out_p1", "held_out_r100")
FREE = ("threads", "device")  # parameters that may change between a stop and going on


class EncoderOvA(Model):
    """An encoder and a full linear layer, with the exact loss over all labels and an exact search."""

    encoder: Encoder = param(part(Encoder), "turns rows into vectors", default=BagEncoder())
    dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a vector's entries set to 0 in training", default=0.4
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

    _labels: Float32 | None = None
    _weights: Mapping[str, Array] = {}
    _curves: Curves = []  # noqa: RUF012

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._labels is not None

    @property
    def label_weights(self) -> Float32:
        """One row a label; the last entry is its bias."""
        self._require_fitted()
        if self._labels is None:
            raise NotFittedError("not trained")
        return self._labels

    @property
    def reads_texts(self) -> bool:
        """True with an encoder that reads texts."""
        return self.encoder.reads == "texts"

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return len(self.label_weights)

    @property
    def curves(self) -> Curves:
        """One entry an epoch: loss, train_p1, held_out_p1, held_out_r100."""
        self._require_fitted()
        return self._curves

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        texts: Sequence[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from n×d features (and n texts, if the encoder reads them) and n×L labels.

        `checkpoint` and several processes as in Elias.
        """
        torch = import_torch("training an EncoderOvA")
        device = device_of(torch, self.device)
        if checkpoint is not None and n_processes(torch) > 1:
            raise InputError("a training on several processes cannot use a checkpoint; start it without")
        X, Y, texts = door(self.encoder, X, Y, texts)
        train, held_out = split(Y, self.holdout, self.seed)
        how = Settings(
            dropout=self.dropout, batch=self.batch or min(512, max(16, len(train) // 100)), epochs=self.epochs,
            learning_rate=self.learning_rate, encoder_rate=self.encoder_rate or self.encoder.usual_rate,
            decay=self.decay, averaging=self.averaging, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        task = OvATask(inputs_of(self.encoder, X, texts), Y, train, held_out, self.encoder, how, torch, device)
        loop = Loop(task, epochs=self.epochs, patience=self.early_stopping, rows=len(train), more=("held_out_r100",))
        params = {name: value for name, value in self.to_config()["params"].items() if name not in FREE}
        try:
            loop.run(checkpoint=checkpoint, params=params, data={"X": X, "Y": Y})
        except TrainingError:
            if loop.curves:
                self._finish(task, loop)
            raise
        self._finish(task, loop)
        return self

    def _finish(self, task: OvATask, loop: Loop) -> None:
        self._labels = task.final()["labels"]
        self._weights = {n: v.copy() for n, v in task.encoder_weights().items()} | self.encoder.files()
        self._curves = loop.curves

    def embed(self, X: Any, *, texts: Sequence[str] | None = None) -> Float32:
        """The rows as vectors, n × width of the encoder; the last entry of each is 1."""
        self._require_fitted()
        return encoded(self.encoder, self._weights, X, texts, threads=self.threads, device=self.device)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best of all labels of each row; scores are probabilities."""
        W, k = self.label_weights, check_k(k)
        labels, scores = exact(self.embed(X, texts=texts), W, k, threads=self.threads)
        with np.errstate(over="ignore"):
            chances = np.where(labels < 0, 0, 1 / (1 + np.exp(-scores))).astype(np.float32)
        return TopK(labels, chances, len(W))

    def to_state(self) -> State:
        """For the store."""
        arrays: dict[str, Array] = {"labels": self.label_weights, "curves": to_array(self._curves, CURVES)}
        return State(arrays=arrays | {f"encoder.{name}": value for name, value in self._weights.items()})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        weights = {n.removeprefix("encoder."): a for n, a in state.arrays.items() if n.startswith("encoder.")}
        model.encoder.check(weights)
        labels = state.arrays.get("labels")
        if labels is None or labels.dtype != np.float32 or labels.shape != (len(labels), model.encoder.width):
            raise StoreError(f"an EncoderOvA needs labels as float32, labels × {model.encoder.width}")
        if not len(labels):
            raise StoreError("labels must have at least one row")
        model._labels, model._weights = labels, weights
        model._curves = from_array(state.arrays.get("curves", np.zeros((0, len(CURVES)))), CURVES)
        return model
