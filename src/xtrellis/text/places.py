"""`Places`: where the features of a text are. A long text has millions of them: they are found when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

import numpy as np

from ..arrays import Array, Int32, Int64, UInt8

Span = tuple[int, int, tuple[int, ...]]
Found = tuple[Int64, Int64, Int32]


class Places(Sequence[Span]):
    """(start, end, features) for each span `text[start:end]` that is a feature or more, in order. Read-only."""

    def __init__(self, find: Callable[[UInt8], Found], n_features: int, is_piece: Callable[[Int32], Array]) -> None:
        self._find, self._n_features, self._is_piece = find, n_features, is_piece
        self._grouped: tuple[Int64, Int64, Int64, Int32] | None = None

    def arrays(self, features: Iterable[int] | None = None) -> Found:
        """Starts, ends and features of all places, one entry each, in no special order; of some features only."""
        if features is None:
            return self._find(np.zeros(0, np.uint8))
        wanted = np.zeros(self._n_features, np.uint8)
        ids = np.fromiter(features, np.int64)
        wanted[ids[(ids >= 0) & (ids < self._n_features)]] = 1
        return self._find(wanted)

    def _spans(self) -> tuple[Int64, Int64, Int64, Int32]:
        """Starts and ends of the spans, where the features of each begin, and these."""
        if self._grouped is None:
            starts, ends, features = self.arrays()
            order = np.lexsort((self._is_piece(features), ends, starts))  # words before pieces of them
            starts, ends, features = starts[order], ends[order], features[order]
            new = np.ones(len(order), np.bool_)
            new[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
            at = np.flatnonzero(new)
            self._grouped = starts[at], ends[at], np.append(at, len(order)), features
        return self._grouped

    def __len__(self) -> int:
        return len(self._spans()[0])

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> list[Span]: ...
    def __getitem__(self, index: int | slice) -> Span | list[Span]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is outside {len(self)} spans")
        starts, ends, begin, features = self._spans()
        index %= len(self)
        return int(starts[index]), int(ends[index]), tuple(features[begin[index] : begin[index + 1]].tolist())

    def __iter__(self) -> Iterator[Span]:
        starts, ends, begin, features = (column.tolist() for column in self._spans())
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield start, end, tuple(features[begin[i] : begin[i + 1]])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} places of features>"
