"""`EncoderOvA`: an encoder and one classifier for every label, all of them asked. What an index has to live up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Csr, Float32, TopK, as_pairs
from ...core import NotFittedError, StoreError
from ...data import TrainingData
from ...explain import Explanation, one_step, rank_of
from ...model import Estimate, check_k, check_label
from ...store import State
from ..encoders import EncodedModel, inputs_of, validation_split
from ..scoring import as_scores, exact, products, sigmoid
from ..training import Loop, SteadyLoop, device_of
from .task import OvASettings, OvATask

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "loss", "train_p1", "validation_p1", "validation_r100")


class EncoderOvA(EncodedModel):
    """An encoder and a full linear layer, with the exact loss over all labels and an exact search.

    Labels of equal scores are ordered by their products, then by id.
    """

    _learned = "_labels"
    _labels: Float32 | None = None

    @property
    def label_weights(self) -> Float32:
        """One row per label; the last entry is its bias."""
        self._require_fitted()
        if self._labels is None:
            raise NotFittedError("not trained")
        return self._labels

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return len(self.label_weights)

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        torch = self._torch(checkpoint)
        device = device_of(torch, self.device)
        train, validation = validation_split(data.Y, self.holdout, self.seed)
        how = ova_settings(self, len(train))
        task = OvATask(inputs_of(self.encoder, data), data.Y, train, validation, self.encoder, how, torch, device)
        loop = SteadyLoop(task, epochs=self.epochs, patience=self.patience, rows=len(train), more=("validation_r100",))
        loop.n_validation = len(task.validation)
        self._run(task, loop, data, checkpoint)

    def _estimate(self, data: TrainingData) -> Estimate:
        weights = self.encoder.n_weights(data.n_features) + data.n_labels * self.encoder.width
        return Estimate.of(
            data,
            training_bytes=4 * 2 * 4 * weights,  # moments and means beside the weights; trained, and the best so far
            model_bytes=4 * weights,
        )

    def _finish(self, task: OvATask, loop: Loop, **learned: Any) -> None:
        super()._finish(task, loop, _labels=task.final()["labels"], **learned)

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
        """Why row `x` gets the label with this id: its margin, feature by feature; arguments as in Elias."""
        W = self.label_weights
        label, _ = check_label(label, label_counts, len(W))
        row = self.encoded_row(x, texts=texts)
        with np.errstate(all="ignore"):  # a damaged model may hold anything
            found, logits = exact(row.vector[None], W, len(W), threads=1)
            rank, logit = rank_of(found[0], logits[0], label)
            bias, pushes, vector = row.parts(W[[label]])[0]
            score = float(sigmoid(np.array([logit], np.float32))[0]) if rank is not None else 0.0
            return one_step(label, len(W), bias, pushes, vector, transform="sigmoid", rank=rank, score=score)

    def _to_state(self) -> State:
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


def ova_settings(model: EncodedModel, n_rows: int, **more: Any) -> OvASettings:
    """What an `OvATask` needs to know, for so many rows."""
    return OvASettings(
        dropout=model.dropout, batch_size=model._batch_size(n_rows), epochs=model.epochs,
        learning_rate=model.learning_rate,
        encoder_learning_rate=model.encoder_learning_rate or model.encoder.usual_rate,
        weight_decay=model.weight_decay, swa_start=model.swa_start, seed=model.seed, threads=model.threads, **more,
    )  # fmt: skip
