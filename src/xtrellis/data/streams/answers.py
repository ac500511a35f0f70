"""Answers as lines of text, many at a time: the kernel joins names that were quoted once, and writes the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._native import data as native
from ...arrays import Float32, Int64, StringTable, TopK, UInt8

SHAPES = {"lists": 0, "tags": 1, "pairs": 2, "served": 3}  # native/data/answers.hpp shows them
MOST_NAMES = 200_000  # quoted once for all rows; of more labels, those that some rows have
_NO_TEXT: UInt8 = np.zeros(0, np.uint8)
_NO_CHANCES: Float32 = np.zeros(0, np.float32)
_NO_OFFSETS: Int64 = np.zeros(0, np.int64)


class AnswerLines:
    """Turns rows of answers into lines; `quote` makes a label's name what stands in them."""

    def __init__(self, names: Sequence[str], quote: Callable[[str], str]) -> None:
        self._names, self._quote = names, quote
        self._quoted: StringTable | None = None

    def format(
        self,
        shape: str,
        top: TopK,
        before: Sequence[str] | None = None,
        after: Sequence[str] | None = None,
        *,
        chances: TopK | None = None,
    ) -> bytes:
        """One line a row; `before` and `after` have a string for each, which stand inside the object's braces.

        Lines that are `served` have probabilities beside the scores: `chances`, of the same labels.
        """
        labels, scores = np.ascontiguousarray(top.labels), np.ascontiguousarray(top.scores)
        quoted: StringTable | None = None
        if shape != "pairs" and len(self._names) <= MOST_NAMES:
            quoted = self._quoted = self._quoted or StringTable.of(map(self._quote, self._names))
        elif shape != "pairs":
            met, places = np.unique(labels, return_inverse=True)
            none = int(len(met) > 0 and met[0] < 0)  # -1 stays -1
            met, labels = met[none:], (places.reshape(top.labels.shape) - none).astype(np.int32)
            quoted = StringTable.of([self._quote(self._names[i]) for i in met.tolist()])
        parts = [_arrays(table) for table in (quoted, before, after)]
        likely = _NO_CHANCES if chances is None else np.ascontiguousarray(chances.scores).ravel()
        return native.format_answers(SHAPES[shape], labels, scores, likely, *parts[0], *parts[1], *parts[2])


def _arrays(strings: StringTable | Sequence[str] | None) -> tuple[UInt8, Int64]:
    if strings is None:
        return _NO_TEXT, _NO_OFFSETS
    table = StringTable.of(strings)
    return table.text, table.offsets
