"""`LinearTree`: sparse linear classifiers over a label tree (XR-Linear, Parabel, Bonsai, one-vs-all)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import progress
from .._native import search as native
from ..arrays import as_features, as_labels
from ..checks import choice, flag, integer, number, part
from ..config import param
from ..errors import InputError, StoreError
from ..index import BalancedTree, Index, LabelTree
from ..labels import LabelSpace
from ..model import Model, check_k
from ..parallel import run, spans, thread_count
from ..store import State
from ..types import TopK
from .training import LOSSES, Routes, SolverSettings, train_blocks
from .weights import TRANSFORMS, PackedWeights

if TYPE_CHECKING:
    from typing_extensions import Self


class LinearTree(Model):
    """One linear classifier for every child of every node; a label's score is the product along its path."""

    index: Index = param(part(Index), "builds the label tree", default=BalancedTree())
    loss: str = param(choice(*LOSSES), "what a classifier minimises, with L2 regularisation", default="squared-hinge")
    cost: float = param(number(above=0), "weight of the loss against the regulariser (C)", default=1.0)
    positive_weight: float = param(
        number(above=0), "how much more a positive row counts than a negative one", default=1.0
    )
    tolerance: float = param(
        number(above=0), "a classifier is solved when its gradients agree within this", default=0.1
    )
    max_epochs: int = param(integer(at_least=1), "passes over a node's rows at most", default=100)
    bias: float = param(number(at_least=0), "value of the constant feature; 0 for none", default=1.0)
    prune: float = param(number(at_least=0), "smaller absolute weights are dropped", default=0.1)
    max_weights: int | None = param(
        integer(at_least=1, or_none=True), "weights a classifier keeps at most", default=None
    )
    normalize_label_rows: bool = param(flag(), "rows with many labels count less in the labels' vectors", default=False)
    transform: str = param(choice(*TRANSFORMS), "how a margin becomes a score", default="l3-hinge")
    beam: int = param(integer(at_least=1), "nodes a level that search keeps", default=10)
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    threads: int | None = param(integer(at_least=1, or_none=True), "threads; None for all cores", default=None)

    _weights: PackedWeights | None = None

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._weights is not None

    @property
    def weights(self) -> PackedWeights:
        """The trained weights."""
        self._require_fitted()
        assert self._weights is not None  # for type checkers
        return self._weights

    @property
    def tree(self) -> LabelTree:
        """The label tree."""
        return self.weights.tree

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.tree.n_labels

    def fit(self, X: Any, Y: Any, *, label_features: Any = None) -> Self:
        """Learn from n×d features and n×L labels; `label_features` (L×any) help to place the labels in the tree."""
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        if X.shape[0] == 0 or Y.shape[1] == 0:
            raise InputError(
                f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels"
            )
        labels = LabelSpace(
            X, Y, features=label_features, normalize_rows=self.normalize_label_rows, threads=self.threads
        )
        tree = self.index.build(labels, seed=self.seed)
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        settings = SolverSettings(
            loss=self.loss,
            cost_positive=self.cost * self.positive_weight,
            cost_negative=self.cost,
            tolerance=self.tolerance,
            epochs=self.max_epochs,
            bias=self.bias,
            prune=self.prune,
            max_weights=self.max_weights or 0,
        )
        blocks = train_blocks(X, tree, Routes.by_labels(Y, tree), settings, seed=self.seed, threads=self.threads)
        self._weights = PackedWeights.pack(tree, blocks, int(X.shape[1]), self.transform)
        return self

    def predict(self, X: Any, k: int = 10) -> TopK:
        """The k best labels of each row, by beam search."""
        weights, k = self.weights, check_k(k)
        X = as_features(X, n_features=weights.n_features)
        n = int(X.shape[0])
        width = min(k, weights.tree.n_labels)
        labels, scores = np.empty((n, width), np.int32), np.empty((n, width), np.float32)
        if n == 1:
            native.single(weights.native, X.indices, X.data, self.beam, labels[0], scores[0])
            return TopK(labels, scores, weights.tree.n_labels)

        def search(span: tuple[int, int]) -> None:
            native.batch(weights.native, X.indptr, X.indices, X.data, X.shape[1], *span, self.beam, labels, scores)

        threads = thread_count(self.threads)
        pieces = spans(n, max(threads, -(-n // 8192)), at_least=64)
        with progress.step("searching", total=n, unit="rows") as advance:
            run(search, pieces, threads=threads, done=lambda i: advance(pieces[i][1] - pieces[i][0]))
        return TopK(labels, scores, weights.tree.n_labels)

    def to_state(self) -> State:
        """For the store."""
        weights = self.weights
        return State(
            meta={"n_features": weights.n_features, "n_labels": weights.tree.n_labels},
            arrays=dict(weights.arrays),
            parts={"tree": weights.tree},
        )

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        tree = state.parts["tree"]
        if not isinstance(tree, LabelTree):
            raise StoreError("a LinearTree needs a part 'tree' that is a LabelTree")
        n_features = state.meta["n_features"]
        if not isinstance(n_features, int) or not 0 <= n_features < 2**31:
            raise StoreError(f"n_features must be a number from 0 to 2147483647; got {n_features!r}")
        model._weights = PackedWeights(tree, state.arrays, n_features, model.transform)
        return model
