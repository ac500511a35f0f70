"""Places in a normalised text, told as places in the text that was given."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def origins(text: str) -> Callable[[int, int], tuple[int, int]]:
    """A function from a span of NFC(text) to the smallest span of `text` that became it."""
    whole = unicodedata.normalize("NFC", text)
    for boundary in (_may_begin, str.isspace):
        begins: list[int] = []  # for each code point of NFC(text): where its source begins and ends
        ends: list[int] = []
        parts: list[str] = []
        start = 0
        for i in range(1, len(text) + 1):
            if i < len(text) and not boundary(text[i]):
                continue
            part = unicodedata.normalize("NFC", text[start:i])
            parts.append(part)
            if len(part) == i - start:  # one for one, or close enough: nothing was merged or split
                begins += range(start, i)
                ends += range(start + 1, i + 1)
            else:
                begins += [start] * len(part)
                ends += [i] * len(part)
            start = i
        if "".join(parts) == whole:
            return lambda begin, end: (begins[begin], ends[end - 1])
    return lambda begin, end: (0, len(text))


def _may_begin(char: str) -> bool:
    """False for what may combine with the character before it: marks, and Hangul vowels and finals."""
    return unicodedata.category(char)[0] != "M" and not "\u1160" <= char <= "\u11ff"
