"""`SoftmaxTree`: averaged embeddings with hierarchical softmax over any label tree (fastText's `hs` and beyond)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arrays import Csr, TopK, as_pairs
from ..core import StoreError, choice, integer, number, param, part, progress
from ..data import TrainingData
from ..explain import Explanation
from ..index import FlatTree, Index, InterpolatedTree, LabelTree, build_tree
from ..labels import LabelSpace
from ..model import Estimate, FeatureModel, check_k, check_label, check_label_ids
from ..store import State
from .explain import explain
from .network import WEIGHTINGS, SoftmaxNetwork
from .training import Descent, enough_epochs, train

if TYPE_CHECKING:
    from typing_extensions import Self


class SoftmaxTree(FeatureModel):
    """Each feature has a vector, a row is their mean, each node of the tree decides by it where to go.

    Scores are probabilities: over all labels they sum to 1. Labels of equal scores are ordered by id.
    """

    uses_label_features = True

    index: Index = param(part(Index), "builds the label tree", default=InterpolatedTree(arity=4, max_leaf=1))
    dim: int = param(integer(at_least=1, at_most=4096), "length of the vectors", default=100)
    epochs: int | None = param(
        integer(at_least=1, or_none=True),
        "passes over the rows; None for 10, and more where rows are few",
        default=None,
    )
    learning_rate: float = param(number(above=0), "first step; falls to 0 in a straight line", default=0.3)
    targets: str = param(
        choice("one", "all"), "what a row learns in a pass: one of its labels at random, or all of them", default="one"
    )
    weighting: str = param(
        choice(*WEIGHTINGS),
        "how a row's vectors are added: their mean, the mean by value, or the sum by values of unit length",
        default="unit",
    )
    bias: float = param(number(at_least=0), "weight of the constant feature; 0 for none", default=1.0)
    batch_size: int = param(
        integer(at_least=1, at_most=4096), "visits whose steps are computed from the same vectors", default=8
    )

    _network: SoftmaxNetwork | None = None

    @property
    def network(self) -> SoftmaxNetwork:
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

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        labels = LabelSpace(data, normalize_rows=True, threads=self.threads)
        tree = build_tree(self.index, labels, seed=self.seed)
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        self._network = train(data.X, data.Y, tree, self._descent(data.Y), threads=self.threads)

    def _estimate(self, data: TrainingData) -> Estimate:
        """A tree of two children a node has one vector less than it has labels; wider ones have somewhat more."""
        units = data.n_labels if isinstance(self.index, FlatTree) else 1.1 * data.n_labels
        model_bytes = int(4 * self.dim * (data.n_features + 1 + units))
        return Estimate.of(
            data,
            training_bytes=2 * model_bytes,  # the vectors are there twice when training ends
            model_bytes=model_bytes,
        )

    def _descent(self, Y: Csr) -> Descent:
        return Descent(
            dim=int(self.dim),
            epochs=self.epochs or enough_epochs(Y, self.targets),
            learning_rate=float(self.learning_rate),
            targets=self.targets,
            weighting=self.weighting,
            bias=float(self.bias),
            batch_size=int(self.batch_size),
            seed=self.seed,
        )

    def predict(self, X: Any, k: int = 10, *, labels: Any = None, texts: Sequence[str] | None = None) -> TopK:
        """The k most probable labels of each row, exactly. `labels` (ids) restricts the answers to some."""
        network, k = self.network, check_k(k)
        rows = self._rows(X, network.n_features)
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        return network.search(rows, k, labels=wanted, threads=self.threads)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Probabilities of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        rows = self._rows(X, self.network.n_features)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        return self.network.score(rows, wanted, threads=self.threads)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets the label with this id: what each feature adds to every decision on the way to it."""
        network = self.network
        label, counts = check_label(label, label_counts, self.n_labels)
        return explain(network, self._row(x, network.n_features), label, counts)

    def _to_state(self) -> State:
        return State(parts={"network": self.network})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model, network = cls(**params), state.parts.get("network")
        if not isinstance(network, SoftmaxNetwork) or len(state.parts) != 1 or state.arrays:
            raise StoreError("a SoftmaxTree holds one part, 'network', which is a SoftmaxNetwork")
        model._network = network
        return model
