"""`EncoderOvA`: an encoder and one classifier for every label, all of them asked. What an index has to live up to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_pairs
from ..errors import NotFittedError, StoreError
from ..linear import Explanation
from ..linear.explain import asked_about
from ..model import check_k
from ..store import State
from ..types import Csr, Float32, TopK
from .encoded import EncodedModel
from .explaining import explain_all
from .extra import device_of
from .given import as_scores, products, sigmoid
from .network import exact
from .ova_task import OvATask, Settings
from .rows import door, inputs_of, split
from .training import Loop, SteadyLoop

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "loss", "train_p1", "held_out_p1", "held_out_r100")


class EncoderOvA(EncodedModel):
    """An encoder and a full linear layer, with the exact loss over all labels and an exact search."""

    _labels: Float32 | None = None

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
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return len(self.label_weights)

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
        torch = self._torch(checkpoint)
        device = device_of(torch, self.device)
        X, Y, texts = door(self.encoder, X, Y, texts)
        train, held_out = split(Y, self.holdout, self.seed)
        how = ova_settings(self, len(train))
        task = OvATask(inputs_of(self.encoder, X, texts), Y, train, held_out, self.encoder, how, torch, device)
        loop = SteadyLoop(
            task, epochs=self.epochs, patience=self.early_stopping, rows=len(train), more=("held_out_r100",)
        )
        loop.held_out = len(task.held_out)
        self._run(task, loop, X, Y, checkpoint)
        return self

    def _finish(self, task: OvATask, loop: Loop) -> None:
        self._labels = task.final()["labels"]
        super()._finish(task, loop)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best of all labels of each row; scores are probabilities."""
        W, k = self.label_weights, check_k(k)
        labels, scores = exact(self.embed(X, texts=texts), W, k, threads=self.threads)
        return TopK(labels, np.where(labels < 0, np.float32(0), sigmoid(scores)), len(W))

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        W, vectors = self.label_weights, self.embed(X, texts=texts)
        wanted = as_pairs(labels, n_rows=len(vectors), n_labels=len(W))
        return as_scores(sigmoid(products(vectors, W, wanted, threads=self.threads)), wanted)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets label number `label`: its margin, feature by feature; arguments as in Elias."""
        W = self.label_weights
        label, _ = asked_about(label, label_counts, len(W))
        return explain_all(W, self.reading(x, texts=texts), label)

    def to_state(self) -> State:
        """For the store."""
        return State(arrays={"labels": self.label_weights, **self._encoder_arrays(CURVES)})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        model._take_encoder(state, CURVES)
        labels = state.arrays.get("labels")
        if labels is None or labels.dtype != np.float32 or labels.shape != (len(labels), model.encoder.width):
            raise StoreError(f"an EncoderOvA needs labels as float32, labels × {model.encoder.width}")
        if not len(labels):
            raise StoreError("labels must have at least one row")
        model._labels = labels
        return model


def ova_settings(model: EncodedModel, n_rows: int, **more: Any) -> Settings:
    """What an `OvATask` needs to know, for so many rows."""
    return Settings(
        dropout=model.dropout, batch=model._batch(n_rows), epochs=model.epochs, learning_rate=model.learning_rate,
        encoder_rate=model.encoder_rate or model.encoder.usual_rate, decay=model.decay, averaging=model.averaging,
        seed=model.seed, threads=model.threads, **more,
    )  # fmt: skip
