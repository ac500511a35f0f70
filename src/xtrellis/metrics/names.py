"""Names of metrics: `P@5`, `psndcg@3`. One table says which exist and what each needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..core import ParameterError, nearest

# Canonical spelling -> what it is.
KINDS = {
    "P": "precision: share of the k predictions that are right",
    "nDCG": "gain discounted by log2(rank + 1), relative to the best possible for the row's number of labels",
    "R": "recall: share of the row's labels among the k predictions",
    "PSP": "propensity-scored precision, relative to the best possible (ratio of sums)",
    "PSnDCG": "propensity-scored nDCG, each row normalised as in nDCG, then relative to the best possible",
    "PSnDCG-ratio": "propensity-scored DCG relative to the best possible (ratio of sums)",
    "coverage": "share of the test set's labels that are predicted rightly at least once",
    "depth": "mean depth, in a given tree, of the deepest label among the k predictions (not a percentage)",
}
_SPELLING = {kind.lower(): kind for kind in KINDS}


@dataclass(frozen=True)
class Metric:
    """One metric at one k."""

    kind: str
    k: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.k}"

    @property
    def weighted(self) -> bool:
        """True if it needs propensities."""
        return self.kind.startswith("PS")

    @classmethod
    def parse(cls, name: str) -> Metric:
        """From a name such as "P@5", in any case; a wrong one is refused with the nearest valid one."""
        if not isinstance(name, str):
            raise ParameterError(f"a metric is a name such as 'P@5'; got {name!r}")
        kind, at, k = name.strip().partition("@")
        if not at or not re.fullmatch(r"[0-9]{1,9}", k) or int(k) < 1:
            raise ParameterError(f"a metric is a name and a cut-off of at least 1, such as 'P@5'; got {name!r}")
        known = _SPELLING.get(kind.lower())
        if known is None:
            raise ParameterError(f"there is no metric {name!r}{_hint(kind, k)}")
        return cls(known, int(k))


def _hint(kind: str, k: str) -> str:
    close = nearest(kind.lower(), _SPELLING)
    if "did you mean" in close:
        return f"; did you mean '{_SPELLING[close.split(chr(39))[1]]}@{k}'?"
    return "; valid names: " + ", ".join(f"{known}@k" for known in KINDS)


def parse(metrics: str | Iterable[str]) -> list[Metric]:
    """Metrics from a list of names or one string with commas; at least one."""
    names = [part for part in metrics.split(",") if part.strip()] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise ParameterError("metrics must name at least one metric, such as 'P@1'")
    return [Metric.parse(name) for name in names]
