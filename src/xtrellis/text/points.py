"""Facts of code points, as arrays: a small number for each character of a text, without a loop over characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import text as native
from ..arrays import UInt8

PIECE = 1 << 20  # characters worked on at a time: what is needed on the way takes a few bytes for each


class PointTable:
    """What `of` says of every character; it is asked for 256 neighbours when a text first has one of them."""

    def __init__(self, of: Callable[[str], int]) -> None:
        self._of = of
        self._table: UInt8 | None = None
        self._known = np.zeros(0x110000 >> 8, np.bool_)

    def __call__(self, text: str) -> UInt8:
        """A number for each character of `text`."""
        out = np.empty(len(text), np.uint8)
        for begin in range(0, len(text), PIECE):
            points = code_points(text[begin : begin + PIECE])
            out[begin : begin + len(points)] = self.at(points)
        return out

    def at(self, points: NDArray[np.uint32]) -> UInt8:
        """A number for each code point."""
        table = self._table
        if table is None:
            table = self._table = np.zeros(0x110000, np.uint8)
        pages = np.flatnonzero(np.bincount(points >> 8))
        for page in pages[~self._known[pages]].tolist():
            first = page << 8
            table[first : first + 256] = [self._of(chr(point)) for point in range(first, first + 256)]
            self._known[page] = True  # last: another thread may do the same work, but never reads half of it
        found: UInt8 = table[points]
        return found


SILENT = "\u00ad\u200c\u200d"  # they only say how letters are joined: soft hyphen, zero width non-joiner and joiner


def is_unspaced(char: str) -> bool:
    """True for letters of scripts that have no spaces between words."""
    return native.is_unspaced(ord(char))


def code_points(text: str) -> Any:
    """The characters of a text as numbers; lone surrogates too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
