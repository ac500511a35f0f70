"""Statistics of a data set: its sizes, its tail, and what is empty."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Csr
from ..core import clear_calls, require
from .dataset import Dataset

if TYPE_CHECKING:
    from rich.console import RenderableType

TAIL = 5  # a label with at most this many rows belongs to the tail


@dataclass(frozen=True)
class Spread:
    """How a count is spread over the things counted."""

    mean: float
    median: float
    min: int
    max: int


@dataclass(frozen=True)
class Bin:
    """Labels whose number of rows is from `first` to `last`."""

    first: int
    last: int
    labels: int


@dataclass(frozen=True)
class Stats:
    """What `describe` finds. Rows per label counts labels that have rows; the empty ones are counted apart."""

    name: str
    rows: int
    features: int
    labels: int
    label_entries: int
    feature_entries: int
    text_characters: Spread | None
    labels_per_row: Spread
    rows_per_label: Spread
    features_per_row: Spread | None
    tail_labels: float
    """Share of the labels with rows that have at most 5."""
    tail_entries: float
    """Share of the label entries that belong to those."""
    rows_without_labels: int
    rows_without_features: int
    labels_without_rows: int
    features_without_rows: int
    dropped_labels: int
    histogram: tuple[Bin, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def render(self) -> RenderableType:
        """A table and a small histogram for a terminal."""
        from .describe_table import render

        return render(self)


@clear_calls
def describe(dataset: Dataset) -> Stats:
    """Statistics of `dataset`. One pass over the matrices."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    X, Y = dataset.X, dataset.Y
    per_row = np.diff(Y.indptr)
    per_label, empty_labels = column_counts(Y)
    in_tail = per_label <= TAIL
    features_per_row = None if X is None else np.diff(X.indptr)
    lengths = None if dataset.texts is None else np.fromiter(map(len, dataset.texts), np.int64, dataset.n_rows)
    content = lengths if features_per_row is None else features_per_row
    return Stats(
        name=dataset.name,
        rows=dataset.n_rows,
        features=dataset.n_features,
        labels=dataset.n_labels,
        label_entries=int(Y.nnz),
        feature_entries=0 if X is None else int(X.nnz),
        text_characters=None if lengths is None else _spread(lengths),
        labels_per_row=_spread(per_row),
        rows_per_label=_spread(per_label),
        features_per_row=None if features_per_row is None else _spread(features_per_row),
        tail_labels=_share(int(in_tail.sum()), len(per_label)),
        tail_entries=_share(int(per_label[in_tail].sum()), int(Y.nnz)),
        rows_without_labels=int((per_row == 0).sum()),
        rows_without_features=0 if content is None else int((content == 0).sum()),
        labels_without_rows=empty_labels,
        features_without_rows=0 if X is None else column_counts(X)[1],
        dropped_labels=dataset.dropped_labels,
        histogram=_histogram(per_label),
    )


def column_counts(matrix: Csr) -> tuple[Array, int]:
    """(entries of each column that has any, number of columns that have none).

    A header may announce two billion columns for a handful of entries; memory follows the entries, not the header.
    """
    columns = int(matrix.shape[1])
    if columns > 10_000_000 + 4 * matrix.nnz:
        counts = np.unique(matrix.indices, return_counts=True)[1]
    else:
        counts = np.bincount(matrix.indices, minlength=columns)
        counts = counts[counts > 0]
    return counts, columns - len(counts)


def _spread(counts: Array) -> Spread:
    if not len(counts):
        return Spread(0.0, 0.0, 0, 0)
    return Spread(float(counts.mean()), float(np.median(counts)), int(counts.min()), int(counts.max()))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _histogram(counts: Array) -> tuple[Bin, ...]:
    """Bins 1, 2–3, 4–7, 8–15, …: rows per label spread over orders of magnitude."""
    if not len(counts):
        return ()
    # frexp is exact where log2 of a power of two might round down.
    places = np.bincount(np.frexp(counts.astype(np.float64))[1] - 1)
    return tuple(Bin(1 << i, (2 << i) - 1, int(n)) for i, n in enumerate(places))
