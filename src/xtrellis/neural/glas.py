"""`Glas`: inputs and labels embedded in one space, the label vectors shaped by how labels occur together.

Guo et al., "Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces" (NeurIPS 2019).
Training needs torch (extra `deep`); a trained model does not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays import as_features, as_labels, as_pairs, as_rows
from ..checks import choice, flag, integer, number, text
from ..config import param
from ..errors import InputError, StoreError, TrainingError
from ..model import Model, check_k
from ..rng import generator
from ..store import State, Storable
from ..types import Csr, Float32, Int32, TopK
from .ann import LabelIndex
from .curves import from_array, to_array
from .extra import device_of, import_torch
from .given import as_scores, products
from .glas_task import GlasTask, Settings
from .losses import LOSSES
from .network import Network, exact
from .regularizers import REGULARIZERS
from .similarity import SIMILARITIES
from .training import Curves, Loop

if TYPE_CHECKING:
    from typing_extensions import Self

SEARCHES = ("auto", "exact", "ann")
MANY_LABELS = 50_000  # from here on "auto" searches an index
MOST_ROWS, LEAST_ROWS, STEPS = 4096, 128, 32  # of a batch; steps of an epoch that small data should have
MOST_HELD_OUT = 5000
FREE = ("threads", "device", "search", "beam")  # parameters that may change between a stop and going on


class Glas(Model):
    """Embeddings of inputs and labels; a label's score is their cosine."""

    dim: int = param(integer(at_least=1), "length of the embeddings", default=256)
    hidden: str = param(
        choice("relu", "linear"),
        "what is added to the sum of a row's feature embeddings: a layer of ReLUs, or nothing",
        default="relu",
    )
    loss: str = param(
        choice(*LOSSES),
        "all labels of the batch as negatives, the hardest of them, or cross-entropy",
        default="negative-mining",
    )
    gap: float = param(number(above=0), "by how much a label should score above a negative", default=0.5)
    hardest: int = param(integer(at_least=1), "negatives a row that negative mining looks at", default=10)
    regularizer: str | None = param(
        choice(*REGULARIZERS, or_none=True), "what shapes the label vectors", default="glas"
    )
    similarity: str = param(
        choice(*SIMILARITIES), "how alike labels are that occur together, for glas and laplacian", default="arithmetic"
    )
    weight: float = param(number(at_least=0), "weight of the regulariser against the loss (λ)", default=10.0)
    input_dropout: float = param(
        number(above=0, at_most=1), "probability that a feature of a training row is kept", default=0.8
    )
    weight_norm: bool = param(flag(), "feature weights of all outputs share one trainable length", default=True)
    start: str = param(
        choice("centroids", "random"),
        "where label vectors begin: at the mean of their rows, or anywhere",
        default="centroids",
    )
    negatives: int = param(integer(at_least=0), "labels drawn for a batch beside those of its rows", default=1000)
    batch: int | None = param(
        integer(at_least=1, or_none=True), "rows in a batch; None: up to 4096, fewer for small data", default=None
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most", default=10)
    learning_rate: float = param(number(above=0), "first step of an embedding; falls to 0 over the epochs", default=0.2)
    holdout: float = param(
        number(at_least=0, at_most=0.5),
        "share of rows (5000 at most) to choose the best epoch by; 0 for none",
        default=0.05,
    )
    early_stopping: int | None = param(
        integer(at_least=1, or_none=True), "epochs without gain on held-out rows before stopping", default=3
    )
    search: str = param(
        choice(*SEARCHES),
        "compare with every label, or ask an index; auto: an index for 50,000 labels or more",
        default="auto",
    )
    beam: int = param(
        integer(at_least=1), "labels that a search of the index compares exactly; more is surer", default=256
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    device: str = param(text(), "where torch computes: auto, cpu, cuda …", default="auto", stored=False)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _network: Network | None = None
    _index: LabelIndex | None = None
    _curves: Curves = []  # noqa: RUF012 - never changed, only replaced

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._network is not None

    @property
    def network(self) -> Network:
        """The trained arrays."""
        self._require_fitted()
        return cast(Network, self._network)

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.network.n_labels

    @property
    def curves(self) -> Curves:
        """One entry an epoch: loss, regularizer, train_p1, and held_out_p1 if rows were held out."""
        self._require_fitted()
        return self._curves

    def fit(self, X: Any, Y: Any, *, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Learn from n×d features and n×L labels.

        `checkpoint` names a folder that the state after every epoch is written to. If it holds that of a training of
        the same data with the same parameters, this one goes on from there and ends with the same model. It is deleted
        at the end. Should the loss become NaN, a TrainingError says so and the model keeps its best state before that.
        """
        torch = import_torch("training a Glas")
        device = device_of(torch, self.device)
        X, Y = self._door(X, Y)
        train, held_out = self._split(Y)
        task = GlasTask(X, Y, train, held_out, self._settings(len(train)), torch, device)
        loop = Loop(task, epochs=self.epochs, patience=self.early_stopping, rows=len(task.batches.rows))
        params = {name: value for name, value in self.to_config()["params"].items() if name not in FREE}
        try:
            loop.run(checkpoint=checkpoint, params=params, data={"X": X, "Y": Y})
        except TrainingError:
            if loop.curves:
                self._finish(task, loop, X, Y, train)
            raise
        self._finish(task, loop, X, Y, train)
        return self

    def _finish(self, task: GlasTask, loop: Loop, X: Csr, Y: Csr, train: Int32) -> None:
        network = task.network()
        # What no row had was never trained: its random vectors would only add noise.
        network.W[task.embedding.sums == 0] = 0
        network.V[np.bincount(Y.indices, minlength=int(Y.shape[1])) == 0] = 0
        wants = self.search == "ann" or (self.search == "auto" and network.n_labels >= MANY_LABELS)
        index = LabelIndex.build(network.V, threads=self.threads) if wants else None
        self._network, self._index, self._curves = network, index, loop.curves

    def _door(self, X: Any, Y: Any) -> tuple[Csr, Csr]:
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        if X.shape[0] == 0 or Y.shape[1] == 0:
            raise InputError(
                f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels"
            )
        if Y.nnz == 0:
            raise InputError("training needs at least one row with a label; Y is empty")
        return X, Y

    def _split(self, Y: Csr) -> tuple[Int32, Int32]:
        """Rows to train on and rows to choose the epoch by; both have labels."""
        rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
        held = min(int(self.holdout * len(rows)), MOST_HELD_OUT)
        order = generator(self.seed, "holdout").permutation(len(rows))
        return np.sort(rows[order[held:]]), np.sort(rows[order[:held]])

    def _settings(self, n: int) -> Settings:
        # Embeddings need some hundred steps to settle: small data gets small batches.
        batch = self.batch or min(MOST_ROWS, max(LEAST_ROWS, n // STEPS))
        return Settings(
            dim=self.dim, hidden=self.hidden, loss=self.loss, gap=self.gap, hardest=self.hardest,
            regularizer=self.regularizer, similarity=self.similarity, weight=self.weight,
            input_dropout=self.input_dropout, negatives=self.negatives, batch=batch, epochs=self.epochs,
            learning_rate=self.learning_rate, weight_norm=self.weight_norm, start=self.start,
            seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def embed(self, X: Any) -> Float32:
        """The rows as unit vectors, n×dim; `label_vectors` lie in the same space."""
        network = self.network
        return network.embed(as_rows(X, n_features=network.n_features), threads=self.threads)

    @property
    def label_vectors(self) -> Float32:
        """One unit vector a label (0 for labels without rows)."""
        return self.network.V

    def predict(self, X: Any, k: int = 10) -> TopK:
        """The k best labels of each row, by cosine."""
        network, k = self.network, check_k(k)
        rows = as_rows(X, n_features=network.n_features)
        queries = network.embed(rows, threads=self.threads)
        if self._index is not None and self.search != "exact":
            found = self._index.search(queries, network.V, k, beam=self.beam, threads=self.threads)
        else:
            found = exact(queries, network.V, k, threads=self.threads)
        return TopK(*found, network.n_labels)

    def score(self, X: Any, labels: Any) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        network = self.network
        queries = network.embed(as_rows(X, n_features=network.n_features), threads=self.threads)
        wanted = as_pairs(labels, n_rows=len(queries), n_labels=network.n_labels)
        return as_scores(products(queries, network.V, wanted, threads=self.threads), wanted)

    def to_state(self) -> State:
        """For the store."""
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
        shapes = {"features": (len(W), dim), "bias": (dim,), "mix": (dim, dim), "labels": (len(V), dim)}
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
        model._network = Network(W, b, M if relu else None, V)
        model._index = index
        model._curves = from_array(state.arrays.get("curves", np.zeros((0, 5))))
        return model
