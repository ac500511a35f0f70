"""A list of strings that lives in two arrays: 200,000 label names load by memory map and decode one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from scipy.sparse import issparse

from ..core import InputError, StoreError
from .types import Array, Int64, UInt8

AT_ONCE = 4096  # strings that are decoded at once, when all are gone through


class StringTable(Sequence[str]):
    """Read-only sequence of strings: UTF-8 bytes end to end, and where each one begins."""

    def __init__(self, text: UInt8, offsets: Int64) -> None:
        self.text, self.offsets = text, offsets
        self._ids: dict[str, int] | None = None

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringTable:
        """From any strings; a StringTable is returned as it is."""
        if isinstance(strings, StringTable):
            return strings
        if isinstance(strings, str):
            raise InputError(f"a list of strings is needed; got the single string {strings!r:.80}")
        if not is_list(strings):
            raise InputError(f"a list of strings is needed; got {type(strings).__name__}")
        try:
            encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
        except (AttributeError, TypeError):
            raise InputError("a list of strings is needed; got something else, or something else in it") from None
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], name: str) -> StringTable:
        """From a store's `NAME.text` and `NAME.offsets`, checked so that no later access can leave the bytes."""
        try:
            text, offsets = arrays[f"{name}.text"], arrays[f"{name}.offsets"]
        except KeyError as missing:
            raise StoreError(f"array {missing} is missing") from None
        if text.dtype != np.uint8 or text.ndim != 1 or offsets.dtype != np.int64 or offsets.ndim != 1:
            raise StoreError(f"{name}.text must be uint8 and {name}.offsets int64, both of one dimension")
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
            raise StoreError(f"{name}.offsets must rise from 0 to {len(text)}")
        return cls(text, offsets)

    def and_these(self, strings: Iterable[str]) -> StringTable:
        """A longer table, made without reading this one."""
        more = StringTable.of(strings)
        if not len(more):
            return self
        offsets = np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]])
        made = StringTable(np.concatenate([self.text, more.text]), offsets)
        if self._ids is not None:
            made._ids = {**{string: len(self) + i for i, string in enumerate(more)}, **self._ids}
        return made

    def emptied(self, some: Array) -> StringTable:
        """The same number of strings; some (True) are empty now, and their bytes are gone."""
        lengths = np.diff(self.offsets)
        text = self.text[~np.repeat(some, lengths)]
        return StringTable(text, np.concatenate([[0], np.cumsum(np.where(some, 0, lengths))]).astype(np.int64))

    def to_arrays(self, name: str) -> dict[str, Array]:
        """`NAME.text` and `NAME.offsets` for a store."""
        return {f"{name}.text": self.text, f"{name}.offsets": self.offsets}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            chosen = range(*index.indices(len(self)))
            if chosen.step == 1 and len(chosen) > 1:
                return self._decoded(chosen.start, chosen.stop)
            return [self[i] for i in chosen]
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is outside {len(self)} strings")
        index %= len(self)
        begin, end = self.offsets[index], self.offsets[index + 1]
        try:
            return self.text[begin:end].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise StoreError(f"string {index} of {len(self)} is not UTF-8; the file it comes from is damaged") from None

    def some(self, numbers: Iterable[int]) -> list[str]:
        """The strings of these numbers, in a quarter of the time that it takes one by one; none may be below 0."""
        arrays: tuple[Any, Any] = self.text, self.offsets.view(np.int64)  # in native order by name too
        text, offsets = memoryview(arrays[0]), memoryview(arrays[1])
        try:
            return [str(text[offsets[i] : offsets[i + 1]], "utf-8", "surrogatepass") for i in numbers]
        except UnicodeDecodeError:
            return [self[i] for i in numbers]  # says which one it is

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), AT_ONCE):
            yield from self._decoded(first, min(first + AT_ONCE, len(self)))

    def _decoded(self, first: int, last: int) -> list[str]:
        """Many at once, in a sixth of the time that it takes one by one."""
        offsets = self.offsets[first : last + 1]
        text = self.text[int(offsets[0]) : int(offsets[-1])].tobytes()
        edges = (offsets - offsets[0]).tolist()
        try:
            return [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges)]
        except UnicodeDecodeError:
            return [self[i] for i in range(first, last)]  # says which one it is

    def find(self, string: str) -> int | None:
        """The first position of `string`, or None. The first call builds a dictionary."""
        if self._ids is None:
            ids: dict[str, int] = {}
            for i, s in enumerate(self):
                ids.setdefault(s, i)
            self._ids = ids  # set when complete: two threads may build it, neither sees half of it
        return self._ids.get(string)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringTable):
            return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.text, other.text)
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s in self[:3])
        return f"StringTable([{shown}{', …' if len(self) > 3 else ''}], n={len(self)})"


def is_list(things: Any) -> bool:
    """True of what can be gone through one by one. A matrix, whose rows SciPy takes on trust, is no list, nor is a
    mapping, which is more than its keys."""
    if isinstance(things, (str, bytes, bytearray, Mapping)) or not isinstance(things, Iterable):
        return False
    return not issparse(things) and getattr(things, "ndim", 1) == 1


def as_texts(texts: Any, *, n_rows: int | None = None, name: str = "texts") -> Sequence[str]:
    """Texts as they were given, or listed; says which one is not a string, and if there is not one for each row."""
    if isinstance(texts, (str, bytes)):
        raise InputError(f"{name} must be a list of strings; got one {type(texts).__name__}: put it in a list")
    if not isinstance(texts, (list, tuple, StringTable)):
        if not is_list(texts):
            column = f": give one column, such as {name}['text']" if hasattr(texts, "columns") else ""
            raise InputError(f"{name} must be a list of strings; got {type(texts).__name__}{column}")
        texts = list(texts)
    if not isinstance(texts, StringTable) and not set(map(type, texts)) <= {str}:
        for i, item in enumerate(texts):
            if not isinstance(item, str):
                missing = (
                    ": leave the row out, or give ''"
                    if item is None or (isinstance(item, float) and item != item)
                    else ""
                )
                kind = type(item).__name__
                raise InputError(f"{name} must be strings; {name}[{i}] is {item!r:.60} ({kind}){missing}")
    if n_rows is not None and len(texts) != n_rows:
        raise InputError(f"there must be one text for each row; got {len(texts)} {name} and {n_rows} rows")
    checked: Sequence[str] = texts
    return checked
