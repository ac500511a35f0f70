"""Arrays of a vocabulary as they lie on disk: strings, and links from label to label.

They are checked where they are looked at, not when they are loaded: looking through four million offsets takes longer
than a model may take to load. Nothing here hands them to a kernel, and NumPy's slices cannot leave an array, so damage
gives a StoreError or a wrong name, and nothing worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from ..arrays import Array, Int32, Int64, StringTable, ranges
from ..core import StoreError


class Strings(StringTable):
    """A StringTable whose offsets are believed until a string is asked for."""

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], name: str) -> Strings:
        """From a store: types, dimensions and both ends are checked."""
        text, offsets = taken(arrays, f"{name}.text", np.uint8), taken(arrays, f"{name}.offsets", np.int64)
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(text):
            raise StoreError(f"{name}.offsets must rise from 0 to {len(text)}")
        return cls(text, offsets)

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """From any strings."""
        made = StringTable.of(strings)
        return cls(made.text, made.offsets)

    def raw(self, index: int) -> bytes:
        """The bytes of one string."""
        begin, end = int(self.offsets[index]), int(self.offsets[index + 1])
        if not 0 <= begin <= end <= len(self.text):
            raise StoreError(f"string {index} of {len(self)} lies outside its bytes; the vocabulary is damaged")
        return self.text[begin:end].tobytes()

    def select(self, places: Array) -> StringTable:
        """Some of them, as a table of their own; -1 gives an empty string."""
        there = np.maximum(places, 0)
        begin = np.where(places < 0, 0, self.offsets[there])
        end = np.where(places < 0, 0, self.offsets[there + 1])
        if ((begin < 0) | (end < begin) | (end > len(self.text))).any():
            raise StoreError("strings lie outside their bytes; the vocabulary is damaged")
        lengths = end - begin
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return StringTable(np.ascontiguousarray(self.text[ranges(begin, lengths)]), offsets)


class Links:
    """For each label, some numbers: of other labels, of names, of notes."""

    def __init__(self, offsets: Int64, targets: Int32, n_targets: int) -> None:
        self.offsets, self.targets, self.n_targets = offsets, targets, n_targets

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]], n_targets: int) -> Links:
        """From a list for each label."""
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(some) for some in lists], out=offsets[1:])
        return cls(offsets, np.fromiter(chain.from_iterable(lists), np.int32, int(offsets[-1])), n_targets)

    @classmethod
    def of_pairs(cls, sources: Array, targets: Array, n: int) -> Links:
        """From pairs of labels; equal ones count once, and those of a label keep their order."""
        pairs = sources.astype(np.int64) * max(1, n) + targets
        _, first = np.unique(pairs, return_index=True)
        first = np.sort(first)
        sources, targets = sources[first], targets[first]
        order = np.argsort(sources, kind="stable")
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(sources, minlength=n), out=offsets[1:])
        return cls(offsets, targets[order].astype(np.int32), n)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], name: str, n: int) -> Links:
        """From a store."""
        targets = taken(arrays, f"{name}.targets", np.int32)
        return cls(offsets_of(arrays, f"{name}.offsets", n, len(targets)), targets, n)

    def to_arrays(self, name: str) -> dict[str, Array]:
        """For a store."""
        return {f"{name}.offsets": self.offsets, f"{name}.targets": self.targets}

    def __getitem__(self, label: int) -> list[int]:
        begin, end = span(self.offsets, label, len(self.targets))
        found: list[int] = self.targets[begin:end].tolist()
        if found and not 0 <= min(found) <= max(found) < self.n_targets:
            raise StoreError(f"label {label} is linked with one that does not exist; the vocabulary is damaged")
        return found

    def pairs(self) -> tuple[Int64, Int64]:
        """All of them, as (label, target), checked."""
        lengths = np.diff(self.offsets)
        if (lengths < 0).any() or not self.in_range():
            raise StoreError("links between labels lead nowhere; the vocabulary is damaged")
        return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths), self.targets.astype(np.int64)

    def in_range(self) -> bool:
        """True if every link leads to something."""
        return not len(self.targets) or bool(0 <= self.targets.min() <= self.targets.max() < self.n_targets)


def span(offsets: Int64, label: int, size: int) -> tuple[int, int]:
    """Where the things of a label begin and end."""
    begin, end = int(offsets[label]), int(offsets[label + 1])
    if not 0 <= begin <= end <= size:
        raise StoreError(f"what belongs to label {label} lies outside its array; the vocabulary is damaged")
    return begin, end


def taken(arrays: dict[str, Array], name: str, dtype: type, size: int | None = None) -> Array:
    """An array of one dimension from a store."""
    array = arrays.get(name)
    if array is None:
        raise StoreError(f"array {name!r} is missing")
    if array.ndim != 1 or array.dtype != dtype or (size is not None and len(array) != size):
        long = "" if size is None else f" of {size} numbers"
        raise StoreError(f"{name} must be {np.dtype(dtype)}{long}; got {array.dtype}{list(array.shape)}")
    return array


def offsets_of(arrays: dict[str, Array], name: str, n: int, size: int) -> Array:
    """Where the things of each of n labels begin, in an array of `size`; both ends are checked."""
    offsets = taken(arrays, name, np.int64, n + 1)
    if offsets[0] != 0 or offsets[-1] != size:
        raise StoreError(f"{name} must rise from 0 to {size}")
    return offsets
