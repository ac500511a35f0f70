"""How far a tagger has come from its last full training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import InputError
from .learning import NO_ROWS

if TYPE_CHECKING:
    from ..tagger import Tagger

MUCH = 0.5  # of all rows came since: a refresh is worth its time
LOST = 0.02  # of precision on rows that came: so too


@dataclass(frozen=True)
class Drift:
    """Shares of what was learned since the last full training, and precision on rows as they came, unseen."""

    rows: int  # learned since
    rows_share: float
    labels: int  # new since
    labels_share: float
    then: dict[str, float] | None  # precision on the rows of the first update since, before they were learned
    now: dict[str, float] | None  # and on those of the last one

    @property
    def worth_a_refresh(self) -> bool:
        """True if half of the rows are new, or precision has fallen by two points."""
        lost = self.then is not None and self.now is not None and self.then["P@5"] - self.now["P@5"] > 100 * LOST
        return self.rows_share >= MUCH or lost

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "worth a refresh": self.worth_a_refresh}

    def __str__(self) -> str:
        text = (
            f"since the last full training: {self.rows:,} rows ({100 * self.rows_share:.0f} % of all), "
            f"{self.labels:,} labels ({100 * self.labels_share:.0f} %)"
        )
        if self.then is not None and self.now is not None:
            text += f"; P@5 on rows as they came {self.then['P@5']:.1f}, lately {self.now['P@5']:.1f}"
        return text + ("; a refresh is worth it" if self.worth_a_refresh else "")


def drift_of(tagger: Tagger) -> Drift:
    """See `Living.drift`."""
    life = tagger.life
    if life.rows is None:
        raise InputError(NO_ROWS)
    rows, since = life.rows.living, life.rows.since
    new = int((since[rows] > life.base).sum())
    labels = np.unique(life.number[(life.rows.key_since > life.base) & (life.number >= 0)])
    old = np.unique(life.number[(life.rows.key_since <= life.base) & (life.number >= 0)])
    added = len(np.setdiff1d(labels, old))
    found = [e["precision before"] for e in life.entries if e["version"] > life.base and "precision before" in e]
    return Drift(
        new, new / max(1, len(rows)), added, added / max(1, len(tagger.label_ids)),
        found[0] if found else None, found[-1] if found else None,
    )  # fmt: skip
