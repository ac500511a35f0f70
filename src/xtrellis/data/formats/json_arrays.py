"""Rows that are the elements of one JSON array, `[{"text": …}, …]`, as many programs export them.

Elements are taken one by one from whatever text is there, so that a long array need not become objects all at once, and
may even come through a pipe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...core import DataError

LONGEST = 64 << 20  # characters of one object
_BLANK = re.compile(r"[ \t\r\n]*")


class ArrayRows:
    """Text goes in piece by piece; elements come out as soon as they are whole."""

    def __init__(self, path: Path, line: int = 1) -> None:
        self._path, self._line, self._text = path, line, ""
        self._decoder = json.JSONDecoder()
        self._counted = 0  # where `_line` is in `_text`
        self._opened = self._closed = False
        self._between = True  # an element may come now; else a comma or the end

    def feed(self, text: str, *, last: bool = False) -> Iterator[tuple[int, Any, bool]]:
        """What can be told so far, or at last: line, element, and whether it was written with escapes."""
        self._text += text
        at = self._counted = 0
        try:
            while (next_at := _BLANK.match(self._text, at).end()) < len(self._text):  # type: ignore[union-attr]
                at = next_at
                sign = self._text[at]
                if not self._opened:
                    self._opened, at = self._need(sign, "[", at)
                elif self._closed:
                    raise self._wrong("the end of the file after the array", at)
                elif sign == "]":
                    self._closed, at = True, at + 1
                elif not self._between:
                    self._between, at = self._need(sign, ",", at)
                else:
                    try:
                        value, end = self._decoder.raw_decode(self._text, at)
                    except RecursionError:
                        raise self._wrong("objects of text and labels", at) from None
                    except json.JSONDecodeError as error:
                        if not last and len(self._text) - at < LONGEST and _unfinished(error, len(self._text)):
                            return
                        raise self._wrong(f"a JSON object ({error.msg})", max(error.pos, at)) from None
                    self._line += self._text.count("\n", self._counted, at)
                    self._counted = at
                    yield self._line, value, "\\u" in self._text[at:end]
                    self._between, at = False, end
            if last and not self._closed:
                raise self._wrong("] at the end of the array: the file was cut off", len(self._text))
        finally:
            self._line += self._text.count("\n", self._counted, at)
            self._text = self._text[at:]

    def _need(self, sign: str, wanted: str, at: int) -> tuple[bool, int]:
        if sign != wanted:
            raise self._wrong(f"{wanted!r} between the objects of an array", at)
        return True, at + 1

    def _wrong(self, expected: str, at: int) -> DataError:
        found = self._text[at : at + 40].strip()
        line = self._line + self._text.count("\n", self._counted, at)
        got = f"; got {found!r}" if found else ""
        return DataError(f"expected {expected}{got}", path=self._path, line=line)


def _unfinished(error: json.JSONDecodeError, length: int) -> bool:
    """True if more text may mend it: a string that does not end, or something wrong with the last few characters, such
    as half a word or an escape."""
    return error.msg.startswith("Unterminated") or error.pos >= length - 10
