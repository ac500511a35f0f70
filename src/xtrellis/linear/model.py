"""`LinearTree`: sparse linear classifiers over a label tree (XR-Linear, Parabel, Bonsai, one-vs-all)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..arrays import Array, Csr, Int64, Rows, TopK, as_pairs
from ..core import ParameterError, StoreError, choice, flag, integer, number, param, part, size
from ..data import TrainingData
from ..explain import Explanation
from ..index import BalancedTree, Index, LabelTree, Overlap, OverlapRound
from ..labels import prior_offsets
from ..model import FeatureModel, check_k, check_label, check_label_ids
from ..store import State, Storable
from .blocks import STORAGES
from .estimate import LinearEstimate, estimate
from .explain import explain
from .fit import fit_trees
from .living import check_seen, update_trees
from .overlap import read_round
from .packed import BY_ID, EVEN, TRANSFORMS, PackedTree
from .routes import NEGATIVES
from .search import SEARCHES, SearchSettings, count_nodes, score_given, search_one
from .several import Several, search
from .several import search_one as search_one_in_several
from .train import LOSSES, Negatives, SolverSettings

if TYPE_CHECKING:
    from typing_extensions import Self


COUNTS = "label_counts"  # the array of a stored model


class LinearTree(FeatureModel):
    """One linear classifier for every child of every node; a label's score is the product along its path.

    On a trained model `search`, `beam`, `slack`, `prior`, `transform` and `threads` count at once. `storage` cannot be
    set (`stored_as` gives a copy). All others say what the next `fit` does; until then the model cannot be saved, since
    it would claim to be what it is not. Labels of equal scores are ordered by their logarithms, which search compares,
    then by training frequency, then by id.
    """

    keeps_checkpoints: ClassVar[Literal[True]] = True
    _learned = "_trees"
    uses_label_features = True
    uses_sample_weight = True
    uses_engine = True

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
        integer(at_least=1), "nodes per level that search keeps when it looks for negatives", default=10
    )
    bias: float = param(number(at_least=0), "value of the constant feature; 0 for none", default=1.0)
    prune: float = param(number(at_least=0), "smaller absolute weights are dropped", default=0.1)
    max_weights: int | None = param(
        integer(at_least=1, or_none=True), "weights a classifier keeps at most", default=None
    )
    normalize_label_rows: bool = param(flag(), "rows with many labels count less in the labels' vectors", default=True)
    transform: str = param(choice(*TRANSFORMS), "how a margin becomes a score", default="l3-hinge", role="fit+search")
    n_trees: int = param(integer(at_least=1, at_most=1000), "trees with different seeds, averaged", default=1)
    storage: str = param(
        choice(*STORAGES), "how weights are kept: exactly, or in half or a quarter of the size", default="float16"
    )
    search: str = param(
        choice(*SEARCHES), "how labels are found; best-first without a beam is exact", default="beam", role="search"
    )
    beam: int | None = param(
        integer(at_least=1, or_none=True), "nodes per level that search keeps; None for all", default=10, role="search"
    )
    slack: float = param(
        number(at_least=0, at_most=1),
        "best-first: share of a score that may be lost to stop earlier",
        default=0.0,
        role="search",
    )
    prior: float = param(
        number(at_least=-10, at_most=10),
        "scores are divided by the number of a label's rows to this power: above 0 rare labels are answered more "
        "often, below 0 frequent ones (choose_prior tries some)",
        default=0.0,
        role="search",
    )
    memory_limit: int | str | None = param(
        size(or_none=True),
        "bytes that training may take, the data included; such as '4GB'",
        default=None,
        role="machine",
    )

    _trees: tuple[PackedTree, ...] = ()
    _rounds: tuple[tuple[OverlapRound, ...], ...] = ()
    _label_counts: Int64 | None = None  # None: of a model that was not trained here, or stored before they were kept
    _seen: tuple[Array, ...] = ()  # of a model that has learned on: how many rows each classifier was trained on

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("storage", "transform") and self._trees and value != getattr(self, name):
            self._params[name].check(name, value)
            if name == "storage":
                raise ParameterError(
                    f"storage of a trained model cannot be set from {self.storage!r} to {value!r}: use "
                    f"stored_as({value!r}) for a copy with its weights kept so, or clone() and fit for a new training"
                )
            self._trees = tuple(tree.scored_by(value) for tree in self._trees)
        if name == "prior" and self._trees:
            self._params[name].check(name, value)
            self._trees = self._weighed(self._trees, self._label_counts, value)
        super().__setattr__(name, value)

    @staticmethod
    def _weighed(trees: Sequence[PackedTree], counts: Int64 | None, prior: float) -> tuple[PackedTree, ...]:
        """Trees that score labels by this prior."""
        if prior and counts is None:
            raise ParameterError(
                f"prior must be 0, got {prior}: this model does not hold how many rows its labels have; train it again"
            )
        offsets = EVEN if counts is None or not prior else prior_offsets(counts, prior)
        return tuple(tree.weighed_by(offsets) if len(offsets) or len(tree.label_offsets) else tree for tree in trees)

    @classmethod
    def of_trees(cls, trees: Sequence[PackedTree], described: LinearTree) -> LinearTree:
        """A fitted model of trees that were made elsewhere, with the parameters of `described`."""
        model = described.clone()
        model._trees = cls._weighed(trees, None, described.prior)
        model._remember_params()
        return model

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
    def overlap_rounds(self) -> tuple[tuple[OverlapRound, ...], ...]:
        """What overlapping did, tree by tree and round by round; empty without it."""
        self._require_fitted()
        return self._rounds

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.tree.n_labels

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        trees, rounds = fit_trees(self, data, checkpoint)
        counts = data.label_counts
        trees = self._weighed(trees, counts, self.prior)
        learned = {"_trees": trees, "_rounds": rounds, "_seen": (), "_label_counts": counts}
        vars(self).update(learned)  # at once: Ctrl-C must not leave a mixture

    def updated(self, data: TrainingData, fresh: Int64, again: Int64, checkpoint: Path | None = None) -> Self:
        """See `Updates`: classifiers whose rows have changed by a quarter are trained again, the others stay."""
        learned = update_trees(self, self._prepared(data), fresh, again, self._seen, checkpoint)
        other = self.clone().set_params(**{name: getattr(self, name) for name in ("threads", "memory_limit")})
        counts = data.label_counts
        found = self._weighed([one.packed for one in learned], counts, self.prior)
        seen = tuple(one.seen for one in learned)
        vars(other).update(_trees=found, _rounds=self._rounds, _seen=seen, _label_counts=counts)
        vars(other).update(_trained_with=self._trained_with)
        return other

    def _estimate(self, data: TrainingData) -> LinearEstimate:
        return estimate(data, self)

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

    def predict(self, X: Any, k: int = 10, *, labels: Any = None, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row; several trees are averaged. `labels` (ids) restricts the answers to some.

        A label that sits in several clusters (`overlap`) scores by those that the beam holds: `score` looks at all.
        """
        trees, k = self.trees, check_k(k)
        if labels is None and len(trees) == 1 and self.search == "beam":
            found = search_one(trees[0], X, k, self.beam or 0, unit=self.normalize_rows)
            if found is not None:
                return found
        several = Several(trees, [self.search_settings] * len(trees))
        if labels is None and len(trees) > 1:
            found = search_one_in_several(several, X, k, unit=self.normalize_rows)
            if found is not None:
                return found
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        return search(several, self.rows_of(X), k, labels=wanted, threads=self.threads)

    @staticmethod
    def searched_as_one(models: Sequence[Any]) -> bool:
        """True if `predict_together` can: several models that see rows alike, each of as many trees."""
        if len(models) < 2 or not all(type(model) is LinearTree for model in models):
            return False
        return len({(len(m.trees), m.trees[0].n_features, m.normalize_rows) for m in models}) == 1

    @staticmethod
    def predict_together(models: Sequence[LinearTree], X: Any, k: int, *, most: int, threads: int | None) -> TopK:
        """The k labels with the best mean score, of at most `most` that each tree gives; equals are ordered by id."""
        trees = [tree for model in models for tree in model.trees]
        settings = [model.search_settings for model in models for _ in model.trees]
        several = Several(trees, settings, most=most, ranks=BY_ID, precise=True)
        found = search_one_in_several(several, X, k, unit=models[0].normalize_rows)
        return search(several, models[0].rows_of(X), k, threads=threads) if found is None else found

    @property
    def search_settings(self) -> SearchSettings:
        """How trees are searched."""
        return SearchSettings(self.search, self.beam or 0, self.slack)

    def rows_of(self, X: Any) -> Rows:
        """Rows to predict for, checked, as the trees see them."""
        return self._rows(X, self.trees[0].n_features)

    def count_nodes(self, X: Any, k: int = 10) -> float:
        """How many nodes a single query looks into: the mean over rows. What its time grows with."""
        trees, k = self.trees, min(check_k(k), self.n_labels)
        return count_nodes(trees, self.rows_of(X), k, self.search_settings)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score.

        These are the exact scores. `predict` gives the same, except where its beam misses one of the clusters of a
        label (`overlap`): then it answers with what it found. `explain` tells both, as `score` (what `predict` answers)
        and `open_score` (this one), and with `beam=None` they are all the same.
        """
        rows = self.rows_of(X)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        return score_given(self.trees, rows, wanted, threads=self.threads)

    def stored_as(self, storage: str) -> Self:
        """A copy of the fitted model with its weights kept as `float32`, `float16` or `int8`."""
        other = self.clone().set_params(storage=storage)
        other._trees = tuple(tree.stored_as(storage) for tree in self.trees)
        other._rounds, other._label_counts = self._rounds, self._label_counts
        other._trained_with = {**(self._trained_with or {}), "storage": storage}
        return other

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` (sparse or dense, 1×d or d) gets the label with this id, or why not: margins feature by feature.

        `label_counts` (rows a label in training) only helps to choose the labels that stand for a cluster.
        """
        trees = self.trees
        label, counts = check_label(label, label_counts, self.n_labels)
        return explain(
            trees, self._row(x, trees[0].n_features), label, beam=self.beam, search=self.search, label_counts=counts
        )

    def _to_state(self) -> State:
        if type(self.overlap) not in (type(None), Overlap):
            raise StoreError(
                f"a LinearTree with a {type(self.overlap).__name__} is for experiments and cannot be saved"
            )
        parts: dict[str, Storable] = {f"tree{i}": tree for i, tree in enumerate(self.trees)}
        meta: dict[str, Any] = {"n_trees": len(self.trees)}
        if any(self._rounds):
            meta["overlap_rounds"] = [[asdict(told) for told in rounds] for rounds in self._rounds]
        arrays = {f"seen{i}": seen for i, seen in enumerate(self._seen)}
        if self._label_counts is not None:
            arrays[COUNTS] = self._label_counts
        return State(meta=meta, arrays=arrays, parts=parts)

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
        arrays = dict(state.arrays)
        counts = arrays.pop(COUNTS, None)
        if counts is not None and (counts.dtype != np.int64 or counts.shape != (packed[0].tree.n_labels,)):
            raise StoreError(
                f"{COUNTS} must be int64, one for each of {packed[0].tree.n_labels} labels; got {counts.dtype} "
                f"{counts.shape}"
            )
        model._label_counts = counts
        model._seen = check_seen(arrays, [tree.tree.n_slots for tree in packed])
        model._trees = cls._weighed(packed, counts, model.prior)
        return model
