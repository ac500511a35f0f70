"""Strings in, names out: a vectoriser, a model and the names of its labels as one object and one folder.

    tagger = Tagger(Vectorizer(ngrams=2), preset("bonsai")).fit(texts, label_lists)
    tagger.tag("some text", k=5)                      # -> [Tag(label="…", score=0.83), …]

Or step by step, to see what will be trained and what it will take before it is:

    data = tagger.prepare(texts, label_lists)
    tagger.estimate(data)
    tagger.fit(data)

A model trained on a feature matrix has no texts to read: its tagger has `vectorizer=None`, takes matrices in `predict`,
and still knows the names of its labels. So everything `xtrellis train` writes is a tagger.

Nothing changes after `fit` or loading, so any number of threads may share one tagger, and a forked process may use it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays import Float64, Int64, StringTable, TopK, as_texts, is_list
from ..core import (
    InputError,
    NotFittedError,
    StoreError,
    flag,
    integer,
    nearest,
    number,
    require,
    shown,
)
from ..data import Dataset, TrainingData
from ..explain import ExplainedTag
from ..labels import inverse_propensity
from ..metrics import Comparison, Report
from ..model import Estimate, Explains, LabelSet, Model, restricts, why_no_explanation
from ..store import Copyable, State, Storable, save
from ..text import Vectorizer
from . import measuring
from .given import label_matrix
from .tags import NO_KNOWN_WORD, NO_TEXT, Tag, Tags

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class PreparedData(TrainingData):
    """What a tagger's model will be trained on, and the vectoriser that has read the texts."""

    vectorizer: Vectorizer | None = None


