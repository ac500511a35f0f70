"""What a text gets: labels by name, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..arrays import TopK

NO_TEXT = "the text is empty"
NO_KNOWN_WORD = "the model knows no word of the text"


class _Named(NamedTuple):
    label: str
    score: float


class Tag(_Named):
    """A label by name, and how sure the model is of it.

    `score` is the model's own, made for ranking; `probability` says how often such a label is right, and is None where
    nobody has learned that (`Tagger.calibrate`). `id` is what a vocabulary calls the label, whatever its name; without
    one it is the name. As a tuple it is (label, score).
    """

    probability: float | None
    id: str

    def __new__(cls, label: str, score: float, probability: float | None = None, id: str | None = None) -> Tag:
        """As a named tuple, with probability and id beside it."""
        made = super().__new__(cls, label, score)
        made.probability, made.id = probability, label if id is None else id
        return made

    def __repr__(self) -> str:
        id = "" if self.id == self.label else f"id={self.id!r}, "
        known = "" if self.probability is None else f", probability={self.probability!r}"
        return f"Tag({id}label={self.label!r}, score={self.score!r}{known})"

    def __reduce__(self) -> tuple[type[Tag], tuple[str, float, float | None, str]]:
        return Tag, (self.label, self.score, self.probability, self.id)


class Tags(list[Tag]):
    """The tags of one text, best first. `reason` tells why a text got none without having been looked at."""

    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> Tags:
        """No tags, and why."""
        tags = cls()
        tags.reason = reason
        return tags


def named_tags(names: Sequence[str], ids: Sequence[str], top: TopK, kept: TopK, known: TopK | None) -> list[Tags]:
    """Answers by name and id: those that are `kept`, with their probabilities where they are known."""
    chances = None if known is None else known.scores.tolist()
    rows = enumerate(zip(kept.labels.tolist(), top.scores.tolist(), strict=True))
    return [
        Tags(
            Tag(names[label], score, None if chances is None else chances[i][j], None if ids is names else ids[label])
            for j, (label, score) in enumerate(zip(labels, scores, strict=True))
            if label >= 0
        )
        for i, (labels, scores) in rows
    ]
