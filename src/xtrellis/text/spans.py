"""Places in a normalised text, told as places in the text that was given."""

from __future__ import annotations

import unicodedata

import numpy as np

from ..arrays import Int64, UInt8
from .encoding import normal_form, pieces
from .points import PointTable


class Origins:
    """From spans of `normal_form(text)` to the smallest spans of `text` that became them.

    A text is cut before each character that begins something; parts that kept their length stand for themselves,
    character by character, so only the others are remembered.
    """

    def __init__(self, text: str, normal: str) -> None:
        # Of parts that changed their length: where they begin and end in both. The first is empty: all is after it.
        changed: list[Int64] = [np.zeros((4, 1), np.int64)]
        at = 0
        for begin, end in pieces(text):
            part = text[begin:end]
            became = normal_form(part)
            if not normal.startswith(became, at):  # a piece depends on what is around it: no script that we know
                changed = [changed[0], np.array([[0], [len(normal)], [0], [len(text)]])]
                break
            if became is not part:
                changed.append(_changed(part, became) + np.array([[at], [at], [begin], [begin]]))
            at += len(became)
        self._begin, self._end, self._from, self._to = np.concatenate(changed, axis=1)

    def __call__(self, begins: Int64, ends: Int64) -> tuple[Int64, Int64]:
        """Arrays of spans, which must not be empty."""
        return self._look_up(begins)[0], self._look_up(ends - 1)[1]

    def _look_up(self, places: Int64) -> tuple[Int64, Int64]:
        """Where the sources of some characters begin and end."""
        near = np.searchsorted(self._begin, places, side="right") - 1
        inside = places < self._end[near]
        same = places + (self._to - self._end)[near]
        return np.where(inside, self._from[near], same), np.where(inside, self._to[near], same + 1)


def _changed(part: str, became: str) -> Int64:
    for begins in (_MAY_BEGIN, _IS_SPACE):
        here, there = _edges(begins(became), len(became)), _edges(begins(part), len(part))
        if len(here) == len(there):
            break
    else:
        here, there = np.array([0, len(became)]), np.array([0, len(part)])
    odd = np.flatnonzero(np.diff(here) != np.diff(there))
    return np.stack([here[odd], here[odd + 1], there[odd], there[odd + 1]])


def _edges(begins: UInt8, length: int) -> Int64:
    return np.concatenate([[0], np.flatnonzero(begins[1:]) + 1, [length]])


def _may_begin(char: str) -> int:
    """0 for what may combine with the character before it: marks, and Hangul vowels and finals."""
    return int(unicodedata.category(char)[0] != "M" and not "\u1160" <= char <= "\u11ff")


_MAY_BEGIN, _IS_SPACE = PointTable(_may_begin), PointTable(lambda char: int(char.isspace()))
