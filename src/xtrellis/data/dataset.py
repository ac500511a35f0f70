"""`Dataset`: rows with features or texts, their labels, and the names of things. Immutable; checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import (
    Csr,
    Int64,
    StringTable,
    as_features,
    as_labels,
    as_texts,
    assemble,
    for_scipy,
    row_numbers,
    take_rows,
)
from ..core import InputError, clear_calls, integer, key, mix_words, number, shown, text


@clear_calls
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows to learn from or to be judged on.

    `X` is n × d csr float32, or None when there are only `texts`; `Y` is n × L csr float32 of ones. What is passed in
    may be any sparse or dense matrix; it is converted and checked here. Rows and labels may be empty.
    """

    X: Csr | None
    Y: Csr
    texts: list[str] | None = field(default=None, kw_only=True)
    label_names: StringTable | None = field(default=None, kw_only=True)
    feature_names: StringTable | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    excluded: Csr | None = field(default=None, kw_only=True)
    """Pairs (row, label) that count neither as right nor as wrong: XMC's filter_labels files. Never also in `Y`."""
    dropped_labels: int = field(default=0, kw_only=True)
    """How many labels the reader left out because they are not among the names it was told to use."""

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        text()("name", self.name)
        integer(at_least=0, at_most=2**63 - 1)("dropped_labels", self.dropped_labels)
        if self.X is None and self.texts is None:
            raise InputError("a Dataset needs features (X) or texts; got neither")
        if self.X is not None:
            put("X", for_scipy(as_features(self.X)))
        if self.texts is not None:
            put("texts", list(as_texts(self.texts)))
        if self.label_names is not None:
            put("label_names", StringTable.of(self.label_names))
        n_rows = None if self.X is None else self.X.shape[0]
        put("Y", for_scipy(as_labels(self.Y, n_rows=n_rows, names=self.label_names)))
        if self.texts is not None and len(self.texts) != self.n_rows:
            raise InputError(f"there are {len(self.texts)} texts for {self.n_rows} rows of Y; they must be alike")
        put("label_names", _check_names(self.label_names, self.n_labels, "label_names", "labels"))
        if self.feature_names is not None and self.X is None:
            raise InputError("feature_names were given without features (X)")
        put("feature_names", _check_names(self.feature_names, self.n_features, "feature_names", "features"))
        if self.excluded is not None:
            pairs = as_labels(self.excluded, n_rows=self.n_rows, n_labels=self.n_labels, name="excluded")
            put("excluded", for_scipy(pairs))
            put("Y", for_scipy(remove_pairs(self.Y, self.excluded)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels, those without rows included."""
        return int(self.Y.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features; 0 when there are only texts."""
        return 0 if self.X is None else int(self.X.shape[1])

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        held = f"{self.n_features} features" if self.X is not None else "texts"
        return f"Dataset({self.name!r}: {self.n_rows} rows, {held}, {self.n_labels} labels)"

    def labels_of(self, row: int) -> list[str]:
        """The label names of one row, or the label numbers as text when there are no names."""
        integer(at_least=-(2**63), at_most=2**63 - 1)("row", row)
        if not -self.n_rows <= row < self.n_rows:  # negative numbers count from the end
            raise IndexError(f"there is no row {row}: the data set has {self.n_rows}")
        row = range(self.n_rows)[row]
        ids = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
        return [str(i) if self.label_names is None else self.label_names[int(i)] for i in ids]

    def select(self, rows: Any) -> Dataset:
        """Some of the rows, in the order given: positions, a boolean mask, or a slice. Columns stay as they are."""
        chosen = positions(rows, self.n_rows)
        return replace(
            self,
            X=None if self.X is None else take_rows(self.X, chosen),
            Y=take_rows(self.Y, chosen),
            texts=None if self.texts is None else [self.texts[i] for i in chosen],
            excluded=None if self.excluded is None else take_rows(self.excluded, chosen),
        )

    def split(self, holdout: float = 0.1, seed: int = 0) -> tuple[Dataset, Dataset]:
        """(train, held out): see `split_rows` for which row goes where. Label and feature columns stay the same."""
        train, held_out = split_rows(self.n_rows, holdout=holdout, seed=seed)
        return self.select(train), self.select(held_out)


@clear_calls
def split_rows(n_rows: int, *, holdout: float = 0.1, seed: int = 0) -> tuple[Int64, Int64]:
    """Row numbers (train, held out), each ascending.

    Row i is held out if and only if `key(seed, "split", i) / 2**64 < holdout`. So a row's side depends on the seed and
    its position alone: rows appended later move nobody, and a larger holdout contains a smaller one. The price is that
    the share is exact only on average, and that a side of a tiny data set may be empty.
    """
    integer(at_least=0)("n_rows", n_rows)
    number(above=0.0, at_most=1.0)("holdout", holdout)
    integer(at_most=2**63 - 1)("seed", seed)
    keys = mix_words(np.uint64(key(seed, "split")) ^ np.arange(n_rows, dtype=np.uint64))
    # 53 bits of the key, because those are exact in a double.
    held = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 < holdout
    return np.flatnonzero(~held), np.flatnonzero(held)


def remove_pairs(Y: Csr, pairs: Csr) -> Csr:
    """Y without the entries that `pairs` holds."""
    width = Y.shape[1]
    where = row_numbers(Y) * width + Y.indices
    kept = ~np.isin(where, row_numbers(pairs) * width + pairs.indices)
    if kept.all():
        return Y
    indptr = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return assemble(Y.data[kept], Y.indices[kept], indptr.astype(np.int64), Y.shape)


def positions(rows: Any, n: int) -> Int64:
    """Row numbers from 0, of what says which of n rows are meant: numbers, a boolean mask, or a slice."""
    if isinstance(rows, slice):
        return np.arange(n, dtype=np.int64)[rows]
    try:
        chosen = np.asarray(rows)
    except (TypeError, ValueError):  # a ragged list
        raise InputError(f"rows must be row numbers, a boolean mask or a slice; got {shown(rows)}") from None
    if chosen.size == 0 and chosen.ndim == 1:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise InputError(f"rows must be row numbers, a boolean mask or a slice; got {shown(rows)}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n:
            raise InputError(f"the mask has {len(chosen)} entries; the data set has {n} rows")
        return np.flatnonzero(chosen)
    if len(chosen) and (chosen.min() < -n or chosen.max() >= n):
        bad = int(chosen.min() if chosen.min() < -n else chosen.max())
        raise InputError(f"row {bad} is outside the {n} rows of the data set")
    return np.where(chosen < 0, chosen + n, chosen).astype(np.int64)


def _check_names(names: Iterable[str] | None, expected: int, field_name: str, things: str) -> StringTable | None:
    if names is None:
        return None
    table = StringTable.of(names)
    if len(table) != expected:
        raise InputError(f"{field_name} has {len(table)} names; there are {expected} {things}")
    return table
