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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from .arrays import Csr, Float64, Int64, StringTable, TopK, as_texts
from .core import InputError, NotFittedError, ParameterError, StoreError, integer, nearest, number
from .data import Dataset, TrainingData, align, labels_from_pairs
from .explain import ExplainedTag
from .labels import inverse_propensity
from .metrics import Metric, Report, evaluate
from .model import Estimate, Explains, Model, why_no_explanation
from .store import State, Storable, save
from .text import Vectorizer

if TYPE_CHECKING:
    from typing_extensions import Self

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "PSP@1", "PSP@3", "PSP@5")


class Tag(NamedTuple):
    """A label by name, and how sure the model is of it."""

    label: str
    score: float


@dataclass(frozen=True, eq=False)
class PreparedData(TrainingData):
    """What a tagger's model will be trained on, and the vectoriser that has read the texts."""

    vectorizer: Vectorizer | None = None


class Tagger(Storable):
    """A vectoriser (None: rows are feature vectors already), a model, and the labels' names."""

    def __init__(self, vectorizer: Vectorizer | None, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(f"model must be a model such as xt.preset('bonsai'); got {type(model).__name__}")
        if vectorizer is not None and not isinstance(vectorizer, Vectorizer):
            raise InputError(f"vectorizer must be an xt.Vectorizer or None; got {type(vectorizer).__name__}")
        self.vectorizer, self.model = vectorizer, model
        self._label_names: StringTable | None = None
        self.label_counts: Int64 | None = None
        self.n_rows = 0

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
        if isinstance(data, TrainingData):
            raise InputError("a tagger prepares its data itself, from texts and labels or a Dataset; got TrainingData")
        if not isinstance(data, Dataset):
            self.require_vectorizer()
            texts = as_texts(data)
            names, Y = _label_matrix(labels, len(texts))
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

    def tag(self, text: str, k: int = 5, *, threshold: float | None = None) -> list[Tag]:
        """The k best labels of one text, best first; only those with a score of at least `threshold`, if given."""
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__} (tag_many takes several texts)")
        integer(at_least=1)("k", k)
        number(or_none=True)("threshold", threshold)
        self._require_fitted()
        row = self.require_vectorizer().transform_one(text)
        return self.named(self.model.predict(row, k, texts=[text]), threshold=threshold)[0]

    def tag_many(self, texts: Iterable[str], k: int = 5, *, threshold: float | None = None) -> list[list[Tag]]:
        """`tag` for each text; much faster than one at a time."""
        number(or_none=True)("threshold", threshold)
        self.require_vectorizer()
        return self.named(self.predict(texts, k), threshold=threshold)

    def predict(self, rows: Any, k: int = 10) -> TopK:
        """The k best labels, as ids, of each text, each feature row (without a vectoriser), or row of a Dataset."""
        integer(at_least=1)("k", k)
        self._require_fitted()
        if isinstance(rows, Dataset):
            if rows.texts is None or self.vectorizer is None:
                if rows.X is None:
                    raise InputError("the data has texts only, but this model was trained on a feature matrix")
                return self.model.predict(rows.X, k, texts=rows.texts)  # a feature matrix is taken as it is
            rows = rows.texts
        if self.vectorizer is None:
            return self.model.predict(rows, k)
        texts = as_texts(rows)
        return self.model.predict(self.vectorizer.transform(texts), k, texts=texts)

    def named(self, top: TopK, *, threshold: float | None = None) -> list[list[Tag]]:
        """Predictions with the names of their labels."""
        names = self.label_names
        floor = -np.inf if threshold is None else threshold
        return [[Tag(names[label], score) for label, score in row if score >= floor] for row in top]

    def evaluate(self, dataset: Dataset, metrics: Iterable[str] | str | None = None) -> Report:
        """How good the tagger is on rows whose labels are known, with as many predictions per row as metrics look at.

        Labels are matched by name; those that the tagger does not know count as missed.
        """
        names = self.label_names
        asked = [Metric.parse(name) for name in (METRICS if metrics is None else _split(metrics))]
        if not asked:
            raise ParameterError("metrics must name at least one metric, such as 'P@1'")
        aligned = align(dataset, names, unknown="keep")
        weights = None
        if any(metric.weighted for metric in asked):
            weights = self.inverse_propensity(extra=aligned.n_labels - len(names))
            if weights is None and metrics is not None:
                raise InputError("PSP and PSnDCG need the frequencies of labels in training, which this model lacks")
        if weights is None:
            asked = [metric for metric in asked if not metric.weighted]
        k = max(metric.k for metric in asked)
        if aligned.excluded is not None and aligned.excluded.nnz:  # taken out of the predictions: ask for more
            k += int(np.diff(aligned.excluded.indptr).max())
        top = self.predict(dataset, k)
        return evaluate(
            aligned.Y,
            TopK(top.labels, top.scores, aligned.n_labels),
            [str(metric) for metric in asked],
            weights=weights,
            drop=aligned.excluded,
            depth=self._label_depths(aligned.n_labels) if any(metric.kind == "depth" for metric in asked) else None,
        )

    def _label_depths(self, n_labels: int) -> Any:
        """How deep each label lies in the model's tree; labels that it does not know are never predicted."""
        # (A parameter may be called `tree` too: XTransformer's is a model.)
        depths = getattr(getattr(self.model, "tree", None), "label_depths", None)
        if depths is None:
            raise InputError(f"depth@k needs a model with a label tree; this is a {type(self.model).__name__}")
        return np.pad(depths, (0, n_labels - len(depths)))

    def inverse_propensity(self, *, extra: int = 0) -> Float64 | None:
        """1/p of each label by the training rows' frequencies, then of `extra` labels never seen; None if not known."""
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
            raise InputError(f"the model has no label {label!r}{nearest(label, names)}")
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
        return State(meta={"n_rows": self.n_rows}, arrays=arrays, parts=parts)

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
        tagger._label_names, tagger.label_counts, tagger.n_rows = names, counts, n_rows
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


def _split(metrics: Iterable[str] | str | None) -> list[str]:
    """Names from a list, or from one string with commas or spaces."""
    given: list[Any] = [metrics] if isinstance(metrics, str) else list(metrics or [])
    return [name for some in given for name in (some.replace(",", " ").split() if isinstance(some, str) else [some])]


def _label_matrix(labels: Any, n_rows: int) -> tuple[StringTable, Csr]:
    """Lists of label names as sorted names and an n×L matrix of ones; a name given twice in a row counts once."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise InputError(f"labels must be one list of names for each text; got {type(labels).__name__}")
    rows: list[set[str]] = []
    for i, row in enumerate(labels):
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            raise InputError(
                f"labels[{i}] must be a list of names; got {row!r:.60}"
                + (f", did you mean [{row!r:.60}]?" if isinstance(row, str) else "")
            )
        rows.append(set(row))
        for name in rows[-1]:
            if not isinstance(name, str):
                raise InputError(f"labels[{i}] must hold names; got {type(name).__name__} {name!r:.60}")
    if len(rows) != n_rows:
        raise InputError(f"there must be one list of labels for each text; got {n_rows} texts and {len(rows)} lists")
    names = sorted(set(chain.from_iterable(rows)))
    number_of = {name: i for i, name in enumerate(names)}
    counts = [len(row) for row in rows]
    columns = np.fromiter((number_of[name] for row in rows for name in row), np.int64, sum(counts))
    Y = labels_from_pairs(np.repeat(np.arange(n_rows), counts), columns, (n_rows, len(names)))
    return StringTable.of(names), Y
