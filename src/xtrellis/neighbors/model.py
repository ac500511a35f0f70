"""`Neighbors`: the labels of the most similar training rows, weighed by how similar they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import (
    Csr,
    Float32,
    Int32,
    Int64,
    Rows,
    TopK,
    UInt8,
    as_features,
    as_integers,
    as_labels,
    as_pairs,
    take_rows,
)
from ..core import InputError, StoreError, integer, number, param
from ..data import TrainingData
from ..explain import Explanation
from ..model import Estimate, FeatureModel, LabelSet, check_k, check_label, check_label_ids
from ..store import State, Storable
from .explain import explain
from .index import ALL_LABELS, NOBODY, RowIndex
from .segment import RowSegment

if TYPE_CHECKING:
    from typing_extensions import Self

EVEN: Float32 = np.zeros(0, np.float32)  # all labels weigh the same


class Neighbors(FeatureModel):
    """Each of the nearest training rows votes for its labels by its similarity (the cosine of the two rows).

    A label's score is its share of all votes: 1 if every neighbour has it. Labels that no neighbour has are not
    answered; rows without known features have no neighbours and get no labels. Nothing is learned: `fit` builds an
    index of the rows, which is searched exactly. `add` and `remove` change it in milliseconds. Labels of equal scores
    are ordered by how frequent they are, then by id.
    """

    _learned = "_index"
    learns_from_new_rows: ClassVar[bool] = True  # it knows the others

    neighbors: int = param(integer(at_least=1, at_most=2**31 - 1), "nearest rows that vote", default=50, role="search")
    power: float = param(
        number(at_least=0, at_most=100), "a row's vote is its similarity to this power; 0: all alike", default=2.0,
        role="search",
    )  # fmt: skip
    frequency: float = param(
        number(at_least=0, at_most=1),
        "votes for a label are divided by the number of its rows to this power: above 0, rare labels gain",
        default=0.0,
        role="search",
    )
    keep_texts: int = param(
        integer(at_least=0, at_most=2**20),
        "characters of each training text that are kept in the model, to be shown in explanations",
        default=0,
    )

    _index: RowIndex | None = None
    _weights: tuple[RowIndex, float, Float32] | None = None

    @property
    def index(self) -> RowIndex:
        """The rows."""
        self._require_fitted()
        if self._index is None:
            raise RuntimeError("a fitted model has an index")
        return self._index

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.index.n_labels

    @property
    def n_rows(self) -> int:
        """How many rows it remembers; removed ones are not counted."""
        return int((~self.index.removed_rows()).sum())

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        self._index = RowIndex.of(data.X, data.Y, self._excerpts(data), threads=self.threads)

    def _excerpts(self, data: TrainingData) -> list[str] | None:
        if not self.keep_texts or data.texts is None:
            return None
        return [text[: self.keep_texts] for text in data.texts]

    def _estimate(self, data: TrainingData) -> Estimate:
        """An index is about as large as the rows; while it is built, the rows are there by feature too."""
        rows = 8 * int(data.X.nnz)
        model_bytes = int(1.2 * rows) + 6 * data.n_rows + 4 * int(data.Y.nnz) + 8 * data.n_labels + 8 * data.n_features
        texts = 0
        if self.keep_texts and data.texts is not None:
            texts = sum(min(len(text), self.keep_texts) for text in data.texts) + 8 * data.n_rows
        expected = Estimate.of(data, training_bytes=model_bytes + rows + 2 * texts, model_bytes=model_bytes + texts)
        return replace(expected, seconds=max(1, round(3e-7 * data.X.nnz)))

    def predict(self, X: Any, k: int = 10, *, labels: Any = None, texts: Sequence[str] | None = None) -> TopK:
        """The k labels with most votes; fewer where the neighbours have fewer. `labels` (ids) restricts the answers."""
        return self.votes(X, k, labels=labels)

    def votes(self, X: Any, k: int = 10, *, exclude: Any = None, labels: Any = None) -> TopK:
        """As `predict`; `exclude` names one training row for each row of X that may not vote (-1: all may).

        So training rows get the answers that they would get if they had not been there: see `leave_one_out`.
        """
        index, k = self.index, check_k(k)
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        rows = self._rows(X, index.n_features)
        k = min(k, self.n_labels if wanted is None else len(wanted))
        return index.vote(
            rows, k, **self._voting(), exclude=self._excluded(exclude, rows), allowed=_mask(wanted, self.n_labels),
            threads=self.threads,
        )  # fmt: skip

    def leave_one_out(self, k: int = 10, *, rows: Any = None) -> TopK:
        """Votes for training rows (all, or those with these numbers) by all others: what `predict` would answer if
        the row had not been there. Removed rows get no labels."""
        index, k = self.index, min(check_k(k), self.n_labels)
        numbers = np.arange(index.n_rows) if rows is None else self._numbers(rows)
        X = index.rows()
        X = X if rows is None else take_rows(X, numbers)
        return index.vote(X, k, **self._voting(), exclude=numbers.astype(np.int32), threads=self.threads)

    def left_out(self, data: TrainingData, rows: Int64, k: int) -> TopK:
        """See `LeavesOut`: `leave_one_out` of these rows."""
        return self.leave_one_out(k, rows=rows)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None, exclude: Any = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score.

        Exactly what `predict` gives; 0 for labels that no neighbour has. `exclude` as in `votes`.
        """
        index = self.index
        rows = self._rows(X, index.n_features)
        wanted = as_pairs(labels, n_rows=rows.shape[0], n_labels=self.n_labels)
        return index.given(
            rows, wanted, **self._voting(), exclude=self._excluded(exclude, rows), threads=self.threads
        )  # fmt: skip

    def nearest(self, X: Any, k: int | None = None, *, exclude: Any = None) -> TopK:
        """The k most similar training rows (None: `neighbors`) of each row: their numbers as `labels`, similarities as
        `scores`. Exact; of equal ones, the smaller number. Only similarities above 0 count."""
        index = self.index
        rows = self._rows(X, index.n_features)
        k = self.neighbors if k is None else check_k(k)
        return index.nearest(rows, k, exclude=self._excluded(exclude, rows), threads=self.threads)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Which training rows vote for the label with this id and which do not, how similar they are, by which
        features."""
        index = self.index
        label, _ = check_label(label, label_counts, self.n_labels)
        return explain(index, self._row(x, index.n_features), label, **self._voting())

    def add(self, X: Any, Y: Any, *, texts: Sequence[str] | None = None) -> Int64:
        """Remember more rows: the same as if they had been there when it was fitted. Returns their numbers.

        X has the same features, Y the same labels (a matrix, or lists of ids). It takes about as long as fitting these
        rows alone.
        """
        index = self.index
        labels = as_labels(Y, n_labels=index.n_labels)
        data = self._prepared(TrainingData.of(as_features(X, n_features=index.n_features), labels, texts=texts))
        self._index = index.with_rows(data.X, data.Y, self._excerpts(data), threads=self.threads)
        return np.arange(index.n_rows, index.n_rows + data.n_rows)

    def updated(self, data: TrainingData, fresh: Int64, again: Int64, checkpoint: Path | None = None) -> Self:
        """See `Updates`: remembers the fresh rows, which takes milliseconds; new labels are theirs."""
        index, new = self.index, self._prepared(data.select(fresh))
        counts = np.pad(index.label_counts, (0, data.n_labels - index.n_labels))
        wider = RowIndex(index.segments, counts)
        other = self.clone().set_params(threads=self.threads)
        other._index = wider.with_rows(new.X, new.Y, self._excerpts(new), threads=self.threads) if len(fresh) else wider
        other._trained_with = self._trained_with
        return other

    def remove(self, rows: Any) -> None:
        """Forget the rows with these numbers: those of `fit` count from 0, those that were added go on from there."""
        index = self.index
        numbers = np.unique(self._numbers(rows))
        gone = numbers[index.removed_rows()[numbers]]
        if len(gone):
            raise InputError(f"row {gone[0]} was removed before")
        if len(numbers) == self.n_rows:
            raise InputError(f"rows: all {len(numbers)} rows would be removed; at least one must stay")
        self._index = index.without(numbers)

    def without(self, rows: Int64) -> Self:
        """See `Forgets`: another model, without these rows."""
        other = self.clone().set_params(threads=self.threads)
        vars(other).update(_index=self.index, _trained_with=self._trained_with)
        other.remove(rows)
        return other

    def relabelled(self, rows: Int64, Y: Csr) -> Self:
        """See `Relabels`: these rows vote for other labels from now on."""
        index = self.index
        counts = np.pad(index.label_counts, (0, max(0, int(Y.shape[1]) - index.n_labels)))
        other = self.clone().set_params(threads=self.threads)
        vars(other).update(
            _index=RowIndex(index.segments, counts).relabelled(rows, Y), _trained_with=self._trained_with
        )
        return other

    def _numbers(self, rows: Any) -> Int64:
        n_rows = self.index.n_rows
        numbers: Int64 = as_integers(rows, "rows", f"numbers of training rows, from 0 to {n_rows - 1}")
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= n_rows):
            bad = numbers[(numbers < 0) | (numbers >= n_rows)][0]
            raise InputError(f"rows must be numbers of training rows, from 0 to {n_rows - 1}; got {bad}")
        return numbers

    def _excluded(self, exclude: Any, rows: Rows) -> Int32:
        if exclude is None:
            return NOBODY
        numbers: Int32 = as_integers(exclude, "exclude", "one row number for each row of X", dtype=np.int32)
        if len(numbers) != rows.shape[0]:
            raise InputError(
                f"exclude must be one row number for each row of X; got {len(numbers)} for {rows.shape[0]}"
            )
        return numbers

    def _voting(self) -> dict[str, Any]:
        return {"neighbors": int(self.neighbors), "power": float(self.power), "weights": self._label_weights()}

    def _label_weights(self) -> Float32:
        """Of each label, by its frequency; kept until that changes."""
        index, exponent = self.index, float(self.frequency)
        if exponent == 0:
            return EVEN
        known = self._weights
        if known is None or known[0] is not index or known[1] != exponent:
            weights = (np.maximum(index.label_counts, 1).astype(np.float64) ** -exponent).astype(np.float32)
            known = self._weights = index, exponent, weights
        return known[2]

    def _to_state(self) -> State:
        index = self.index
        parts: dict[str, Storable] = {f"rows{i}": segment for i, segment in enumerate(index.segments)}
        return State(meta={"n_segments": len(parts)}, arrays={"label_counts": index.label_counts}, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model, counts = cls(**params), state.arrays.get("label_counts")
        segments = [state.parts.get(f"rows{i}") for i in range(len(state.parts))]
        rows = [segment for segment in segments if isinstance(segment, RowSegment)]
        if not rows or len(rows) != len(segments) or len(rows) != state.meta.get("n_segments"):
            raise StoreError(f"the parts of a Neighbors must be its RowSegments; got {len(rows)} of {len(segments)}")
        if counts is None or set(state.arrays) != {"label_counts"}:
            raise StoreError("a Neighbors holds one array, 'label_counts'")
        if counts.dtype != np.int64 or counts.ndim != 1 or not len(counts) or not counts.flags.c_contiguous:
            raise StoreError(f"label_counts must be int64, one for each label; got {counts.dtype} {counts.shape}")
        rows = [piece for segment in rows for piece in (segment, *segment.behind)]
        first = n_features = 0
        for segment in rows:
            if segment.first != first or segment.n_features < n_features:
                raise StoreError("the RowSegments of a Neighbors must follow each other, and none have fewer features")
            first, n_features = first + segment.n_rows, segment.n_features
        if first > 2**31 - 1:
            raise StoreError(f"a Neighbors has at most {2**31 - 1} rows; got {first}")
        model._index = RowIndex(rows, counts)
        return model


def _mask(wanted: Int64 | LabelSet | None, n_labels: int) -> UInt8:
    """1 for each label that may be answered."""
    if wanted is None:
        return ALL_LABELS

    def make() -> UInt8:
        mask = np.zeros(n_labels, np.uint8)
        mask[wanted.ids if isinstance(wanted, LabelSet) else wanted] = 1
        return mask

    return wanted.made_for(Neighbors, make) if isinstance(wanted, LabelSet) else make()
