"""Parameter checks that only text needs."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

from ..core import Check

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


def char_lengths(value: str | None) -> tuple[int, int]:
    """`"3-5"` as (3, 5); None as (0, 0)."""
    if value is None:
        return 0, 0
    shortest, _, longest = value.partition("-")
    return int(shortest), int(longest or shortest)
