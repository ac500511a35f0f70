"""One rule for rows that are nearly right, whatever file they come from; what was mended is counted and told once.

A text or a list of labels that is null is an empty one. White space around a label's name is no part of it: `" fruit"`
and `"fruit "` are `"fruit"`. (What is not UTF-8 cannot be mended by guessing: that is a DataError in every reader.)
"""

from __future__ import annotations

from typing import Any

from ...core import DataError, progress


class Tidy:
    """Mends values as they come, and counts."""

    def __init__(self) -> None:
        self.null_texts = self.null_labels = self.blank_names = 0

    def text(self, value: Any) -> Any:
        """An empty text for null; anything else as it is."""
        if value is None:
            self.null_texts += 1
            return ""
        return value

    def labels(self, value: Any) -> Any:
        """No labels for null; anything else as it is."""
        if value is None:
            self.null_labels += 1
            return []
        return value

    def name(self, label: str) -> str:
        """A label's name without white space around it."""
        bare = label.strip()
        self.blank_names += len(bare) != len(label)
        return bare

    def tell(self, source: str) -> None:
        """Say what was mended, once for all rows of `source`."""
        said = [
            (self.null_texts, "texts are null and were read as empty"),
            (self.null_labels, "rows have null for labels and were read as having none"),
            (self.blank_names, "label names have white space around them, which was taken off"),
        ]
        mended = "; ".join(f"{count:,} {what}" for count, what in said if count)
        if mended:
            progress.note(f"{source}: {mended}")


class BadRows:
    """Rows that cannot be read: the first ends the reading, or they are left out, counted and told of."""

    def __init__(self, skip: bool | None) -> None:
        self._skip, self._count = bool(skip), 0
        self._first: DataError | None = None

    def met(self, error: DataError) -> None:
        """One of them."""
        if not self._skip:
            raise error
        self._count += 1
        self._first = self._first or error

    def tell(self, source: str) -> None:
        """Say how many were left out, and what was wrong with the first."""
        if self._first is not None:
            rows = "1 row" if self._count == 1 else f"{self._count:,} rows"
            progress.note(f"{source}: without {rows} that cannot be read; the first: {self._first}")
