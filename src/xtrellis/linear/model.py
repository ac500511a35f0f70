"""`LinearTree`: sparse linear classifiers over a label tree (XR-Linear, Parabel, Bonsai, one-vs-all)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..arrays import as_features, as_labels
from ..checks import choice, flag, integer, number, part, size
from ..config import param
from ..errors import InputError, StoreError
from ..index import BalancedTree, Index, LabelTree
from ..model import Model, check_k
from ..store import State, Storable
from ..types import Csr, TopK
from .estimate import Estimate, estimate
from .fitting import fit_trees
from .packed import TRANSFORMS, PackedTree
from .routes import NEGATIVES
from .search import search
from .training import LOSSES, Negatives, SolverSettings

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
    negatives: str = param(
        choice(*NEGATIVES),
        "rows a node is trained on: those with a label below it, those that search leads there, or both",
        default="teacher",
    )
    negative_beam: int = param(
        integer(at_least=1), "nodes a level that search keeps when it looks for negatives", default=10
    )
    bias: float = param(number(at_least=0), "value of the constant feature; 0 for none", default=1.0)
    prune: float = param(number(at_least=0), "smaller absolute weights are dropped", default=0.1)
    max_weights: int | None = param(
        integer(at_least=1, or_none=True), "weights a classifier keeps at most", default=None
    )
    normalize_label_rows: bool = param(flag(), "rows with many labels count less in the labels' vectors", default=False)
    transform: str = param(choice(*TRANSFORMS), "how a margin becomes a score", default="l3-hinge")
    n_trees: int = param(integer(at_least=1), "trees with different seeds, averaged", default=1)
    beam: int = param(integer(at_least=1), "nodes a level that search keeps", default=10)
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    memory_limit: int | str | None = param(
        size(or_none=True), "bytes that training may take, the data included; such as '4GB'", default=None
    )
    threads: int | None = param(integer(at_least=1, or_none=True), "threads; None for all cores", default=None)

    _trees: tuple[PackedTree, ...] = ()

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return bool(self._trees)

    @property
    def trees(self) -> tuple[PackedTree, ...]:
        """The trained trees, one or more."""
        self._require_fitted()
        return self._trees

    @property
    def tree(self) -> LabelTree:
        """The label tree (of several, the first)."""
        return self.trees[0].tree

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.tree.n_labels

    def fit(
        self, X: Any, Y: Any, *, label_features: Any = None, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Learn from n×d features and n×L labels; `label_features` (L×any) help to place the labels in the tree.

        `checkpoint` names a folder that finished work is written to. If it holds that of a training of the same data
        with the same parameters, this one goes on from there and ends with the same model. It is deleted at the end.
        """
        X, Y = self._door(X, Y)
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        self._trees = fit_trees(self, X, Y, label_features, checkpoint)
        return self

    def estimate(self, X: Any, Y: Any) -> Estimate:
        """What `fit` will take: memory, size of the model, classifiers. Quick and rough."""
        X, Y = self._door(X, Y)
        return estimate(X, Y, self)

    def _door(self, X: Any, Y: Any) -> tuple[Csr, Csr]:
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        if X.shape[0] == 0 or Y.shape[1] == 0:
            raise InputError(
                f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels"
            )
        return X, Y

    def negative_rows(self) -> Negatives:
        """Which rows a node is trained on."""
        return Negatives(self.negatives, self.negative_beam, self.transform)

    def solver(self) -> SolverSettings:
        """What the solver needs to know."""
        return SolverSettings(
            loss=self.loss,
            cost_positive=self.cost * self.positive_weight,
            cost_negative=self.cost,
            tolerance=self.tolerance,
            epochs=self.max_epochs,
            bias=self.bias,
            prune=self.prune,
            max_weights=self.max_weights or 0,
        )

    def predict(self, X: Any, k: int = 10) -> TopK:
        """The k best labels of each row; several trees are averaged."""
        trees, k = self.trees, check_k(k)
        X = as_features(X, n_features=trees[0].n_features)
        return search(trees, X, k, beam=self.beam, threads=self.threads)

    def to_state(self) -> State:
        """For the store."""
        parts: dict[str, Storable] = {f"tree{i}": tree for i, tree in enumerate(self.trees)}
        return State(meta={"n_trees": len(self.trees)}, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        trees = [state.parts[f"tree{i}"] for i in range(len(state.parts))]
        if not trees or len(trees) != state.meta.get("n_trees"):
            raise StoreError(f"a LinearTree needs as many parts as it has trees; got {len(trees)}")
        packed = tuple(tree for tree in trees if isinstance(tree, PackedTree))
        if len(packed) != len(trees):
            raise StoreError("the parts of a LinearTree must be PackedTrees")
        if len({(tree.n_features, tree.tree.n_labels) for tree in packed}) != 1:
            raise StoreError("the trees of a LinearTree must agree in their numbers of features and labels")
        model._trees = packed
        return model
