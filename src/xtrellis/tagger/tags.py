"""What a text gets: labels by name, or the reason why there are none."""

from __future__ import annotations

from typing import NamedTuple

NO_TEXT = "the text is empty"
NO_KNOWN_WORD = "the model knows no word of the text"


class Tag(NamedTuple):
    """A label by name, and how sure the model is of it."""

    label: str
    score: float


class Tags(list[Tag]):
    """The tags of one text, best first. `reason` tells why a text got none without having been looked at."""

    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> Tags:
        """No tags, and why."""
        tags = cls()
        tags.reason = reason
        return tags
