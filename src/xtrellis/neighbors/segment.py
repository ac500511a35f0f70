"""`RowSegment`: training rows with their labels in one immutable piece, ready to be searched.

The rows are kept exactly, in blocks, beside inverted lists whose codes bound similarities from above
(native/neighbors/segment.hpp draws them). Everything is a plain array: a model is used as it lies on disk. Removed rows
are marked and skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._native import neighbors as native
from ..arrays import MAX_ID, Array, Csr, Int32, Int64, StringTable, UInt8, assemble, take_rows
from ..core import StoreError
from ..store import State, Storable
from . import earlier
from .order import similar_together

LAYOUT = 4  # of the arrays; a model with another one would give wrong answers
DTYPES: dict[str, Any] = {
    "columns": np.int32,
    "begins": np.uint32,
    "bytes": np.uint8,
    "numbers": np.uint8,
    "ceilings": np.uint8,
    "list_begin": np.uint32,
    "list_blocks": np.uint16,
    "list_codes": np.uint8,
    "dense_ids": np.int32,
    "dense_codes": np.uint8,
    "dense_tops": np.uint8,
    "label_begin": np.int64,
    "labels": np.int32,
    "removed": np.uint8,
}
META = ("norm", "negative")
LARGEST_NORM = 1e30  # of a row of features within the limits of a model


class RowSegment(Storable):
    """Some training rows; the first one has the number `first` among all."""

    def __init__(
        self,
        arrays: dict[str, Array],
        *,
        first: int,
        n_features: int,
        meta: dict[str, Any],
        texts: StringTable | None = None,
    ) -> None:
        self.arrays, self.first, self.n_features, self.texts = arrays, first, n_features, texts
        self.meta = meta  # norm, negative: see native/neighbors/segment.hpp
        self.n_rows = len(arrays["label_begin"]) - 1
        self._places: Int64 | None = None
        self.behind: list[RowSegment] = []  # what one that was stored by an earlier version could not hold
        self._check()
        given: dict[str, Any] = {**meta, **arrays}
        self.native = native.Segment(first=first, rows=self.n_rows, **given)

    @classmethod
    def of(
        cls, X: Csr, Y: Csr, *, first: int = 0, texts: Sequence[str] | None = None, threads: int | None = None
    ) -> list[RowSegment]:
        """As many as it takes to hold all rows."""
        out = []
        columns, X, n_features = *_renumbered(X), int(X.shape[1])
        begin = 0
        while begin < X.shape[0]:
            end = begin + native.fitting(X.indptr, X.indices, X.data, int(X.shape[1]), begin)
            order = similar_together(X, begin, end, threads=threads)
            rows, span = (X, (begin, end)) if order is None else (take_rows(X, begin + order), (0, end - begin))
            arrays = native.build(rows.indptr, rows.indices, rows.data, int(X.shape[1]), *span)
            meta = {name: arrays.pop(name) for name in META}
            arrays["columns"] = columns
            arrays["numbers"] = _in_bytes(order)
            arrays["label_begin"] = (Y.indptr[begin : end + 1] - Y.indptr[begin]).astype(np.int64)
            arrays["labels"] = Y.indices[Y.indptr[begin] : Y.indptr[end]].astype(np.int32)
            arrays["removed"] = np.zeros((end - begin + 7) // 8, np.uint8)
            kept = None if texts is None else StringTable.of(texts[begin:end])
            out.append(cls(arrays, first=first + begin, n_features=n_features, meta=meta, texts=kept))
            begin = end
        return out

    @classmethod
    def join(cls, segments: Sequence[RowSegment], *, threads: int | None = None) -> list[RowSegment]:
        """Neighbours as one; removed rows are emptied and keep their numbers."""
        rows = [segment.rows() for segment in segments]
        labels = [segment.labelled() for segment in segments]
        texts = None
        if any(segment.texts is not None for segment in segments):
            texts = [text for segment in segments for text in segment.all_texts()]
        joined = cls.of(_stacked(rows), _stacked(labels), first=segments[0].first, texts=texts, threads=threads)
        removed = np.concatenate([segment.removed_rows() for segment in segments])
        return [one.without(removed[one.first - segments[0].first :][: one.n_rows]) for one in joined]

    def without(self, removed: Array) -> RowSegment:
        """The same with these rows (one truth value each) marked as removed; arrays are shared."""
        arrays = {**self.arrays, "removed": np.packbits(removed, bitorder="little")}
        return RowSegment(arrays, first=self.first, n_features=self.n_features, meta=self.meta, texts=self.texts)

    def relabelled(self, rows: Int64, Y: Csr) -> RowSegment:
        """The same with other labels of some rows, by their numbers within the segment; all else is shared."""
        begin, labels = self.arrays["label_begin"], self.arrays["labels"]
        counts, stay = np.diff(begin), np.ones(self.n_rows, bool)
        stay[rows] = False
        pairs = np.concatenate(
            [np.repeat(np.arange(self.n_rows)[stay], counts[stay]), np.repeat(rows, np.diff(Y.indptr))]
        )
        found = np.concatenate([labels[np.repeat(stay, counts)], Y.indices]).astype(np.int32)
        order = np.argsort(pairs, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(pairs, minlength=self.n_rows))]).astype(np.int64)
        arrays = {**self.arrays, "label_begin": offsets, "labels": found[order]}
        return RowSegment(arrays, first=self.first, n_features=self.n_features, meta=self.meta, texts=self.texts)

    def removed_rows(self) -> Array:
        """True for each row that was removed."""
        return np.unpackbits(self.arrays["removed"], count=self.n_rows, bitorder="little").astype(bool)

    def rows(self) -> Csr:
        """The rows of features, exactly as they came in; removed ones are empty."""
        indptr, indices, values = self.native.unpack()
        return assemble(values, indices, indptr, (self.n_rows, self.n_features))

    def labelled(self) -> Csr:
        """The rows' labels; removed rows have none. (Columns are not counted here.)"""
        begin, kept = self.arrays["label_begin"], ~self.removed_rows()
        counts = np.diff(begin) * kept
        labels = self.arrays["labels"][np.repeat(kept, np.diff(begin))]
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return assemble(np.ones(len(labels), np.float32), labels, indptr, (self.n_rows, MAX_ID))

    def labels_of(self, row: int) -> Int32:
        """The labels of one row (by its number within the segment)."""
        begin, end = self.arrays["label_begin"][row : row + 2]
        return self.arrays["labels"][begin:end]

    def features_of(self, row: int) -> tuple[Int64, Array]:
        """The columns and values of one row (by its number within the segment)."""
        columns, values = self.native.row(int(self.places[row]))
        return columns.astype(np.int64), values

    def all_texts(self) -> Iterable[str]:
        """An excerpt for each row; removed ones are emptied."""
        if self.texts is None:
            return [""] * self.n_rows
        gone = self.removed_rows()
        return ["" if gone[i] else text for i, text in enumerate(self.texts)]

    @property
    def places(self) -> Int64:
        """Where each row lies."""
        if self._places is None:
            numbers = self.arrays["numbers"].reshape(-1, 3).astype(np.int64) @ np.array([1, 1 << 8, 1 << 16])
            self._places = np.argsort(numbers, kind="stable") if len(numbers) else np.arange(self.n_rows)
        return self._places

    @property
    def n_dead(self) -> int:
        """Removed rows that still take room."""
        return self.native.dead()

    @property
    def n_bytes(self) -> int:
        """Bytes of the index: without labels and texts."""
        others = ("label_begin", "labels", "removed")
        return sum(array.nbytes for name, array in self.arrays.items() if name not in others)

    def _check(self) -> None:
        """All that the kernel trusts. It masks or checks everything else as it goes."""
        arrays, rows, blocks = self.arrays, self.n_rows, -(-self.n_rows // native.BLOCK_ROWS)
        for name, dtype in DTYPES.items():
            array = arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
                told = "nothing" if array is None else f"{array.dtype} {array.shape}"
                raise StoreError(f"{name} of a RowSegment must be {np.dtype(dtype)} of one dimension; got {told}")
        if not 0 < rows <= native.MOST_ROWS:
            raise StoreError(f"a RowSegment has 1 to {native.MOST_ROWS} rows; got {rows}")
        features, columns = len(arrays["ceilings"]), arrays["columns"]
        n_dense, groups = len(arrays["dense_ids"]), native.groups(rows)
        if len(columns) != features and (len(columns) or features != self.n_features):
            raise StoreError(f"columns must be {features} numbers, as many as ceilings, or none; got {len(columns)}")
        _rising(columns, "columns", self.n_features)
        _rising(arrays["dense_ids"], "dense_ids", features)
        lengths = {
            "begins": 2 * (blocks + 1),
            "numbers": 3 * rows if len(arrays["numbers"]) else 0,
            "list_begin": features + 1,
            "list_codes": len(arrays["list_blocks"]),
            "dense_codes": n_dense * groups * native.GROUP_BLOCKS,
            "dense_tops": n_dense * groups,
            "removed": (rows + 7) // 8,
        }
        for name, length in lengths.items():
            if len(arrays[name]) != length:
                raise StoreError(f"{name} of a RowSegment must have {length} entries; got {len(arrays[name])}")
        entries, values = arrays["begins"][::2], arrays["begins"][1::2]
        _offsets(entries, "begins", float(entries[-1]))
        _offsets(values, "begins", float(values[-1]))
        n_bytes = native.n_bytes(int(entries[-1]), int(values[-1]))
        if len(arrays["bytes"]) != n_bytes:
            raise StoreError(f"bytes of a RowSegment must have {n_bytes} entries; got {len(arrays['bytes'])}")
        _offsets(arrays["label_begin"], "label_begin", len(arrays["labels"]))
        _offsets(arrays["list_begin"], "list_begin", len(arrays["list_blocks"]))
        if self.texts is not None and len(self.texts) != rows:
            raise StoreError(f"a RowSegment of {rows} rows must have as many texts; got {len(self.texts)}")

    def to_state(self) -> State:
        """For the store."""
        meta = {
            "layout": LAYOUT,
            "first": self.first,
            "n_features": self.n_features,
            **self.meta,
        }
        kept = self.texts
        if kept is not None and self.removed_rows().any():  # what was forgotten shall not be read in a file
            kept = StringTable.of(self.all_texts())
        texts = {} if kept is None else kept.to_arrays("texts")
        return State(meta=meta, arrays={**self.arrays, **texts})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> RowSegment:
        """From the store."""
        meta, arrays = state.meta, dict(state.arrays)
        if meta.get("layout") in earlier.LAYOUTS:
            return cls._from_earlier(state)
        if meta.get("layout") != LAYOUT:
            raise StoreError(f"the rows have layout {meta.get('layout')!r}, this version reads {LAYOUT}: train again")
        for name in ("first", "n_features"):
            if type(meta.get(name)) is not int or not 0 <= meta[name] <= MAX_ID:
                raise StoreError(f"{name} must be a number from 0 to {MAX_ID}; got {meta.get(name)!r}")
        norm: Any = meta.get("norm")
        negative = meta.get("negative")
        if type(norm) not in (int, float) or not 0 <= norm <= LARGEST_NORM or type(negative) is not bool:
            raise StoreError(f"norm must be a number ≥ 0 and negative true or false; got {norm!r} and {negative!r}")
        texts = StringTable.from_arrays(arrays, "texts") if "texts.text" in arrays else None
        arrays.pop("texts.text", None)
        arrays.pop("texts.offsets", None)
        if set(arrays) != set(DTYPES):
            raise StoreError(f"a RowSegment holds the arrays {', '.join(DTYPES)}; got {', '.join(sorted(arrays))}")
        kept = {"norm": float(norm), "negative": negative}
        return cls(arrays, first=meta["first"], n_features=meta["n_features"], meta=kept, texts=texts)

    @classmethod
    def _from_earlier(cls, state: State) -> RowSegment:
        """From the store of an earlier version: the same rows, built anew."""
        X, Y, removed = earlier.read(state.meta, state.arrays)
        texts = StringTable.from_arrays(dict(state.arrays), "texts") if "texts.text" in state.arrays else None
        made = cls.of(X, Y, first=state.meta["first"], texts=None if texts is None else list(texts))
        pieces = [one.without(removed[one.first - made[0].first :][: one.n_rows]) for one in made]
        pieces[0].behind = pieces[1:]
        return pieces[0]


def _renumbered(X: Csr) -> tuple[Int32, Csr]:
    """Columns that occur, and the rows over these alone, where that takes less room: lists take 5 bytes each."""
    none: Int32 = np.zeros(0, np.int32)
    if X.shape[1] > max(int(X.nnz), 1 << 20):  # too many to count
        columns = np.unique(X.indices)
    else:
        columns = np.flatnonzero(np.bincount(X.indices, minlength=int(X.shape[1]))).astype(np.int32)
    if 9 * len(columns) >= 5 * X.shape[1]:
        return none, X
    indices = np.searchsorted(columns, X.indices).astype(np.int32)
    return columns, assemble(X.data, indices, X.indptr, (int(X.shape[0]), len(columns)))


def _in_bytes(order: Int32 | None) -> UInt8:
    """Three each, the lowest first; none if rows lie as they came."""
    if order is None:
        return np.zeros(0, np.uint8)
    wide = np.ascontiguousarray(order, "<i4").view(np.uint8).reshape(-1, 4)
    return np.ascontiguousarray(wide[:, :3]).reshape(-1)


def _stacked(parts: Sequence[Csr]) -> Csr:
    shift = np.cumsum([0, *(int(part.indptr[-1]) for part in parts)])
    ends = [part.indptr[1:] + begin for part, begin in zip(parts, shift, strict=False)]
    indptr = np.concatenate([[0], *ends]).astype(np.int64)
    data, indices = np.concatenate([part.data for part in parts]), np.concatenate([part.indices for part in parts])
    return assemble(data, indices, indptr, (len(indptr) - 1, max(int(part.shape[1]) for part in parts)))


def _rising(ids: Array, name: str, below: int) -> None:
    if len(ids) and (ids[0] < 0 or ids[-1] >= below or (ids[1:] <= ids[:-1]).any()):
        raise StoreError(f"{name} of a RowSegment must rise from 0 on and stay below {below}")


def _offsets(offsets: Array, name: str, end: float) -> None:
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise StoreError(f"{name} of a RowSegment must rise from 0 to {end:g}")
