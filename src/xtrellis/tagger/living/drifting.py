"""How far a tagger has come from its last full training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import InputError
from .learning import FEWEST, MEASURED, NO_ROWS

if TYPE_CHECKING:
    from ..tagger import Tagger

MUCH = 0.5  # of all rows came since: a refresh is worth its time
LOST = 0.02  # of precision on rows that came: so too
LATELY = 1000  # rows that tell how good it is now: those of the last updates, together


@dataclass(frozen=True)
class Drift:
    """Shares of what was learned since the last full training, and precision on rows that it had not seen."""

    rows: int  # learned since
    rows_share: float
    labels: int  # new since
    labels_share: float
    then: dict[str, float] | None  # precision on the rows that the training held out, or on those of the first update
    now: dict[str, float] | None  # on the rows of the last updates that have labels it knew, before they were learned

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
            text += f"; P@5 on rows not seen {self.then['P@5']:.1f}, lately {self.now['P@5']:.1f}"
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
    told = [e for e in life.entries if e["version"] > life.base and "precision before" in e]
    then = None if life.base else _held_out(tagger.about)
    if then is None and told:
        then = told[0]["precision before"]
    return Drift(
        new, new / max(1, len(rows)), added, added / max(1, len(tagger.label_ids)), then,
        _together(told) if told else None,
    )  # fmt: skip


def _held_out(about: Mapping[str, Any]) -> dict[str, float] | None:
    """What `xtrellis train` measured on rows that it had held out."""
    held = about.get("held_out")
    found = held.get("metrics") if isinstance(held, dict) else None
    if not isinstance(found, dict) or not all(isinstance(found.get(name), float) for name in MEASURED):
        return None
    return {name: found[name] for name in MEASURED}


def _together(told: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """On the rows of the last updates, as many as it takes."""
    total, sums = 0, dict.fromkeys(MEASURED, 0.0)
    for entry in reversed(told):
        n = entry.get("measured rows", FEWEST)  # older journals do not say
        total += n
        for name in MEASURED:
            sums[name] += n * entry["precision before"][name]
        if total >= LATELY:
            break
    return {name: round(value / total, 4) for name, value in sums.items()}
