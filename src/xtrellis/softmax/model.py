"""`SoftmaxTree`: averaged embeddings with hierarchical softmax over any label tree (fastText's `hs` and beyond)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import progress
from ..arrays import as_features, as_labels, as_pairs, as_rows
from ..checks import choice, flag, integer, number, part
from ..config import param
from ..errors import InputError, StoreError
from ..index import Index, InterpolatedTree, LabelTree
from ..labels import LabelSpace
from ..model import Model, check_k, check_label_ids
from ..store import State
from ..types import Csr, TopK
from .estimate import SoftmaxEstimate, estimate
from .network import WEIGHINGS, Network
from .training import Descent, enough_epochs, train

if TYPE_CHECKING:
    from typing_extensions import Self


class SoftmaxTree(Model):
    """Each feature has a vector, a row is their mean, each node of the tree decides by it where to go.

    Scores are probabilities: over all labels they sum to 1.
    """

    index: Index = param(part(Index), "builds the label tree", default=InterpolatedTree(arity=4, max_leaf=1))
    dim: int = param(integer(at_least=1, at_most=4096), "length of the vectors", default=100)
    epochs: int | None = param(
        integer(at_least=1, or_none=True),
        "passes over the rows; None for 10, and more where rows are few",
        default=None,
    )
    rate: float = param(number(above=0), "learning rate at the start; it falls to 0 in a straight line", default=0.3)
    targets: str = param(
        choice("one", "all"), "what a row learns in a pass: one of its labels at random, or all of them", default="one"
    )
    weighing: str = param(
        choice(*WEIGHINGS),
        "how a row's vectors are added: their mean, the mean by value, or the sum by values of unit length",
        default="unit",
    )
    bias: float = param(number(at_least=0), "weight of the constant feature; 0 for none", default=1.0)
    batch: int = param(
        integer(at_least=1, at_most=4096), "visits whose steps are computed from the same vectors", default=8
    )
    asynchronous: bool = param(
        flag(), "threads share rows and write without waiting: other results every time", default=False
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _network: Network | None = None

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._network is not None

    @property
    def network(self) -> Network:
        """The trained vectors and their tree."""
        self._require_fitted()
        if self._network is None:
            raise RuntimeError("a fitted model has a network")
        return self._network

    @property
    def tree(self) -> LabelTree:
        """The label tree."""
        return self.network.tree

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.tree.n_labels

    def fit(self, X: Any, Y: Any, *, label_features: Any = None) -> Self:
        """Learn from n×d features and n×L labels; `label_features` (L×any) help to place the labels in the tree."""
        X, Y = self._door(X, Y)
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        labels = LabelSpace(X, Y, features=label_features, normalize_rows=True, threads=self.threads)
        tree = self.index.build(labels, seed=self.seed)
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        del labels  # its vectors are large
        self._network = train(X, Y, tree, self._descent(Y), threads=self.threads)
        return self

    def estimate(self, X: Any, Y: Any) -> SoftmaxEstimate:
        """What `fit` will take: memory and size of the model. Quick and rough."""
        X, Y = self._door(X, Y)
        return estimate(X, Y, self.dim, self.index)

    def _door(self, X: Any, Y: Any) -> tuple[Csr, Csr]:
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        if X.shape[0] == 0 or Y.shape[1] == 0:
            raise InputError(
                f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels"
            )
        return X, Y

    def _descent(self, Y: Csr) -> Descent:
        return Descent(
            dim=int(self.dim),
            epochs=self.epochs or enough_epochs(Y, self.targets),
            rate=float(self.rate),
            targets=self.targets,
            weighing=self.weighing,
            bias=float(self.bias),
            batch=int(self.batch),
            asynchronous=self.asynchronous,
            seed=self.seed,
        )

    def predict(self, X: Any, k: int = 10, *, labels: Any = None) -> TopK:
        """The k most probable labels of each row, exactly. `labels` (ids) restricts the answers to some."""
        network, k = self.network, check_k(k)
        rows = as_rows(X, n_features=network.n_features)
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        return network.search(rows, k, labels=wanted, threads=self.threads)

    def score(self, X: Any, labels: Any) -> Csr:
        """Probabilities of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        rows = as_rows(X, n_features=self.network.n_features)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        return self.network.score(rows, wanted, threads=self.threads)

    def to_state(self) -> State:
        """For the store."""
        return State(parts={"network": self.network})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model, network = cls(**params), state.parts.get("network")
        if not isinstance(network, Network) or len(state.parts) != 1 or state.arrays:
            raise StoreError("a SoftmaxTree holds one part, 'network', which is a Network")
        model._network = network
        return model