class Tagger(Copyable):
    """A vectoriser (None: rows are feature vectors already), a model, and the labels' names."""

    def __init__(self, vectorizer: Vectorizer | None, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(f"model must be a model such as xt.preset('bonsai'); got {type(model).__name__}")
        if vectorizer is not None and not isinstance(vectorizer, Vectorizer):
            raise InputError(
                f"vectorizer must be an xt.Vectorizer, or None if rows are features already; got "
                f"{type(vectorizer).__name__}: train on the matrix that it makes, or put both into a pipeline with "
                "xtrellis.sklearn.Classifier"
            )
        self.vectorizer, self.model = vectorizer, model
        self._label_names: StringTable | None = None
        self.label_counts: Int64 | None = None
        self.n_rows = 0
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
        named = self._names_to_read(data.label_names) if label_text else None
        vectorizer = None if self.vectorizer is None else self.vectorizer.clone()
        checked = TrainingData.of(
            data.X if vectorizer is None else vectorizer.fit_transform(data.texts or []),
            data.Y,
            texts=data.texts,
            label_names=data.label_names,
            label_features=None if vectorizer is None or named is None else vectorizer.transform(named),
        )
        return PreparedData(**vars(checked), vectorizer=vectorizer)

    def estimate(
        self, data: PreparedData | Dataset | Iterable[str], labels: Iterable[Iterable[str]] | None = None
    ) -> Estimate:
        """What training will take: memory, size of the model. Quick and rough."""
        return self.model.estimate(data if isinstance(data, PreparedData) else self.prepare(data, labels))

    def fit(
        self,
        data: PreparedData | Dataset | Iterable[str],
        labels: Iterable[Iterable[str]] | None = None,
        *,
        label_text: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from texts and their labels, a Dataset, or what `prepare` made of them.

        `checkpoint` is a folder that finished work is written to, for models that can go on from there. A training that
        fails leaves the tagger as it was.
        """
        if not isinstance(data, PreparedData):
            data = self.prepare(data, labels, label_text=label_text)
        elif labels is not None or label_text:
            raise InputError("prepared data holds labels and their texts itself; give neither beside it")
        # Some models keep the best state of a training that diverges: one that answers already is trained as a copy.
        model = self.model.clone() if self.fitted else self.model
        model.fit(data, checkpoint=checkpoint)
        self.model, self.vectorizer = model, data.vectorizer
        # Without names a label is called by its number, so that answers always have one.
        self._label_names = data.label_names or StringTable.of(map(str, range(data.n_labels)))
        self.label_counts = data.label_counts
        self.n_rows = data.n_rows
        self.about = {}
        return self

    def _names_to_read(self, names: StringTable | None) -> StringTable:
        """The names; refuses before any work if there are none, or nothing to read them, or no use for them."""
        if not self.model.uses_label_features:
            raise InputError(f"label_text: {type(self.model).__name__} has no use for the labels' names")
        if self.vectorizer is None:
            raise InputError("label_text needs texts: without them there is no vectoriser to read the labels' names")
        if names is None:
            raise InputError("label_text needs the labels' names; the data has none")
        return names

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._label_names is not None

    @property
    def n_labels(self) -> int:
        """How many labels it knows."""
        return len(self.label_names)

    def clone(self) -> Tagger:
        """A new, unfitted tagger with the same parameters."""
        return Tagger(self.vectorizer.clone() if self.vectorizer is not None else None, self.model.clone())

    # ── answering ───────────────────────────────────────────────────────────────────────────────────────────────────

    def tag(
        self, text: str, k: int = 5, *, threshold: float | None = None, labels: Any = None, guess: bool = False
    ) -> Tags:
        """The k best labels of one text, best first; only those with a score of at least `threshold`, if given.

        A text of which the model knows no word gets no labels, and a `reason`: all that speaks for any label there is
        how frequent it was. With `guess`, such a text gets the labels that the model finds likely anyway. `labels`
        restricts the answers to some: names, or what `prepare_labels` made of them.
        """
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__} (tag_many takes several texts)")
        integer(at_least=1)("k", k)
        number(or_none=True)("threshold", threshold)
        flag()("guess", guess)
        self._require_fitted()
        row = self.require_vectorizer().transform_one(text)
        if not guess and not row.indptr[1] and (reason := self.why_silent(text)):
            return Tags.none(reason)
        top = self._predict(row, k, [text], labels)
        return self.named(top, threshold=threshold)[0]

    def tag_many(
        self,
        texts: Iterable[str],
        k: int = 5,
        *,
        threshold: float | None = None,
        labels: Any = None,
        guess: bool = False,
    ) -> list[Tags]:
        """`tag` for each text; much faster than one at a time."""
        number(or_none=True)("threshold", threshold)
        self.require_vectorizer()
        texts = as_texts(texts)
        top = self.predict(texts, k, labels=labels, guess=guess)
        tags = self.named(top, threshold=threshold)
        if not guess:
            for i in np.flatnonzero((top.labels < 0).all(axis=1)).tolist():
                tags[i].reason = self.why_silent(texts[i])
        return tags

    def why_silent(self, text: str) -> str | None:
        """Why a text without any known word gets no answer; None if the model has something to go by."""
        if not text or text.isspace():
            return NO_TEXT
        return None if self.model.reads_texts else NO_KNOWN_WORD

    def predict(self, rows: Any, k: int = 10, *, labels: Any = None, guess: bool = False) -> TopK:
        """The k best labels, as ids, of each text, each feature row (without a vectoriser), or row of a Dataset.

        Texts of which the model knows no word get none (-1), unless `guess`; rows of features are taken as they are.
        `labels` restricts the answers to some: names, or what `prepare_labels` made of them.
        """
        integer(at_least=1)("k", k)
        flag()("guess", guess)
        self._require_fitted()
        if isinstance(rows, Dataset):
            if rows.texts is None or self.vectorizer is None:
                if rows.X is None:
                    raise InputError("the data has texts only, but this model was trained on a feature matrix")
                return self._predict(rows.X, k, rows.texts, labels)  # a feature matrix is taken as it is
            rows = rows.texts
        if self.vectorizer is None:
            return self._predict(rows, k, None, labels)
        texts = as_texts(rows)
        X = self.vectorizer.transform(texts)
        top = self._predict(X, k, texts, labels)
        empty = np.flatnonzero(X.indptr[1:] == X.indptr[:-1]).tolist()
        silent = [] if guess else [i for i in empty if self.why_silent(texts[i])]
        if not silent:
            return top
        found, scores = top.labels.copy(), top.scores.copy()
        found[silent], scores[silent] = -1, 0
        return TopK(found, scores, top.n_labels)

    def prepare_labels(self, labels: Any) -> LabelSet:
        """Names (or ids) of labels that `tag` and `predict` shall choose among, prepared once for many calls."""
        if isinstance(labels, LabelSet):
            return labels
        if not restricts(self.model):
            raise InputError(f"labels: a {type(self.model).__name__} cannot restrict its answers to some labels")
        if isinstance(labels, str) or not is_list(labels):
            raise InputError(f"labels must be a list of names or ids; got {shown(labels)}")
        given = list(labels)
        ids = [self.label_names.find(label) if isinstance(label, str) else label for label in given]
        if None in ids:
            missing = given[ids.index(None)]
            raise InputError(f"the model has no label {shown(missing)}{nearest(missing, self.label_names)}")
        return LabelSet(ids, self.n_labels)

    def _predict(self, X: Any, k: int, texts: Sequence[str] | None, labels: Any) -> TopK:
        if labels is None:
            return self.model.predict(X, k, texts=texts)
        return self.model.predict(X, k, texts=texts, labels=self.prepare_labels(labels))  # type: ignore[call-arg]

    def named(self, top: TopK, *, threshold: float | None = None) -> list[Tags]:
        """Predictions with the names of their labels."""
        require(top, TopK, "top", "a TopK, what predict gives")
        number(or_none=True)("threshold", threshold)
        names = self.label_names
        if top.n_labels > len(names):
            raise InputError(f"top is of {top.n_labels} labels; this tagger knows {len(names)}")
        floor = -np.inf if threshold is None else threshold
        return [Tags(Tag(names[label], score) for label, score in row if score >= floor) for row in top]

    def evaluate(
        self,
        dataset: Dataset,
        metrics: Iterable[str] | str | None = None,
        *,
        threshold: float | None = None,
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
        """Why `label` fits `text`, or why it does not: which words spoke for and against it, on which path."""
        names = self.label_names
        vectorizer = self.require_vectorizer()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        if not isinstance(label, str):
            raise InputError(f"label must be the name of a label; got {type(label).__name__}")
        found = names.find(label)
        if found is None:
            raise InputError(f"the model has no label {shown(label)}{nearest(label, names)}")
        why_not = why_no_explanation(self.model)
        if why_not is not None:
            raise InputError(why_not)
        known = self.label_counts if self.n_rows else None
        explanation = cast(Explains, self.model).explain(
            vectorizer.transform_one(text), found, texts=[text], label_counts=known
        )
        spans = vectorizer.explain(text)
        return ExplainedTag.of(text, label, explanation, spans, names, vectorizer.feature_names)

    # ── the store ───────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one folder, whole or not at all; `xt.load(path)` gives the tagger back."""
        self._require_fitted()
        save(self, path)
        self.model.discard_checkpoint()

    def to_state(self) -> State:
        """Vectoriser and model are parts; the names and frequencies of the labels are arrays."""
        names, counts = self.label_names, cast(Int64, self.label_counts)
        parts: dict[str, Storable] = {"model": self.model}
        if self.vectorizer is not None:
            parts["vectorizer"] = self.vectorizer
        arrays = {**names.to_arrays("labels"), "label_counts": counts}
        meta: dict[str, Any] = {"n_rows": self.n_rows, **({"about": self.about} if self.about else {})}
        return State(meta=meta, arrays=arrays, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """The tagger again; refuses parts and arrays that do not fit together."""
        model, vectorizer = state.parts.get("model"), state.parts.get("vectorizer")
        if params or set(state.parts) - {"model", "vectorizer"} or not isinstance(model, Model):
            raise StoreError("a Tagger holds a part 'model', perhaps a part 'vectorizer', and no parameters of its own")
        try:
            tagger = cls(vectorizer, model)  # type: ignore[arg-type]  # the constructor checks
        except InputError as error:
            raise StoreError(str(error)) from None
        names, counts, n_rows = (
            StringTable.from_arrays(state.arrays, "labels"),
            state.arrays.get("label_counts"),
            state.meta.get("n_rows"),
        )
        if len(names) != model.n_labels:
            raise StoreError(f"the model has {model.n_labels} labels, but there are {len(names)} names")
        if counts is None or counts.dtype != np.int64 or counts.shape != (len(names),):
            raise StoreError(f"label_counts must be {len(names)} numbers of type int64")
        if (
            not isinstance(n_rows, int)
            or n_rows < 0
            or (len(counts) and not 0 <= counts.min() <= counts.max() <= n_rows)
        ):
            raise StoreError(f"label_counts must lie between 0 and n_rows, an integer; n_rows is {n_rows!r}")
        about = state.meta.get("about", {})
        if not isinstance(about, dict):
            raise StoreError(f"about must be an object; got {about!r:.80}")
        tagger._label_names, tagger.label_counts, tagger.n_rows = names, counts, n_rows
        tagger.about = about
        return tagger

    def __repr__(self) -> str:
        known = f" with {len(self._label_names)} labels" if self._label_names is not None else ""
        return f"Tagger({self.vectorizer!r}, {self.model!r}){known}"

    def _require_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError("this Tagger is not trained yet; call fit first, or xt.load a saved one")

    @property
    def label_names(self) -> StringTable:
        """The labels' names, by label id; refuses to answer before training."""
        self._require_fitted()
        return cast(StringTable, self._label_names)

    def require_vectorizer(self) -> Vectorizer:
        """The vectoriser; refuses if this tagger cannot read texts."""
        if self.vectorizer is None:
            raise InputError(
                "this model was trained on a feature matrix and cannot read texts; train it on texts instead"
            )
        return self.vectorizer
