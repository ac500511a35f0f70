"""`Glas`: inputs and labels embedded in one space, the label vectors shaped by how labels occur together.

Guo et al., "Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces" (NeurIPS 2019).
Training needs torch (extra `deep`); a trained model does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ...arrays import Array, Csr, Float32, Int32, TopK, as_pairs
from ...core import StoreError, TrainingError, choice, flag, generator, integer, number, param, progress, text
from ...data import TrainingData
from ...explain import Explanation, one_step, rank_of, strongest
from ...labels import prior_offsets
from ...model import Estimate, FeatureModel, check_k, check_label
from ...store import Stages, State, Storable
from ..scoring import as_scores, exact, products
from ..training import Curves, Loop, SteadyLoop, device_of, from_array, import_torch, to_array
from .losses import LOSSES
from .network import EmbeddingNetwork
from .regularizers import REGULARIZERS
from .search import LabelIndex
from .similarity import SIMILARITIES
from .start import STARTS
from .task import GlasSettings, GlasTask

if TYPE_CHECKING:
    from typing_extensions import Self

SEARCHES = ("auto", "exact", "ann")
MANY_LABELS = 50_000  # from here on "auto" searches an index
MOST_ROWS, LEAST_ROWS, STEPS = 4096, 128, 32  # of a batch; steps of an epoch that small data should have
MOST_VALIDATION = 5000


class Glas(FeatureModel):
    """Embeddings of inputs and labels; a label's score is their cosine, less what its frequency takes (`prior`).

    Labels of equal scores are ordered by id.
    """

    keeps_checkpoints: ClassVar[Literal[True]] = True
    needs_labels = True

    dim: int = param(integer(at_least=1, at_most=2**14), "length of the embeddings", default=512)
    hidden: str = param(
        choice("relu", "relu-only", "linear"),
        "what becomes of the sum of a row's feature embeddings: a layer of ReLUs is added to it; it is cut off at 0, "
        "as in the paper; nothing",
        default="linear",
    )
    loss: str = param(
        choice(*LOSSES),
        "all labels of the batch as negatives, the hardest of them, or cross-entropy",
        default="negative-mining",
    )
    margin: float = param(number(above=0), "by how much a label should score above a negative", default=0.5)
    n_hard_negatives: int = param(integer(at_least=1), "negatives per row that negative mining looks at", default=10)
    regularizer: str | None = param(
        choice(*REGULARIZERS, or_none=True), "what shapes the label vectors", default="glas"
    )
    similarity: str = param(
        choice(*SIMILARITIES), "how alike labels are that occur together, for glas and laplacian", default="arithmetic"
    )
    regularizer_weight: float = param(
        number(at_least=0), "weight of the regulariser against the loss (λ)", default=100.0
    )
    input_dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a training row's features that are dropped", default=0.0
    )
    dropout_scale: str = param(
        choice("none", "share", "length"),
        "how the features that are left make up for dropped ones: not at all, by 1/(1 − input_dropout), or so that the "
        "row keeps its length",
        default="none",
    )
    scale: float = param(
        number(above=0), "what cosines are multiplied with in a softmax at first; it is trained", default=20.0
    )
    prior: float | None = param(
        number(or_none=True),
        "by how much the logarithm of a label's frequency lowers its score: above 0 rare labels are answered more "
        "often, below 0 frequent ones; None: held-out rows choose, for rare labels where precision allows",
        default=None,
    )
    label_terms: str = param(
        choice("none", "bias", "bias and length"),
        "what is trained for each label beside the direction of its vector: nothing, what is added to its scores, or "
        "that and the length of its vector",
        default="none",
    )
    weight_norm: bool = param(flag(), "feature weights of all outputs share one trainable length", default=True)
    init: str = param(
        choice(*STARTS),
        "where label vectors begin: at the mean of their rows, or anywhere",
        default="centroids",
    )
    n_negatives: int = param(integer(at_least=0), "labels drawn for a batch beside those of its rows", default=1000)
    batch_size: int | None = param(
        integer(at_least=1, or_none=True), "rows in a batch; None: up to 4096, fewer for small data", default=None
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most", default=10)
    learning_rate: float = param(number(above=0), "first step of an embedding; falls to 0 over the epochs", default=0.2)
    holdout: float = param(
        number(at_least=0, at_most=0.5),
        "share of rows (5000 at most) that epoch and prior are chosen by; 0: all epochs, and a prior of 0",
        default=0.05,
    )
    refit: bool = param(
        flag(), "once held-out rows have chosen, train again on all rows: twice the time", default=False
    )
    patience: int | None = param(
        integer(at_least=1, or_none=True),
        "epochs without gain on validation rows before stopping early; None: never",
        default=None,
    )
    search: str = param(
        choice(*SEARCHES),
        "compare with every label, or ask an index; auto: an index for 50,000 labels or more",
        default="auto",
        role="search",
    )
    beam: int = param(
        integer(at_least=1),
        "labels that a search of the index compares exactly; more is surer",
        default=256,
        role="search",
    )
    device: str = param(text(), "where torch computes: auto, cpu, cuda …", default="auto", role="machine")

    _network: EmbeddingNetwork | None = None
    _index: LabelIndex | None = None
    _curves: Curves = []  # noqa: RUF012 - never changed, only replaced

    @property
    def network(self) -> EmbeddingNetwork:
        """The trained arrays."""
        self._require_fitted()
        return cast(EmbeddingNetwork, self._network)

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.network.n_labels

    @property
    def curves(self) -> Curves:
        """One entry per epoch: loss, regularizer, train_p1, and validation_p1 if rows were held out for it."""
        self._require_fitted()
        return self._curves

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        train, validation = self._split(data.Y)
        made_from = self.made_from(data) if checkpoint else {}
        task = self._task(data, train, validation)
        if not len(validation) or not self.refit:
            curves = self._run(task, self.epochs, checkpoint, made_from)
            self._finish(task, curves, task.choose_prior() if self.prior is None else self.prior)
            return
        with Stages(checkpoint, made_from) as stages:
            chosen = stages.arrays("choice", lambda at: self._choose(task, at, made_from))
            curves, epochs = from_array(chosen["curves"]), int(chosen["epochs"][0])
            progress.note(f"epoch {epochs} is kept; now all rows are trained on")
            whole = self._task(data, np.sort(np.concatenate([train, validation])), validation[:0])

            def state(at: Path | None) -> dict[str, Array]:
                self._run(whole, epochs, at, made_from)
                return whole.arrays()

            whole.restore(stages.arrays("all", state))
        self._finish(whole, curves, float(chosen["prior"][0]) if self.prior is None else self.prior)

    def _task(self, data: TrainingData, train: Int32, validation: Int32) -> GlasTask:
        torch = import_torch("training a Glas")
        device = device_of(torch, self.device)
        return GlasTask(data.X, data.Y, train, validation, self._settings(len(train)), torch, device)

    def _choose(self, task: GlasTask, checkpoint: Path | None, made_from: Mapping[str, Any]) -> dict[str, Array]:
        loop = self._loop(task, self.epochs)
        curves = self._run(task, self.epochs, checkpoint, made_from, loop)
        prior = task.choose_prior() if self.prior is None else self.prior
        return {"curves": to_array(curves), "epochs": np.array([loop.best_epoch() + 1]), "prior": np.array([prior])}

    def _loop(self, task: GlasTask, epochs: int) -> Loop:
        loop = SteadyLoop(task, epochs=epochs, patience=self.patience, rows=len(task.batches.rows))
        loop.n_validation = len(task.validation)
        return loop

    def _run(
        self,
        task: GlasTask,
        epochs: int,
        checkpoint: Path | None,
        made_from: Mapping[str, Any],
        loop: Loop | None = None,
    ) -> Curves:
        loop = loop or self._loop(task, epochs)
        try:
            loop.run(checkpoint=checkpoint, made_from=made_from)
        except TrainingError:
            if loop.curves:  # the model keeps its best state before that
                self._finish(task, loop.curves, self.prior or 0.0)
                self._remember_params()
            raise
        return loop.curves

    def _estimate(self, data: TrainingData) -> Estimate:
        vectors = 4 * self.dim * (data.n_features + data.n_labels + self.dim)
        codes = self.dim * data.n_labels // 4 if data.n_labels >= MANY_LABELS else 0
        return Estimate.of(
            data,
            training_bytes=3 * vectors + 8 * int(data.Y.nnz),  # trained, the best so far, and joined at the end
            model_bytes=vectors + codes,
        )

    def _finish(self, task: GlasTask, curves: Curves, prior: float) -> None:
        network = task.network()
        # What no row had was never trained: its random vectors would only add noise.
        network.W[task.embedding.sums == 0] = 0
        network.V[task.frequency == 0, : network.dim] = 0
        if prior:
            network = network.with_offsets(prior_offsets(task.frequency, prior))
        wants = self.search == "ann" or (self.search == "auto" and network.n_labels >= MANY_LABELS)
        index = LabelIndex.build(network.V, threads=self.threads) if wants else None
        vars(self).update(_network=network, _index=index, _curves=curves)  # at once, or Ctrl-C leaves a mixture

    def _split(self, Y: Csr) -> tuple[Int32, Int32]:
        """Rows to train on and rows to choose the epoch by; both have labels."""
        rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
        held = min(int(self.holdout * len(rows)), MOST_VALIDATION)
        order = generator(self.seed, "holdout").permutation(len(rows))
        return np.sort(rows[order[held:]]), np.sort(rows[order[:held]])

    def _settings(self, n: int) -> GlasSettings:
        # Embeddings need some hundred steps to settle: small data gets small batches.
        batch_size = self.batch_size or min(MOST_ROWS, max(LEAST_ROWS, n // STEPS))
        return GlasSettings(
            dim=self.dim, hidden=self.hidden, loss=self.loss, margin=self.margin,
            n_hard_negatives=self.n_hard_negatives, regularizer=self.regularizer, similarity=self.similarity,
            regularizer_weight=self.regularizer_weight, input_dropout=self.input_dropout,
            dropout_scale=self.dropout_scale, scale=self.scale,
            n_negatives=self.n_negatives, batch_size=batch_size, epochs=self.epochs,
            learning_rate=self.learning_rate, weight_norm=self.weight_norm, init=self.init,
            label_terms=self.label_terms, seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def embed(self, X: Any, *, texts: Sequence[str] | None = None) -> Float32:
        """The rows as unit vectors, n×dim; `label_vectors` lie in the same space."""
        network = self.network
        return network.embed(self._rows(X, network.n_features), threads=self.threads)

    @property
    def label_vectors(self) -> Float32:
        """One unit vector per label (0 for labels without rows)."""
        V = self.network.label_vectors
        return (
            V
            if self.label_terms != "bias and length"
            else V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), np.float32(1e-12))
        )

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row, by cosine and what `prior` adds to it."""
        network, k = self.network, check_k(k)
        rows = self._rows(X, network.n_features)
        queries = network.queries(rows, threads=self.threads)
        if self._index is not None and self.search != "exact":
            found = self._index.search(queries, network.V, k, beam=self.beam, threads=self.threads)
        else:
            found = exact(queries, network.V, k, threads=self.threads)
        return TopK(*found, network.n_labels)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        network = self.network
        queries = network.queries(self._rows(X, network.n_features), threads=self.threads)
        wanted = as_pairs(labels, n_rows=len(queries), n_labels=network.n_labels)
        return as_scores(products(queries, network.V, wanted, threads=self.threads), wanted)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets the label with this id: what each feature adds to the cosine, exactly."""
        network = self.network
        label, _ = check_label(label, label_counts, network.n_labels)
        row = self._row(x, network.n_features)
        with np.errstate(all="ignore"):  # a damaged model may hold anything
            top = self.predict(row, network.n_labels)
            rank, score = rank_of(top.labels[0], top.scores[0], label)
            bias, contributions = network.contributions(row, label)
            pushes = strongest(row.indices, row.data, contributions)
            return one_step(label, network.n_labels, bias, pushes, None, transform="identity", rank=rank, score=score)

    def _to_state(self) -> State:
        network = self.network
        arrays = {"features": network.W, "bias": network.b, "labels": network.V, "curves": to_array(self._curves)}
        if network.M is not None:
            arrays["mix"] = network.M
        parts: dict[str, Storable] = {} if self._index is None else {"index": self._index}
        return State(arrays=arrays, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        W, b, V = (state.arrays.get(name) for name in ("features", "bias", "labels"))
        dim = model.dim
        if W is None or b is None or V is None:
            raise StoreError("a Glas needs the arrays features, bias and labels")
        M = state.arrays.get("mix", np.zeros((dim, dim), np.float32))
        shapes = {
            "features": (len(W), dim),
            "bias": (dim,),
            "mix": (dim, dim),
            "labels": (len(V), dim + (V.shape[1:] == (dim + 1,))),
        }
        for (name, shape), array in zip(shapes.items(), (W, b, M, V), strict=True):
            if array.dtype != np.float32 or array.shape != shape:
                raise StoreError(f"{name} must be float32 of shape {shape}; got {array.dtype} {array.shape}")
        if not len(V):
            raise StoreError("labels must have at least one row")
        index = state.parts.get("index")
        if index is not None and not isinstance(index, LabelIndex):
            raise StoreError("the index of a Glas must be a LabelIndex")
        if index is not None and not index.fits(V):
            raise StoreError(
                f"the index must be of {len(V)} vectors of length {dim}; its codes are {index.codes.shape}"
            )
        relu = model.hidden == "relu"
        model._network = EmbeddingNetwork(W, b, M if relu else None, V, model.hidden == "relu-only")
        model._index = index
        model._curves = from_array(state.arrays.get("curves", np.zeros((0, 5))))
        return model
