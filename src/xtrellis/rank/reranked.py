"""`Reranked`: any model, and a second opinion on its candidates (the ranker and calibration of ELIAS++).

With p the base's score of a candidate, q the ranker's, and T the probability that it is right, given p, q, p·q and the
frequency of the label: the score is T·√(p·q), or T + p·q as in the paper; without calibration p·q.

T is a step function: of candidates in one leaf it says nothing. Added to p·q its steps outweigh what p·q knows about
the first few candidates of a row, which costs precision where scores are low; multiplied, both keep their say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ..arrays import (
    Csr,
    Float32,
    Int32,
    Int64,
    Rows,
    TopK,
    as_features,
    as_pairs,
    as_rows,
    assemble,
    concatenate_features,
    for_scipy,
    unit_rows,
)
from ..core import Engine, InputError, StoreError, choice, flag, integer, number, param, part, progress
from ..data import TrainingData
from ..explain import Explanation
from ..labels import FeatureCurve, label_feature_count
from ..linear import LinearTree
from ..model import Embeds, Estimate, FeatureModel, Model, can_score, check_k, with_part
from ..store import Stages, State, Storable
from .calibration import Calibration
from .calibration_rows import CalibrationSplit, calibration_split, validation_data
from .candidates import best, padded
from .classifiers import Classifiers
from .explain import explain_reranked
from .members import asked, fresh, model_part, scores_of, trained, with_threads
from .ranker import Ranker

if TYPE_CHECKING:
    from typing_extensions import Self

PAIR = 40  # bytes of a candidate of a row, while candidates are turned from rows to labels
KEPT = 0.6  # weights a classifier keeps, as a share of the features of its positive rows
LEAST = np.float32(1e-4)  # probability of a leaf where nothing was right: its candidates keep their order


class Reranked(FeatureModel):
    """Asks the base for candidates, scores each with a linear classifier of its own, and orders them anew.

    The base gets this model's seed. Candidates of equal scores are ordered by id.
    """

    keeps_checkpoints: ClassVar[Literal[True]] = True
    _learned = "_base"

    base: Model = param(model_part(), "finds the candidates", default=LinearTree())
    ranker: Ranker = param(part(Ranker), "how the second opinion is trained", default=Ranker())
    candidates: int = param(
        integer(at_least=1), "labels of a row that the base proposes", default=100, role="fit+search"
    )
    vector_weight: float | None = param(
        number(at_least=0, or_none=True),
        "weight of the base's vectors beside the features that the ranker sees; None: 1 if they are of texts, else 0",
        default=None,
    )
    calibrate: bool = param(flag(), "learn on held-out rows how likely a candidate is right", default=True)
    calibration_rows: int = param(
        integer(at_least=1),
        "rows held out for calibration at most, never more than a tenth; unless the base holds rows out itself",
        default=5000,
    )
    max_leaves: int = param(
        integer(at_least=2, at_most=2**16), "leaves of the calibration's decision tree at most", default=50
    )
    min_leaf: int = param(integer(at_least=1), "candidates in a leaf of that tree at least", default=300)
    blend: str = param(
        choice("product", "sum"),
        "how the calibrated probability T joins the scores: T·√(p·q), or T + p·q as in ELIAS++",
        default="product",
        role="search",
    )
    refit: bool = param(
        flag(), "after calibration on rows held out for it, train base and ranker again on all rows", default=True
    )

    _base: Model | None = None
    _classifiers: Classifiers | None = None
    _calibration: Calibration | None = None
    _given: tuple[Model | None, TrainingData | None] = (None, None)  # beside the data, while `fit` runs

    @property
    def uses_engine(self) -> bool:
        return self.base.uses_engine

    @property
    def fitted_base(self) -> Model:
        """The trained model below (`base` itself is only its description)."""
        self._require_fitted()
        return self._base  # type: ignore[return-value]  # _require_fitted has looked

    @property
    def classifiers(self) -> Classifiers:
        """The trained ranker: one classifier per label."""
        self._require_fitted()
        return self._classifiers  # type: ignore[return-value]  # comes with the base

    @property
    def calibration(self) -> Calibration | None:
        """The trained calibration, if there is one."""
        self._require_fitted()
        return self._calibration

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.fitted_base.n_labels

    @property
    def reads_texts(self) -> bool:
        """True with a base that reads texts."""
        return self.base.reads_texts if self._base is None else self._base.reads_texts

    def finds_something(self, texts: Sequence[str]) -> Sequence[bool]:
        """Whether the base does."""
        return self.fitted_base.finds_something(texts)

    @property
    def uses_label_features(self) -> bool:
        """True if the base does."""
        return self.base.uses_label_features

    def inner_models(self) -> Sequence[Model]:
        """The base."""
        return (self.fitted_base,)

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        texts: Sequence[str] | None = None,
        label_names: Iterable[str] | None = None,
        label_features: Any = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
        fitted_base: Model | None = None,
        validation: Any = None,
    ) -> Self:
        """As every model's. A `fitted_base` is taken as it is and only the rest is learned.

        X may then have other features than it was trained on only if it reads texts. `validation` = (X, Y) or
        (X, Y, texts) are rows for the calibration that no `fitted_base` has seen; without them a part of X serves, and
        the base's scores on rows it knows are better than it is.
        """
        if checkpoint is not None and fitted_base is not None:
            raise InputError("a checkpoint cannot know what a fitted_base is; leave one of them out")
        self._refuse_useless(label_features, sample_weight)
        data = TrainingData.of(X, Y, texts=texts, label_names=label_names, label_features=label_features)
        self._given = fitted_base, validation_data(self, validation, data)
        try:
            return super().fit(data, checkpoint=checkpoint, engine=engine)
        finally:
            self._given = None, None

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        fitted_base, validation = self._given
        if self.calibrate:
            Calibration.learner()
        made_from = self.made_from(data) if checkpoint else {}
        if validation is not None and checkpoint is not None:
            made_from["validation"] = validation.fingerprint
        every, calibration = np.arange(data.n_rows), None
        with Stages(checkpoint, made_from) as stages:
            split = calibration_split(self, data, fitted_base, validation) if self.calibrate else None
            if split is not None:
                kind = "trial_" if split.trial else ""
                base = fitted_base or self._train_base(data, split.base_rows, stages, kind)
                classifiers = self._train_ranker(base, data, split.ranker_rows, stages, kind)
                calibration = self._calibrate(base, classifiers, split, data.label_counts)
            if split is None or (split.trial and self.refit):
                base = fitted_base or self._train_base(data, every, stages, "")
                classifiers = self._train_ranker(base, data, every, stages, "")
        self._base, self._classifiers, self._calibration = base, classifiers, calibration

    def _prepared(self, data: TrainingData) -> TrainingData:
        """As it is: the base has its own way with rows, and the ranker sees them in `seen`."""
        return data

    def new_base(self) -> Model:
        """The base as `fit` will train it."""
        return fresh(self.base, seed=self.seed, threads=self.threads)

    def _train_base(self, data: TrainingData, rows: Int64, stages: Stages, name: str) -> Model:
        some = data if len(rows) == data.n_rows else data.select(rows)
        return stages.made(f"{name}base", Model, lambda at: trained(self.new_base(), some, at))  # type: ignore[type-abstract]

    def _train_ranker(self, base: Model, data: TrainingData, rows: Int64, stages: Stages, name: str) -> Classifiers:
        some = data if len(rows) == data.n_rows else data.select(rows)

        def make(at: Path | None) -> Classifiers:
            progress.note(f"looking for {self.candidates} candidates of each of {len(rows):,} rows")
            found = asked(base, some.X, self.candidates, some.texts, threads=self.threads)
            if found.n_labels != some.n_labels:
                raise InputError(f"the base knows {found.n_labels} labels; Y has {some.n_labels}")
            seen = as_features(self.seen(base, some.X, some.texts))
            return self.ranker.train(seen, some.Y, found, seed=self.seed, threads=self.threads)

        return stages.made(f"{name}ranker", Classifiers, make)

    def _estimate(self, data: TrainingData) -> Estimate:
        """Base and ranker: one more classifier per label, trained on the rows that have it as a candidate."""
        pairs = data.n_rows * min(self.candidates, data.n_labels)
        weights = int(8 * KEPT * label_feature_count(data.X, data.Y))
        nonzeros = pairs * int(data.X.nnz) / max(1, data.n_rows * data.n_labels)  # of a label's rows
        at_most = int(8 * FeatureCurve(data.X).distinct(nonzeros) * data.n_labels)
        return with_part(
            with_threads(self.base.clone(), self.threads).estimate(data),
            training_bytes=PAIR * pairs + 2 * min(weights, at_most),
            model_bytes=weights,
            classifiers=data.n_labels,
            visits=pairs,
        )

    def _calibrate(
        self, base: Model, classifiers: Classifiers, split: CalibrationSplit, frequency: Int64
    ) -> Calibration:
        X, Y, texts = split.data.X, split.data.Y, split.data.texts
        found = asked(base, X, self.candidates, texts, threads=self.threads)
        q = classifiers.score(as_features(self.seen(base, X, texts)), found.labels, threads=self.threads)
        return Calibration.learn(
            found.scores, q, found.labels, Y, frequency,
            max_leaves=self.max_leaves, min_leaf=self.min_leaf, seed=self.seed,
        )  # fmt: skip

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row: of the base's `candidates` (k, if that is more), ordered anew."""
        base, k = self.fitted_base, check_k(k)
        rows = self._seen_rows(X, texts)
        found = asked(base, X, max(self.candidates, k), texts, threads=self.threads)
        labels, p = np.ascontiguousarray(found.labels), np.ascontiguousarray(found.scores)
        return best(labels, self._combine(rows, labels, p), k, found.n_labels, threads=self.threads)

    def seen(self, base: Model, X: Any, texts: Sequence[str] | None) -> Any:
        """What the ranker sees of rows: X, and the base's vectors if they count ([bow/‖bow‖, φ/‖φ‖], eq. 16)."""
        if not self.sees_vectors(base):
            return unit_rows(as_features(X)) if self.normalize_rows else X
        vectors = cast(Embeds, with_threads(base, self.threads)).embed(X, texts=texts)
        return concatenate_features(X, vectors, weights=(1.0, self._weight(base)))

    def sees_vectors(self, base: Model) -> bool:
        """True if the ranker sees more of a row than its features."""
        return self._weight(base) != 0

    def _weight(self, base: Model) -> float:
        """Of the base's vectors. Those that are made of the same features have nothing new to tell, and know the
        training rows by heart, so that the ranker would trust them too much."""
        if not isinstance(base, Embeds):
            return 0.0
        return float(base.reads_texts) if self.vector_weight is None else self.vector_weight

    def _seen_rows(self, X: Any, texts: Sequence[str] | None) -> Rows:
        """What the ranker sees of rows to predict for."""
        base, n_features = self.fitted_base, self.classifiers.n_features
        if not self.sees_vectors(base):
            return self._rows(X, n_features)
        return as_rows(self.seen(base, X, texts), n_features=n_features)

    def ranker_scores(self, X: Any, labels: Int32, *, texts: Sequence[str] | None = None) -> Float32:
        """The second opinion alone: n × c scores of candidates (-1 for none)."""
        return self.classifiers.score(self._seen_rows(X, texts), np.ascontiguousarray(labels), threads=self.threads)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        base = self.fitted_base
        if not can_score(base):
            raise InputError(f"{type(base).__name__} cannot score given labels, so neither can Reranked")
        rows = self._seen_rows(X, texts)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        wide, place = padded(wanted)
        p = np.zeros(wide.shape, np.float32)
        p[place] = scores_of(base, X, for_scipy(wanted), texts)
        scores = self._combine(rows, wide, p)
        return for_scipy(assemble(scores[place], wanted.indices, wanted.indptr, wanted.shape))

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets the label with this id, or why not: the base's explanation and what the ranker added to it.

        `texts` is a list of the row's text, for a base that reads it.
        """
        return explain_reranked(self, x, label, texts, label_counts)

    def _combine(self, X: Any, labels: Int32, p: Float32) -> Float32:
        q = self.classifiers.score(X, labels, threads=self.threads)
        if self._calibration is None:
            return p * q
        probability = self._calibration.probability(p, q, labels, threads=self.threads)
        if self.blend == "sum":
            return probability + p * q
        scores: Float32 = (probability + LEAST) * np.sqrt(np.maximum(p * q, 0))
        return scores

    def _to_state(self) -> State:
        parts: dict[str, Storable] = {"base": self.fitted_base, "classifiers": self.classifiers}
        if self._calibration is not None:
            parts["calibration"] = self._calibration
        return State(parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        base, classifiers, calibration = (state.parts.get(n) for n in ("base", "classifiers", "calibration"))
        if not isinstance(base, Model) or not isinstance(classifiers, Classifiers):
            raise StoreError("a Reranked model needs the parts 'base', a model, and 'classifiers'")
        if calibration is not None and not isinstance(calibration, Calibration):
            raise StoreError("the part 'calibration' must be a Calibration")
        for name, n in (("classifiers", classifiers.n_labels), ("calibration", calibration and calibration.n_labels)):
            if n is not None and n != base.n_labels:
                raise StoreError(f"the base has {base.n_labels} labels, its {name} {n}")
        model = cls(**params)
        model._base, model._classifiers, model._calibration = base, classifiers, calibration
        return model
