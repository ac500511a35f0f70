"""`Neighbor`: a training row that is similar to the one in question, and what it voted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Shared(NamedTuple):
    """A feature that both rows have: `contribution = value × theirs`. All of them add up to the similarity."""

    feature: int
    value: float
    theirs: float
    contribution: float


@dataclass(frozen=True)
class Neighbor:
    """One of the most similar training rows."""

    row: int  # its number in training
    similarity: float
    share: float  # of the votes of all neighbours
    votes: bool  # it has the label in question
    labels: tuple[int, ...]  # all that it has
    shared: tuple[Shared, ...]  # strongest first
    text: str | None = None  # the beginning of its text, if the model keeps any

    def to_dict(
        self, label_names: Sequence[str] | None = None, feature_names: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "row": self.row,
            **({} if self.text is None else {"text": self.text}),
            "similarity": self.similarity,
            "share": self.share,
            "votes": self.votes,
            "labels": [
                {"label": label, **({} if label_names is None else {"name": label_names[label]})}
                for label in self.labels
            ],
            "features": [
                {**one._asdict(), **({} if feature_names is None else {"name": feature_names[one.feature]})}
                for one in self.shared
            ],
        }
