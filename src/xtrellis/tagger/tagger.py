"""Strings in, names out: a vectoriser, a model and the names of its labels as one object and one folder.

    tagger = Tagger(Vectorizer(ngrams=2), preset("bonsai")).fit(texts, label_lists)
    tagger.tag("some text", k=5)                      # -> [Tag(label="…", score=0.83), …]

Or step by step, to see what will be trained and what it will take before it is:

    data = tagger.prepare(texts, label_lists)
    tagger.estimate(data)
    tagger.fit(data)

A model trained on a feature matrix has no texts to read: its tagger has `vectorizer=None`, takes matrices in `predict`,
and still knows the names of its labels. So everything `xtrellis train` writes is a tagger.

Any number of threads may share one tagger, and a forked process may use it: what changes (`living/`) changes at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays import Float64, Int64, StringTable, TopK, as_texts
from ..core import Engine, InputError, NotFittedError, StoreError, clear_calls, flag, integer, require, shown
from ..data import Dataset, TrainingData
from ..explain import ExplainedTag
from ..labels import inverse_propensity
from ..metrics import Comparison, Reliability, Report
from ..model import Estimate, Explains, Model, why_no_explanation
from ..store import Copyable, State, Storable, save
from ..text import Vectorizer
from ..vocabulary import Vocabulary
from . import measuring
from .given import label_matrix, names_to_read, require_parts
from .labels import NamesLabels, labels_to_learn
from .likely import Threshold, asked_for, check_threshold, curves_of_some, cut, learn_probabilities, probable
from .living import Life, Living, begun, explained_state
from .prepared import OTHER_FEATURES, PreparedData, names_hash
from .stored import stored
from .tags import NO_KNOWN_WORD, NO_TEXT, Tags, named_tags

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..rank import Probabilities


_HOW_MANY, _YES_OR_NO = integer(at_least=1), flag()


@clear_calls
class Tagger(NamesLabels, Living, Copyable):
    """A vectoriser (None: rows are feature vectors already), a model, and what its labels are called.

    With a `vocabulary`, texts may be labelled by ids or any names, answers have ids and names, in `language`. With
    `keep_rows` it keeps its training rows, so that it can learn on (`update`).
    """

    def __init__(
        self,
        vectorizer: Vectorizer | None,
        model: Model,
        *,
        vocabulary: Vocabulary | None = None,
        language: str | None = None,
        keep_rows: bool = False,
    ) -> None:
        require_parts(vectorizer, model)
        flag()("keep_rows", keep_rows)
        self._know(vocabulary, language)
        self.vectorizer, self.model, self.keep_rows = vectorizer, model, keep_rows
        self._life, self._changing = Life(), RLock()
        self.label_counts: Int64 | None = None
        self.n_rows = 0
        self._features: str | None = None  # a hash of the features' names, where rows are features that have some
        self.probability_curves: Probabilities | None = None
        """What the model's scores are worth, if `calibrate` has learned it."""
        self.about: dict[str, Any] = {}
        """What was noted of the model: JSON, saved with it. `xtrellis train` writes date, data and measurements."""

    @classmethod
    def of_model(cls, model: Model, label_names: Iterable[str] | None = None) -> Tagger:
        """A tagger around a model that was trained on a feature matrix; without names, labels go by their numbers."""
        tagger = cls(None, model)
        n_labels = model.n_labels if model.fitted else None
        if n_labels is None:
            raise NotFittedError(
                f"this {type(model).__name__} is not trained yet; call fit first, or xt.load a saved one"
            )
        tagger._label_names = StringTable.of(map(str, range(n_labels)) if label_names is None else label_names)
        if len(tagger._label_names) != n_labels:
            raise InputError(
                f"label_names must be {n_labels} names, one for each label; got {len(tagger._label_names)}"
            )
        tagger.label_counts = np.zeros(n_labels, np.int64)
        return tagger

    # ── learning ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(
        self,
        data: Dataset | Iterable[str],
        labels: Iterable[Iterable[str]] | None = None,
        *,
        label_text: bool = False,
    ) -> PreparedData:
        """What `fit` will train on: texts and, for each, the names of its labels (ids follow the sorted names).

        Or a Dataset: its texts if this tagger has a vectoriser, else its features. The tagger itself does not change.
        With `label_text`, the words of the labels' names help to place them in the label tree: labels with few rows
        then sit beside labels that are called alike.
        """
        flag()("label_text", label_text)
        if isinstance(data, TrainingData):
            raise InputError("a tagger prepares its data itself, from texts and labels or a Dataset; got TrainingData")
        if not isinstance(data, Dataset):
            self.require_vectorizer()
            texts = as_texts(data)
            names, Y = label_matrix(labels, len(texts))
            data = Dataset(None, Y, texts=list(texts), label_names=names)
        elif labels is not None:
            raise InputError("a Dataset holds its labels itself; give none beside it")
        if self.vectorizer is not None and data.texts is None:
            raise InputError(
                "this tagger reads texts, but the data has none; use Tagger(None, model) for a feature matrix"
            )
        if self.vectorizer is None and data.X is None:
            raise InputError("the data has texts but no features; give the tagger a Vectorizer")
        learn = labels_to_learn(self, data)
        data = learn.dataset
        named = names_to_read(self, learn.texts) if label_text else None
        vectorizer = None if self.vectorizer is None else self.vectorizer.clone()
        checked = TrainingData.of(
            data.X if vectorizer is None else vectorizer.fit_transform(data.texts or []),
            data.Y,
            texts=data.texts,
            label_names=learn.names,
            known=learn.known,
            label_features=None if vectorizer is None or named is None else vectorizer.transform(named),
        )
        features = None if vectorizer is not None else data.feature_names
        return PreparedData.of_checked(checked, vectorizer=vectorizer, feature_names=features, label_ids=learn.ids)

    def estimate(
        self, data: PreparedData | Dataset | Iterable[str], labels: Iterable[Iterable[str]] | None = None
    ) -> Estimate:
        """What training will take: memory, size of the model. Quick and rough."""
        data = data if isinstance(data, PreparedData) else self.prepare(data, labels)
        return self.model.estimate(data).with_parts(data.bytes_beside_model)

    def fit(
        self,
        data: PreparedData | Dataset | Iterable[str],
        labels: Iterable[Iterable[str]] | None = None,
        *,
        label_text: bool = False,
        calibrate: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
    ) -> Self:
        """Learn from texts and their labels, a Dataset, or what `prepare` made of them.

        With `calibrate`, a model that does not answer with probabilities is trained a second time, without a tenth of
        the rows: these say what its scores are worth. `checkpoint` is a folder that finished work is written to, for
        models that can go on from there; `engine` as of `Model.fit`. A training that fails leaves the tagger as it was.
        """
        _YES_OR_NO("calibrate", calibrate)
        if not isinstance(data, PreparedData):
            data = self.prepare(data, labels, label_text=label_text)
        elif labels is not None or label_text:
            raise InputError("prepared data holds labels and their texts itself; give neither beside it")
        # Some models keep the best state of a training that diverges: one that answers already is trained as a copy.
        model = self.model.clone() if self.fitted else self.model
        given: dict[str, Any] = {} if engine is None else {"engine": engine}
        model.fit(data, checkpoint=checkpoint, **given)
        learn = calibrate and not model.answers_probabilities
        curves = curves_of_some(model, data, engine) if learn else None
        self.model, self.vectorizer = model, data.vectorizer
        self._label_names = data.names
        self.label_counts = data.label_counts
        self.n_rows = data.n_rows
        self.probability_curves = curves
        self.about = {}
        self._features = None if data.feature_names is None else names_hash(data.feature_names)
        self._life = begun(self, data)
        return self

    @property
    def n_labels(self) -> int:
        """How many labels it knows."""
        return len(self.label_ids)

    def clone(self) -> Tagger:
        """A new, unfitted tagger with the same parameters."""
        vectorizer = self.vectorizer.clone() if self.vectorizer is not None else None
        return Tagger(
            vectorizer, self.model.clone(), vocabulary=self.vocabulary, language=self.language,
            keep_rows=self.keep_rows,
        )  # fmt: skip

    # ── answering ───────────────────────────────────────────────────────────────────────────────────────────────────

    def tag(
        self, text: str, k: int = 5, *, threshold: Threshold = None, labels: Any = None, guess: bool = False
    ) -> Tags:
        """The k best labels of one text, best first; only those that reach `threshold`, if given.

        A threshold is the least probability, or the least score if the tagger knows no probabilities. 'auto' cuts where
        the expected F1 of the text is best, 'auto-corpus' where that of all held-out texts was.

        A text of which the model knows no word gets no labels, and a `reason`: all that speaks for any label there is
        how frequent it was. With `guess`, such a text gets the labels that the model finds likely anyway. `labels`
        restricts the answers to some: names, or what `prepare_labels` made of them.
        """
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__} (tag_many takes several texts)")
        _HOW_MANY("k", k)
        check_threshold(threshold)
        _YES_OR_NO("guess", guess)
        self._require_fitted()
        row = self.require_vectorizer().transform_one(text)
        if not guess and not row.indptr[1] and (reason := self.why_silent(text)):
            return Tags.none(reason)
        top = self._predict(row, asked_for(k, threshold), [text], labels)
        return self._named(top, threshold, k)[0]

    def tag_many(
        self,
        texts: Iterable[str],
        k: int = 5,
        *,
        threshold: Threshold = None,
        labels: Any = None,
        guess: bool = False,
    ) -> list[Tags]:
        """`tag` for each text; much faster than one at a time."""
        check_threshold(threshold)
        _HOW_MANY("k", k)
        self.require_vectorizer()
        texts = as_texts(texts)
        top = self.predict(texts, asked_for(k, threshold), labels=labels, guess=guess)
        tags = self._named(top, threshold, k)
        if not guess:
            for i in np.flatnonzero((top.labels < 0).all(axis=1)).tolist():
                tags[i].reason = self.why_silent(texts[i])
        return tags

    def why_silent(self, text: str) -> str | None:
        """Why a text without any known word gets no answer; None if the model has something to go by."""
        require(text, str, "text", "a string")
        if not text or text.isspace():
            return NO_TEXT
        return None if self.model.finds_something([text])[0] else NO_KNOWN_WORD

    def predict(self, rows: Any, k: int = 10, *, labels: Any = None, guess: bool = False) -> TopK:
        """The k best labels, as ids, of each text, each feature row (without a vectoriser), or row of a Dataset.

        Texts of which the model knows no word get none (-1), unless `guess`; rows of features are taken as they are.
        `labels` restricts the answers to some: names, or what `prepare_labels` made of them.
        """
        _HOW_MANY("k", k)
        _YES_OR_NO("guess", guess)
        self._require_fitted()
        if isinstance(rows, Dataset):
            if rows.texts is None or self.vectorizer is None:
                if rows.X is None:
                    raise InputError("the data has texts only, but this model was trained on a feature matrix")
                self.require_features(rows.feature_names)
                return self._predict(rows.X, k, rows.texts, labels)  # a feature matrix is taken as it is
            rows = rows.texts
        if self.vectorizer is None:
            return self._predict(rows, k, None, labels)
        texts = as_texts(rows)
        X = self.vectorizer.transform(texts) if len(texts) != 1 else self.vectorizer.transform_one(texts[0])
        top = self._predict(X, k, texts, labels)
        empty = np.flatnonzero(X.indptr[1:] == X.indptr[:-1]).tolist()
        silent = [] if guess else [i for i in empty if self.why_silent(texts[i])]
        if not silent:
            return top
        found, scores = top.labels.copy(), top.scores.copy()
        found[silent], scores[silent] = -1, 0
        return TopK(found, scores, top.n_labels)

    def require_features(self, names: StringTable | None) -> None:
        """Refuse data whose features have other names than those in training, or another order, if both have names."""
        if self.vectorizer is None and names is not None and self._features not in (None, names_hash(names)):
            raise InputError(OTHER_FEATURES)

    def _predict(self, X: Any, k: int, texts: Sequence[str] | None, labels: Any) -> TopK:
        given = None if labels is None else self.prepare_labels(labels)
        top: object = self._life.predict(self.model, X, k, texts, given)
        if not isinstance(top, TopK):  # of a model of somebody's own
            raise InputError(f"{type(self.model).__name__}.predict must return an xt.TopK; got {shown(top)}")
        return top

    def named(self, top: TopK, *, threshold: Threshold = None) -> list[Tags]:
        """Predictions with the names of their labels."""
        require(top, TopK, "top", "a TopK, what predict gives")
        check_threshold(threshold)
        if top.n_labels > len(self.label_ids):
            raise InputError(f"top is of {top.n_labels} labels; this tagger knows {len(self.label_ids)}")
        return self._named(top, threshold, top.k)

    def _named(self, top: TopK, threshold: Threshold, k: int) -> list[Tags]:
        """The first k of each row that reach the threshold."""
        tags = named_tags(self.label_names, self.label_ids, top, cut(self, top, threshold), probable(self, top))
        return tags if top.k <= k else [Tags(found[:k]) for found in tags]

    # ── probabilities ───────────────────────────────────────────────────────────────────────────────────────────────

    def calibrate(self, dataset: Dataset) -> Self:
        """Learn what scores are worth from rows that the model has not seen; tags have probabilities from then on.

        Curves are learned for labels by how frequent they are. A model that answers with probabilities by itself, such
        as the preset 'best', needs this for the threshold 'auto-corpus' only.
        """
        self._require_fitted()
        self.probability_curves = learn_probabilities(self, dataset)
        return self

    def reliability(self, dataset: Dataset, *, k: int = 10) -> Reliability | None:
        """Whether probabilities of the first k answers mean what they say; None if the tagger knows none."""
        return measuring.reliability_of(self, dataset, k=k)

    def cut(self, top: TopK, threshold: Threshold) -> TopK:
        """What `predict` gave without answers below a threshold (-1 in their place); see `tag`."""
        check_threshold(threshold)
        return cut(self, top, threshold)

    def probabilities(self, top: TopK) -> TopK | None:
        """What `predict` gave, with probabilities in place of scores; None if the tagger has not learned them."""
        require(top, TopK, "top", "a TopK, what predict gives")
        return probable(self, top)

    def evaluate(
        self,
        dataset: Dataset,
        metrics: Iterable[str] | str | None = None,
        *,
        threshold: Threshold = None,
        predictions: TopK | None = None,
    ) -> Report:
        """How good the tagger is on rows whose labels are known, with as many predictions per row as metrics look at.

        Labels are matched by name; those that the tagger does not know count as missed. Predictions with a score below
        `threshold` are left out (for F1). `predictions`, if given, are judged in place of what `predict` would give:
        they may hold labels after those that the tagger knows.
        """
        return measuring.evaluate_tagger(self, dataset, metrics, threshold=threshold, predictions=predictions)

    def compare(
        self, other: Tagger, dataset: Dataset, metrics: Iterable[str] | str | None = None, *, k: int = 5, seed: int = 0
    ) -> Comparison:
        """Is `other` (B) better than this tagger (A) on rows whose labels are known? See `xt.metrics.compare`.

        Labels are matched by name; how frequent a label is, is told by this tagger's training.
        """
        return measuring.compare_taggers(self, other, dataset, metrics, k=k, seed=seed)

    def inverse_propensity(self, *, extra: int = 0) -> Float64 | None:
        """1/p of each label by the training rows' frequencies, then of `extra` labels never seen; None if not known."""
        integer(at_least=0)("extra", extra)
        if self.n_rows < 3 or self.label_counts is None:
            return None
        return inverse_propensity(np.concatenate([self.label_counts, np.zeros(extra, np.int64)]), self.n_rows)

    def explain(self, text: str, label: str) -> ExplainedTag:
        """Why `label` fits `text`, or why it does not: which words spoke for and against it, on which path.

        The label may be named by its id or any of its names.
        """
        self._require_fitted()
        vectorizer = self.require_vectorizer()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        found, names = self.find_label(label), self.label_names
        explained_state(self._life, found, names[found], names)
        why_not = why_no_explanation(self.model)
        if why_not is not None:
            raise InputError(why_not)
        known = self.label_counts if self.n_rows else None
        explanation = cast(Explains, self.model).explain(
            vectorizer.transform_one(text), found, texts=[text], label_counts=known
        )
        spans = vectorizer.explain(text)
        id = self.label_ids[found] if self.vocabulary is not None else ""
        return ExplainedTag.of(
            text, names[found], explanation.with_groups(self.group_name), spans, names, vectorizer.feature_names, id=id
        )

    # ── the store ───────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one folder, whole or not at all; `xt.load(path)` gives the tagger back."""
        self._require_fitted()
        save(self, path)
        self.model.discard_checkpoint()

    def to_state(self) -> State:
        """Vectoriser and model are parts; the names and frequencies of the labels are arrays."""
        names, counts = self.label_ids, cast(Int64, self.label_counts)
        parts: dict[str, Storable] = {"model": self.model}
        if self.vectorizer is not None:
            parts["vectorizer"] = self.vectorizer
        if self.probability_curves is not None:
            parts["probabilities"] = self.probability_curves
        arrays = {**names.to_arrays("labels"), "label_counts": counts}
        meta: dict[str, Any] = {"n_rows": self.n_rows, **({"about": self.about} if self.about else {})}
        if self.vocabulary is not None:
            parts["vocabulary"], arrays["label_numbers"] = self.vocabulary, self.label_numbers
            meta |= {} if self.language is None else {"language": self.language}
        if self._features is not None:
            meta["feature_names"] = self._features
        return self._life.into(State(meta=meta, arrays=arrays, parts=parts))

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """The tagger again; refuses parts and arrays that do not fit together."""
        kept = stored(params, state)
        try:
            tagger = cls(kept.vectorizer, kept.model, vocabulary=kept.vocabulary)
        except InputError as error:
            raise StoreError(str(error)) from None
        tagger._label_names, tagger.label_counts, tagger.n_rows = kept.names, kept.counts, kept.n_rows
        tagger.language = kept.language
        if kept.numbers is not None:
            tagger._found["numbers"] = (kept.names, kept.vocabulary, kept.numbers)
        tagger.probability_curves, tagger.about, tagger._features = kept.curves, kept.about, kept.features
        tagger._life, tagger.keep_rows = kept.life, kept.life.rows is not None
        return tagger

    def __repr__(self) -> str:
        known = f" with {self.n_labels} labels" if self.fitted else ""
        return f"Tagger({self.vectorizer!r}, {self.model!r}){known}"

    def _require_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError("this Tagger is not trained yet; call fit first, or xt.load a saved one")

    def require_vectorizer(self) -> Vectorizer:
        """The vectoriser; refuses if this tagger cannot read texts."""
        if self.vectorizer is None:
            raise InputError(
                "this model was trained on a feature matrix and cannot read texts; train it on texts instead"
            )
        return self.vectorizer
