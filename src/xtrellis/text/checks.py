"""Parameter checks that only text needs."""

from __future__ import annotations

import math
import numbers
import re
from pathlib import Path
from typing import Any

from ..core import Check, ParameterError, nearest, shown
from .stop_words import LANGUAGES

LONGEST_CHAR_NGRAM = 32


class rows_or_share(Check):  # noqa: N801 - reads as a word in a declaration
    """How many texts: a number of them (integer) or a share of all (float)."""

    requirement = "an integer ≥ 1 (a number of texts) or a float from 0.0 to 1.0 (a share of them)"

    def holds(self, value: Any) -> bool:
        """True for a count or a share."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        if isinstance(value, numbers.Integral):
            return int(value) >= 1
        return not math.isnan(value) and 0.0 <= float(value) <= 1.0

    def read(self, text: str) -> int | float:
        """`3` is a count, `3.0` would be a share."""
        try:
            return int(text.replace("_", ""))
        except ValueError:
            return float(text)


class char_range(Check):  # noqa: N801
    """Lengths of character n-grams: `"3-5"`, or `"4"` for one length."""

    requirement = f'a string such as "3-5" or "4", from 1 to {LONGEST_CHAR_NGRAM} characters'

    def holds(self, value: Any) -> bool:
        """True for `"a-b"` with a ≤ b, or one length."""
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,2}(-[0-9]{1,2})?", value):
            return False
        shortest, longest = char_lengths(value)
        return 1 <= shortest <= longest <= LONGEST_CHAR_NGRAM


class stop_list(Check):  # noqa: N801
    """Stop words: those of a language or of several ("finnish+english"), or a list of words."""

    requirement = f"a language ({', '.join(LANGUAGES)}), several as 'finnish+english', or a list of words"

    def holds(self, value: Any) -> bool:
        """True for known languages, and for a list of strings."""
        if isinstance(value, str):
            return set(value.split("+")) <= set(LANGUAGES)
        return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)

    def error(self, name: str, value: Any) -> ParameterError:
        """With the language that may have been meant."""
        if not isinstance(value, str):
            return super().error(name, value)
        wrong = next(part for part in value.split("+") if part not in LANGUAGES)
        hint = nearest(wrong, LANGUAGES)
        return ParameterError(
            f"{name}={shown(value)}: there is no list of stop words for {shown(wrong)}; give a list of words (on the "
            f"command line, the path of a file of them){hint}"
        )

    def read(self, text: str) -> Any:
        """Languages as they are; else a file that has the words, separated by white space."""
        if not self.holds(text) and Path(text).is_file():
            return Path(text).read_text("utf-8").split()
        return text


def char_lengths(value: str | None) -> tuple[int, int]:
    """`"3-5"` as (3, 5); None as (0, 0)."""
    if value is None:
        return 0, 0
    shortest, _, longest = value.partition("-")
    return int(shortest), int(longest or shortest)
