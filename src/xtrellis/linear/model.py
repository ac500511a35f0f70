"""`LinearTree`: sparse linear classifiers over a label tree (XR-Linear, Parabel, Bonsai, one-vs-all)."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..arrays import as_features, as_labels, as_pairs, as_rows
from ..checks import choice, flag, integer, number, part, size
from ..config import param, same
from ..data import Dataset
from ..errors import InputError, ParameterError, StoreError
from ..index import BalancedTree, Index, LabelTree, Overlap
from ..index.overlap import Round
from ..model import Model, check_k, check_label_ids
from ..store import State, Storable
from ..types import Csr, TopK
from .copies import CopiesReport, copies_report
from .ensemble import search
from .estimate import Estimate, estimate
from .explain import asked_about, explain
from .explanation import Explanation
from .fitting import fit_trees
from .overlapping import read_round
from .packed import STORAGES, TRANSFORMS, PackedTree
from .routes import NEGATIVES
from .search import SEARCHES, SearchSettings, count_nodes, score_given
from .training import LOSSES, Negatives, SolverSettings
from .trials import Trial, read_trials, trials

if TYPE_CHECKING:
    from typing_extensions import Self


# Parameters that do not shape the trees, or that cannot differ from what shaped them.
AT_ONCE = ("beam", "memory_limit", "search", "slack", "storage", "threads", "transform")


class LinearTree(Model):
    """One linear classifier for every child of every node; a label's score is the product along its path.

    On a trained model `search`, `beam`, `slack`, `transform` and `threads` count at once. `storage` cannot be set
    (`stored_as` gives a copy). All others say what the next `fit` does; until then the model cannot be saved, since it
    would claim to be what it is not.
    """

    index: Index = param(part(Index), "builds the label tree", default=BalancedTree())
    overlap: Overlap | None = param(
        part(Overlap, or_none=True), "lets labels sit in several clusters; None for one each", default=None
    )
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
    normalize_label_rows: bool = param(flag(), "rows with many labels count less in the labels' vectors", default=True)
    transform: str = param(choice(*TRANSFORMS), "how a margin becomes a score", default="l3-hinge")
    n_trees: int = param(integer(at_least=1), "trees with different seeds, averaged", default=1)
    storage: str = param(
        choice(*STORAGES), "how weights are kept: exact, half or a quarter of the size", default="float32"
    )
    search: str = param(choice(*SEARCHES), "how labels are found; best-first without a beam is exact", default="beam")
    beam: int | None = param(
        integer(at_least=1, or_none=True), "nodes a level that search keeps; None for all", default=10
    )
    slack: float = param(
        number(at_least=0, at_most=1), "best-first: share of a score that may be lost to stop earlier", default=0.0
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable", default=0)
    memory_limit: int | str | None = param(
        size(or_none=True), "bytes that training may take, the data included; such as '4GB'", default=None, stored=False
    )
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _trees: tuple[PackedTree, ...] = ()
    _rounds: tuple[tuple[Round, ...], ...] = ()
    _trials: tuple[Trial, ...] = ()
    _trained_with: Mapping[str, Any] | None = None  # the parameters of the last fit

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("storage", "transform") and self._trees:
            self._params[name].check(name, value)
            if name == "storage" and value != self.storage:
                raise ParameterError(
                    f"storage of a trained model cannot be set from {self.storage!r} to {value!r}: use "
                    f"stored_as({value!r}) for a copy with its weights kept so, or clone() and fit for a new training"
                )
            if name == "transform" and value != self.transform:
                self._trees = tuple(tree.scored_by(value) for tree in self._trees)
        super().__setattr__(name, value)

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
    def overlap_rounds(self) -> tuple[tuple[Round, ...], ...]:
        """What overlapping did, tree by tree and round by round; empty without it."""
        self._require_fitted()
        return self._rounds

    @property
    def overlap_trials(self) -> tuple[Trial, ...]:
        """Precision on held-out rows after 0, 1, … rounds; empty without `overlap.held_out`."""
        self._require_fitted()
        return self._trials

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
        tried = trials(self, X, Y, label_features)
        self._trees, self._rounds = fit_trees(self, X, Y, label_features, checkpoint)
        self._trials = tried
        self._trained_with = self._snapshot()
        return self

    def _snapshot(self) -> dict[str, Any]:
        """The parameters as they are now; parts are copied, since theirs can be set one by one."""
        return {name: copy.copy(value) for name, value in self.get_params(deep=False).items()}

    def estimate(self, X: Any, Y: Any, *, label_features: Any = None) -> Estimate:
        """What `fit` will take: memory, size of the model, classifiers. Quick and rough."""
        X, Y = self._door(X, Y)
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        return estimate(X, Y, self, label_features)

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

    def predict(self, X: Any, k: int = 10, *, labels: Any = None) -> TopK:
        """The k best labels of each row; several trees are averaged. `labels` (ids) restricts the answers to some."""
        trees, k = self.trees, check_k(k)
        rows = as_rows(X, n_features=trees[0].n_features)
        settings = SearchSettings(self.search, self.beam or 0, self.slack)
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        return search(trees, rows, k, settings, labels=wanted, threads=self.threads)

    def count_nodes(self, X: Any, k: int = 10) -> float:
        """How many nodes a single query looks into: the mean over rows. What its time grows with."""
        trees, k = self.trees, min(check_k(k), self.n_labels)
        rows = as_rows(X, n_features=trees[0].n_features)
        return count_nodes(trees, rows, k, SearchSettings(self.search, self.beam or 0, self.slack))

    def score(self, X: Any, labels: Any) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        rows = as_rows(X, n_features=self.trees[0].n_features)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        return score_given(self.trees, rows, wanted, threads=self.threads)

    def stored_as(self, storage: str) -> Self:
        """A copy of the fitted model with its weights kept as `float32`, `float16` or `int8`."""
        other = self.clone().set_params(storage=storage)
        other._trees = tuple(tree.stored_as(storage) for tree in self.trees)
        other._rounds, other._trials = self._rounds, self._trials
        other._trained_with = self._trained_with
        return other

    def explain(self, x: Any, label: int, *, label_counts: Any = None) -> Explanation:
        """Why row `x` (sparse or dense, 1×d or d) gets label number `label`, or why not: margins feature by feature.

        `label_counts` (rows a label in training) only helps to choose the labels that stand for a cluster.
        """
        trees = self.trees
        label, counts = asked_about(label, label_counts, self.n_labels)
        return explain(trees, x, label, beam=self.beam, search=self.search, label_counts=counts)

    def copies(self, dataset: Dataset, *, X: Any = None, tree: int = 0, **options: Any) -> CopiesReport:
        """Which rows of `dataset` each place of a label wins (`linear.copies_report` has the options).

        Labels are in the model's numbering; `X` are the rows' features if the data set has only texts.
        """
        packed = self.trees[tree]
        rows = as_rows(dataset.X if X is None else X, n_features=packed.n_features)
        return copies_report(packed, rows, dataset, threads=self.threads, **options)

    def to_state(self) -> State:
        """For the store; refuses parameters that the trees were not made with."""
        for name in self._params:
            if name in AT_ONCE or self._trained_with is None:
                continue
            now, then = getattr(self, name), self._trained_with[name]
            if not same(now, then):
                raise StoreError(
                    f"{name} was set to {now!r:.80} after training with {then!r:.80}; saved, it would not be what it "
                    f"says: fit again, or set it back"
                )
        parts: dict[str, Storable] = {f"tree{i}": tree for i, tree in enumerate(self.trees)}
        meta: dict[str, Any] = {"n_trees": len(self.trees)}
        if any(self._rounds):
            meta["overlap_rounds"] = [[asdict(told) for told in rounds] for rounds in self._rounds]
        if self._trials:
            meta["overlap_trials"] = list(self._trials)
        return State(meta=meta, parts=parts)

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
        rounds = state.meta.get("overlap_rounds", [])
        if not isinstance(rounds, list) or not all(isinstance(tree, list) for tree in rounds):
            raise StoreError("overlap_rounds must be a list for each tree")
        model._rounds = tuple(tuple(read_round(told) for told in tree) for tree in rounds)
        model._trials = read_trials(state.meta.get("overlap_trials", []))
        model._trees = packed
        model._trained_with = model._snapshot()
        return model
