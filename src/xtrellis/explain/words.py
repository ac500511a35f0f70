"""The words of a text and what each did for a label: the pushes of features, shared out among the places they are in.

All in arrays, a few million characters at a time, so that a text of fifty megabytes takes seconds and little memory.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from ..arrays import Array, Float64, Int32, Int64, UInt8, ranges
from ..text import SILENT, Places, PointTable, is_unspaced

CHUNK = 1 << 20  # pairs of a place and a word that are looked at together


class Word(NamedTuple):
    """A piece of the text and how much it pushed the label up (or down, below 0)."""

    start: int
    end: int
    text: str
    push: float


class Words(Sequence[Word]):
    """A text as a sequence of words, of the spaces between them and of the rest; made one by one, when asked for.

    Of scripts without spaces between words, each character is one.
    """

    def __init__(self, text: str, edges: Array, pushes: Float64) -> None:
        self.text = text
        self.edges = edges  # where each begins, and the end of the last
        self.pushes = pushes

    def __len__(self) -> int:
        return len(self.pushes)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Word, ...]: ...
    def __getitem__(self, index: int | slice) -> Word | tuple[Word, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is outside {len(self)} words")
        return self._word(index % len(self))

    def _word(self, index: int) -> Word:
        start, end = int(self.edges[index]), int(self.edges[index + 1])
        return Word(start, end, self.text[start:end], float(self.pushes[index]))

    def that_push(self) -> Iterator[Word]:
        """Those that did something."""
        return map(self._word, np.flatnonzero(self.pushes).tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Words):
            same = self.text == other.text and np.array_equal(self.edges, other.edges)
            return same and np.array_equal(self.pushes, other.pushes)
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} words>"


def share_out(text: str, spans: Iterable[tuple[int, int, Sequence[int]]], pushes: Mapping[int, float]) -> Words:
    """Each feature's push, divided evenly among its places in the text and there among the characters, by words.

    So a word that is part of several n-grams gets its part of each, and the words together have what the features have.
    Spaces get a part only where there is nothing else.
    """
    kinds, begins = _kinds(text)
    ends = np.unique([0, len(text)])
    edges = np.concatenate([ends[:1], np.flatnonzero((kinds[1:] != kinds[:-1]) | begins[1:]) + 1, ends[1:]])
    edges = edges.astype(np.int32 if len(text) < 2**31 else np.int64)
    solid = kinds[edges[:-1]] > 0
    del kinds, begins
    out = np.zeros(len(solid))
    starts, ends, features = spans.arrays(pushes) if isinstance(spans, Places) else _columns(spans, pushes)
    amounts = _amounts(features, pushes)
    with np.errstate(all="ignore"):  # a damaged model may hold anything
        for begin in range(0, len(starts), CHUNK):
            part = slice(begin, begin + CHUNK)
            _add(out, edges, solid, starts[part], ends[part], amounts[part])
    return Words(text, edges, out)


def _columns(
    spans: Iterable[tuple[int, int, Sequence[int]]], pushes: Mapping[int, float]
) -> tuple[Int64, Int64, Int32]:
    """Starts, ends and features of places, of those that push."""
    rows = [(start, end, feature) for start, end, features in spans for feature in features if feature in pushes]
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2].astype(np.int32)


def _amounts(features: Int32, pushes: Mapping[int, float]) -> Float64:
    """What a place gets: its feature's push, divided by the number of places that this feature has."""
    ids = np.fromiter(pushes.keys(), np.int64, len(pushes))
    worth = np.fromiter(pushes.values(), np.float64, len(pushes))
    order = np.argsort(ids)
    ids, worth = ids[order], worth[order]
    if len(ids) and len(features) > ids[-1] // 8:  # a table pays where there are many places, but not for a few
        ranks = np.zeros(ids[-1] + 1, np.int32)
        ranks[ids] = np.arange(len(ids))
        at = ranks[features]
    else:
        at = np.searchsorted(ids, features)
    amounts: Float64 = (worth / np.maximum(np.bincount(at, minlength=len(ids)), 1))[at]
    return amounts


def _add(out: Float64, edges: Array, solid: Array, starts: Int64, ends: Int64, amounts: Float64) -> None:
    """Share the amounts of some places out among the words that they cover."""
    first = np.searchsorted(edges, starts, side="right") - 1
    last = np.searchsorted(edges, ends, side="left") - 1
    alone = first == last  # most cover one word, or a part of it
    _gather(out, first[alone], amounts[alone])
    several = np.flatnonzero(~alone)
    counts = (last - first + 1)[several]
    upto = np.cumsum(counts)
    while len(several):
        n = max(1, int(np.searchsorted(upto, CHUNK, side="right")))  # a place that covers more comes by itself
        which, of_place = several[:n], np.repeat(np.arange(n), counts[:n])
        words = ranges(first[which], counts[:n])
        kept = solid[words]  # not the spaces; of neighbours one at least is none
        words, of_place = words[kept], of_place[kept]
        begin = np.maximum(edges[words], starts[which][of_place])
        end = np.minimum(edges[words + 1], ends[which][of_place])
        characters = (end - begin).astype(np.float64)
        share = amounts[which] / np.bincount(of_place, characters, minlength=n)
        _gather(out, words, characters * share[of_place])
        several, counts, upto = several[n:], counts[n:], upto[n:] - upto[n - 1]


def _gather(out: Float64, at: Any, amounts: Float64) -> None:
    """out[at] += amounts, for numbers that repeat but lie close together."""
    if len(at):
        low = int(at.min())
        sums = np.bincount(at - low, amounts)
        out[low : low + len(sums)] += sums


SPACE, WORD, REST, UNSPACED, MARK = range(5)


def _kinds(text: str) -> tuple[UInt8, Any]:
    """What each character is; and where a character of a script without spaces begins, a word of its own here."""
    kinds = _KIND(text)
    begins, marks = kinds == UNSPACED, kinds == MARK
    kinds[marks] = WORD
    at = np.flatnonzero(marks) if begins.any() else np.zeros(0, np.int64)
    if len(at):  # a run of marks belongs to the character before it
        first = np.flatnonzero(np.diff(at, prepend=-2) != 1)
        owner = np.repeat(at[first] - 1, np.diff(first, append=len(at)))
        kinds[at[(owner >= 0) & begins[owner]]] = UNSPACED
    return kinds, begins


def _kind(char: str) -> int:
    if char.isspace():
        return SPACE
    if unicodedata.category(char)[0] == "M" or char in SILENT:
        return MARK
    if is_unspaced(char):
        return UNSPACED
    return WORD if char.isalnum() or char == "_" else REST


_KIND = PointTable(_kind)
