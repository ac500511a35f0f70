"""Strings in, names out: a vectoriser, a model and the names of its labels as one object and one folder.

    tagger = Tagger(Vectorizer(ngrams=2), preset("bonsai")).fit(texts, label_lists)
    tagger.tag("some text", k=5)                      # -> [Tag(label="…", score=0.83), …]

A model trained on a feature matrix has no texts to read: its tagger has `vectorizer=None`, takes matrices in `predict`,
and still knows the names of its labels. So everything `xtrellis train` writes is a tagger.

Nothing changes after `fit` or loading, so any number of threads may share one tagger, and a forked process may use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from . import store
from .checks import integer, number
from .errors import InputError, NotFittedError, StoreError, nearest
from .explained import ExplainedTag
from .index import Index
from .model import Model
from .store import State, Storable
from .strings import StringTable
from .types import Csr, Int64, TopK

if TYPE_CHECKING:
    from typing_extensions import Self

    from .data import Dataset
    from .text import Vectorizer


class Tag(NamedTuple):
    """A label by name, and how sure the model is of it."""

    label: str
    score: float


class Tagger(Storable):
    """A vectoriser (None: rows are feature vectors already), a model, and the labels' names."""

    def __init__(self, vectorizer: Vectorizer | None, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(f"model must be a model such as xt.preset('bonsai'); got {type(model).__name__}")
        if vectorizer is not None and not (hasattr(vectorizer, "fit_transform") and hasattr(vectorizer, "transform")):
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

    def fit(self, texts: Iterable[str], labels: Iterable[Iterable[str]], *, label_text: bool = False) -> Self:
        """Learn from texts and, for each, the names of its labels (ids follow the sorted names).

        With `label_text`, the words of the labels' names help to place them in the label tree: labels with few rows
        then sit beside labels that are called alike.
        """
        texts = check_texts(texts)
        names, Y = _label_matrix(labels, len(texts))
        self.require_vectorizer()
        return self._fit(texts, Y, names, label_text=label_text)

    def fit_dataset(
        self,
        dataset: Dataset,
        *,
        look: Callable[[Csr, Csr], object] | None = None,
        label_text: bool = False,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from a Dataset: its texts if this tagger has a vectoriser, else its features; `label_text` as in `fit`.

        `look(X, Y)` is called with what the model will be trained on, before it is (to show an estimate, or to stop).
        `checkpoint` is passed on to the model, which must know what to do with it.
        """
        if self.vectorizer is not None and dataset.texts is None:
            raise InputError(
                "this tagger reads texts, but the data has none; use Tagger(None, model) for a feature matrix"
            )
        if self.vectorizer is None and dataset.X is None:
            raise InputError("the data has texts but no features; give the tagger a Vectorizer")
        rows = dataset.texts if self.vectorizer is not None else dataset.X
        extra = {} if checkpoint is None else {"checkpoint": checkpoint}
        return self._fit(rows, dataset.Y, dataset.label_names, look, extra, label_text=label_text)

    def _fit(
        self,
        rows: Any,
        Y: Csr,
        names: Iterable[str] | None,
        look: Callable[[Csr, Csr], object] | None = None,
        extra: Mapping[str, Any] | None = None,
        *,
        label_text: bool,
    ) -> Self:
        self._label_names = None  # a training that fails must not leave old names beside a new vocabulary
        named = None if names is None else StringTable.of(names)
        names_to_read = self._names_to_read(named) if label_text else None
        for part in self.model.get_params().values():
            if isinstance(part, Index):
                part.know(named)
        X = self.vectorizer.fit_transform(rows) if self.vectorizer is not None else rows
        if look is not None:
            look(X, Y)
        extra = dict(extra or {})
        if names_to_read is not None:
            extra["label_features"] = self.require_vectorizer().transform(names_to_read)
        if self.vectorizer is not None and self.model.reads_texts:
            extra["texts"] = list(rows)
        self.model.fit(X, Y, **extra)
        # Without names a label is called by its number, so that answers always have one.
        self._label_names = named if named is not None else StringTable.of(map(str, range(Y.shape[1])))
        self.label_counts = np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1]).astype(np.int64)
        self.n_rows = int(Y.shape[0])
        return self

    def _names_to_read(self, names: StringTable | None) -> StringTable:
        """The names; refuses before any work if there are none, or nothing to read them, or no use for them."""
        if not self.model.fit_takes("label_features"):
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
        return self.named(self._ask(row, k, [text]), threshold=threshold)[0]

    def tag_many(self, texts: Iterable[str], k: int = 5, *, threshold: float | None = None) -> list[list[Tag]]:
        """`tag` for each text; much faster than one at a time."""
        number(or_none=True)("threshold", threshold)
        self.require_vectorizer()
        return self.named(self.predict(texts, k), threshold=threshold)

    def predict(self, rows: Any, k: int = 10) -> TopK:
        """The k best labels of each text (each feature row, if the tagger has no vectoriser), as label ids."""
        integer(at_least=1)("k", k)
        self._require_fitted()
        if self.vectorizer is None:
            return self.model.predict(rows, k)
        rows = check_texts(rows)
        return self._ask(self.vectorizer.transform(rows), k, rows)

    def _ask(self, X: Any, k: int, texts: Iterable[str]) -> TopK:
        extra = {"texts": list(texts)} if self.model.reads_texts else {}
        return self.model.predict(X, k, **extra)

    def predict_dataset(self, dataset: Dataset, k: int = 10) -> TopK:
        """The k best labels of each row of a Dataset; a feature matrix is taken as it is."""
        integer(at_least=1)("k", k)
        self._require_fitted()
        if dataset.texts is not None and self.vectorizer is not None:
            return self.predict(dataset.texts, k)
        if dataset.X is None:
            raise InputError("the data has texts only, but this model was trained on a feature matrix")
        return self.model.predict(dataset.X, k)

    def named(self, top: TopK, *, threshold: float | None = None) -> list[list[Tag]]:
        """Predictions with the names of their labels."""
        names = self.label_names
        floor = -np.inf if threshold is None else threshold
        return [[Tag(names[label], score) for label, score in row if score >= floor] for row in top]

    def inverse_propensity(self, *, extra: int = 0) -> NDArray[np.float64] | None:
        """1/p of each label by the training rows' frequencies, then of `extra` labels never seen; None if not known."""
        from .labels import inverse_propensity

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
        number_of = names.find(label)
        if number_of is None:
            raise InputError(f"the model has no label {label!r}{nearest(label, names)}")
        if not hasattr(self.model, "explain"):
            raise InputError(f"{type(self.model).__name__} cannot explain its answers")
        known = self.label_counts if self.n_rows else None
        told = {"texts": [text]} if self.model.reads_texts else {}
        explanation = self.model.explain(vectorizer.transform_one(text), number_of, label_counts=known, **told)
        spans = vectorizer.explain(text)
        return ExplainedTag.of(text, label, explanation, spans, names, vectorizer.feature_names)

    # ── the store ───────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | Path) -> None:
        """Write everything as one folder, whole or not at all; `xt.load(path)` gives the tagger back."""
        self._require_fitted()
        store.save(self, path)

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


def check_texts(texts: Any) -> Sequence[str]:
    """`texts` as a sequence of strings; says which one is not."""
    if isinstance(texts, StringTable):
        return texts
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be a sequence of strings; got one {type(texts).__name__}")
    checked: list[str] = list(texts)
    for i, text in enumerate(checked):
        if not isinstance(text, str):
            raise InputError(f"texts must be strings; texts[{i}] is {type(text).__name__} {text!r:.60}")
    return checked


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
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    indices = np.fromiter(
        (i for row in rows for i in sorted(number_of[name] for name in row)), np.int64, int(indptr[-1])
    )
    return StringTable.of(names), csr_array(
        (np.ones(len(indices), np.float32), indices, indptr), shape=(n_rows, len(names))
    )
