"""`Verdict`: how several witnesses became one probability: what each said, and what that added to the log-odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple


class Testimony(NamedTuple):
    """What one member said of the label."""

    witness: str  # which kind of model it is (`Model.witness`)
    score: float | None  # None: it neither proposes the label nor can score it
    rank: int | None  # among its own answers; None if the label is not among the first of them
    added: float  # to the log-odds


@dataclass(frozen=True)
class Verdict:
    """`base` + what testimonies and the label's frequency added = the log-odds; by them the probability."""

    base: float
    testimonies: tuple[Testimony, ...]
    frequency: float  # rows that have the label
    frequency_added: float

    @property
    def log_odds(self) -> float:
        """All together."""
        return self.base + self.frequency_added + sum(testimony.added for testimony in self.testimonies)

    @property
    def probability(self) -> float:
        """How often such a label is right."""
        return 1 / (1 + math.exp(-self.log_odds)) if self.log_odds > -700 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "probability": self.probability,
            "log_odds": self.log_odds,
            "base": self.base,
            "frequency": self.frequency,
            "frequency_added": self.frequency_added,
            "testimonies": [testimony._asdict() for testimony in self.testimonies],
        }
