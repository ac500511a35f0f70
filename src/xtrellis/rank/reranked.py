"""`Reranked`: any model, and a second opinion on its candidates (the ranker and calibration of ELIAS++).

With p the base's score of a candidate, q the ranker's, and T the probability that it is right, given p, q, p·q and the
frequency of the label: the score is T·√(p·q), or T + p·q as in the paper; without calibration p·q.

T is a step function: of candidates in one leaf it says nothing. Added to p·q its steps outweigh what p·q knows about
the first few candidates of a row, which costs precision where scores are low; multiplied, both keep their say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import progress
from ..arrays import Rows, as_features, as_labels, as_pairs, as_rows, assemble, for_scipy
from ..checks import choice, flag, integer, number, part
from ..config import param
from ..errors import InputError, StoreError
from ..features import concatenate_features
from ..labels import label_frequency
from ..linear import Estimate, Explanation, LinearTree
from ..linear.estimate import with_ranker
from ..linear.stages import Stages
from ..model import Model, check_k
from ..store import State, Storable
from ..types import Csr, Float32, Int32, Int64, TopK
from .calibration import Calibration
from .classifiers import Classifiers
from .explaining import explain_reranked
from .judges import Given, Judges, held_out_rows, judges_of, some
from .members import (
    asked,
    can_score,
    check_texts,
    estimated,
    fresh,
    model_part,
    rows_of,
    scores_of,
    trained,
    with_threads,
)
from .padded import padded
from .ranker import Ranker
from .rows import best

if TYPE_CHECKING:
    from typing_extensions import Self

LEAST = np.float32(1e-4)  # probability of a leaf where nothing was right: its candidates keep their order


class Reranked(Model):
    """Asks the base for candidates, scores each with a linear classifier of its own, and orders them anew."""

    base: Model = param(model_part(), "finds the candidates", default=LinearTree())
    ranker: Ranker = param(part(Ranker), "how the second opinion is trained", default=Ranker())
    candidates: int = param(integer(at_least=1), "labels of a row that the base proposes", default=100)
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
    max_leaves: int = param(integer(at_least=2), "leaves of the calibration's decision tree at most", default=50)
    min_leaf: int = param(integer(at_least=1), "candidates in a leaf of that tree at least", default=300)
    blend: str = param(
        choice("product", "sum"),
        "how the calibrated probability T joins the scores: T·√(p·q), or T + p·q as in ELIAS++",
        default="product",
    )
    refit: bool = param(
        flag(), "after calibration on rows held out for it, train base and ranker again on all rows", default=True
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable; the base gets it too", default=0)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _base: Model | None = None
    _classifiers: Classifiers | None = None
    _calibration: Calibration | None = None

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._base is not None

    @property
    def fitted_base(self) -> Model:
        """The trained model below (`base` itself is only its description)."""
        self._require_fitted()
        return self._base  # type: ignore[return-value]  # _require_fitted has looked

    @property
    def classifiers(self) -> Classifiers:
        """The trained ranker: one classifier a label."""
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

    def fit_takes(self, name: str) -> bool:
        """`label_features` if the base does."""
        return self.base.fit_takes(name) if name == "label_features" else super().fit_takes(name)

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        texts: Any = None,
        fitted_base: Model | None = None,
        held_out: Any = None,
        label_features: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from n×d features and n×L labels; `texts` and `label_features` go to a base that has a use for them.

        A `fitted_base` is taken as it is and only the rest is learned; X may then have other features than it was
        trained on only if it reads texts. `held_out` = (X, Y) or (X, Y, texts) are rows for the calibration that no
        `fitted_base` has seen; without them a part of X serves, and the base's scores on rows it knows are better than
        it is. `checkpoint` as in LinearTree: what is finished of base and ranker is kept there until all is done.
        """
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        check_texts(texts, int(X.shape[0]))
        if X.shape[0] == 0 or Y.shape[1] == 0:
            raise InputError(
                f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels"
            )
        if checkpoint is not None and fitted_base is not None:
            raise InputError("a checkpoint cannot know what a fitted_base is; leave one of them out")
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        judging = held_out_rows(self, held_out, X, Y)
        Xh, Yh = judging[:2] if judging else (None, None)
        made_from = {"X": X, "Y": Y, "label features": label_features, "held-out X": Xh, "held-out Y": Yh}
        with Stages(checkpoint, self.to_config()["params"], made_from) as stages:
            self._fit(X, Y, Given(texts, fitted_base, judging, label_features, stages))
        return self

    def _fit(self, X: Csr, Y: Csr, given: Given) -> None:
        every, calibration = np.arange(int(X.shape[0])), None
        judges = judges_of(self, X, Y, given) if self.calibrate else None
        if judges is not None:
            kind = "trial_" if judges.trial else ""
            base = self._train_base(X, Y, judges.base_rows, given, kind)
            classifiers = self._train_ranker(base, X, Y, judges.ranker_rows, given, kind)
            calibration = self._calibrate(base, classifiers, judges, label_frequency(Y))
        if judges is None or (judges.trial and self.refit):
            base = self._train_base(X, Y, every, given, "")
            classifiers = self._train_ranker(base, X, Y, every, given, "")
        self._base, self._classifiers, self._calibration = base, classifiers, calibration

    def new_base(self) -> Model:
        """The base as `fit` will train it."""
        return fresh(self.base, seed=self.seed, threads=self.threads)

    def _train_base(self, X: Csr, Y: Csr, rows: Int64, given: Given, name: str) -> Model:
        if given.fitted_base is not None:
            return given.fitted_base
        told, (X, Y) = rows_of(given.texts, rows), some(X, Y, rows)

        def make(at: Path | None) -> Model:
            return trained(self.new_base(), X, Y, told, label_features=given.label_features, checkpoint=at)

        return given.stages.made(f"{name}base", Model, make)  # type: ignore[type-abstract]

    def _train_ranker(self, base: Model, X: Csr, Y: Csr, rows: Int64, given: Given, name: str) -> Classifiers:
        told, (X, Y) = rows_of(given.texts, rows), some(X, Y, rows)

        def make(at: Path | None) -> Classifiers:
            progress.note(f"looking for {self.candidates} candidates of each of {len(rows):,} rows")
            found = asked(base, X, self.candidates, told, threads=self.threads)
            if found.n_labels != Y.shape[1]:
                raise InputError(f"the base knows {found.n_labels} labels; Y has {Y.shape[1]}")
            seen = as_features(self.seen(base, X, told))
            return self.ranker.train(seen, Y, found, seed=self.seed, threads=self.threads)

        return given.stages.made(f"{name}ranker", Classifiers, make)

    def estimate(self, X: Any, Y: Any, *, label_features: Any = None) -> Estimate | None:
        """What `fit` will take: base and ranker; None if the base does not say. Quick and rough."""
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        base = estimated(with_threads(self.base.clone(), self.threads), X, Y, label_features)
        return None if base is None else with_ranker(base, X, Y, self.candidates)

    def _calibrate(self, base: Model, classifiers: Classifiers, judges: Judges, frequency: Int64) -> Calibration:
        X, Y, told = judges.X, judges.Y, judges.told
        found = asked(base, X, self.candidates, told, threads=self.threads)
        q = classifiers.score(as_features(self.seen(base, X, told)), found.labels, threads=self.threads)
        return Calibration.learn(
            found.scores, q, found.labels, Y, frequency,
            max_leaves=self.max_leaves, min_leaf=self.min_leaf, seed=self.seed,
        )  # fmt: skip

    def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> TopK:
        """The k best labels of each row: of the base's `candidates` (k, if that is more), ordered anew."""
        base, k = self.fitted_base, check_k(k)
        rows, told = self._rows(X, texts)
        found = asked(base, X, max(self.candidates, k), told, threads=self.threads)
        labels, p = np.ascontiguousarray(found.labels), np.ascontiguousarray(found.scores)
        return best(labels, self._combine(rows, labels, p), k, found.n_labels, threads=self.threads)

    def seen(self, base: Model, X: Any, told: dict[str, Any]) -> Any:
        """What the ranker sees of rows: X, and the base's vectors if they count ([bow/‖bow‖, φ/‖φ‖], eq. 16)."""
        if not self.sees_vectors(base):
            return X
        vectors = with_threads(base, self.threads).embed(X, **(told if base.reads_texts else {}))  # type: ignore[attr-defined]
        return concatenate_features(X, vectors, weights=(1.0, self._weight(base)))

    def sees_vectors(self, base: Model) -> bool:
        """True if the ranker sees more of a row than its features."""
        return self._weight(base) != 0

    def _weight(self, base: Model) -> float:
        """Of the base's vectors. Those that are made of the same features have nothing new to tell, and know the
        training rows by heart, so that the ranker would trust them too much."""
        if not hasattr(base, "embed"):
            return 0.0
        return float(base.reads_texts) if self.vector_weight is None else self.vector_weight

    def _rows(self, X: Any, texts: Any) -> tuple[Rows, dict[str, Any]]:
        """What the ranker sees of rows to predict for, and their texts for the base."""
        told = rows_of(texts, np.arange(len(texts) if texts is not None else 0))
        return as_rows(self.seen(self.fitted_base, X, told), n_features=self.classifiers.n_features), told

    def ranker_scores(self, X: Any, labels: Int32, *, texts: Any = None) -> Float32:
        """The second opinion alone: n × c scores of candidates (-1 for none)."""
        rows, _ = self._rows(X, texts)
        return self.classifiers.score(rows, np.ascontiguousarray(labels), threads=self.threads)

    def score(self, X: Any, labels: Any, *, texts: Any = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        base = self.fitted_base
        if not can_score(base):
            raise InputError(f"{type(base).__name__} cannot score given labels, so neither can Reranked")
        rows, told = self._rows(X, texts)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        given = scores_of(base, X, for_scipy(wanted), told)
        wide, place = padded(wanted)
        p = np.zeros(wide.shape, np.float32)
        p[place] = given
        scores = self._combine(rows, wide, p)
        return for_scipy(assemble(scores[place], wanted.indices, wanted.indptr, wanted.shape))

    def explain(self, x: Any, label: int, *, texts: Any = None, label_counts: Any = None) -> Explanation:
        """Why row `x` gets label number `label`, or why not: the base's explanation and what the ranker added to it.

        `texts` is a list of the row's text, for a base that reads it.
        """
        check_texts(texts, 1)
        return explain_reranked(self, x, label, rows_of(texts, np.arange(1)), label_counts)

    def _combine(self, X: Any, labels: Int32, p: Float32) -> Float32:
        q = self.classifiers.score(X, labels, threads=self.threads)
        if self._calibration is None:
            return p * q
        probability = self._calibration.probability(p, q, labels, threads=self.threads)
        if self.blend == "sum":
            return probability + p * q
        scores: Float32 = (probability + LEAST) * np.sqrt(np.maximum(p * q, 0))
        return scores

    def to_state(self) -> State:
        """For the store."""
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
