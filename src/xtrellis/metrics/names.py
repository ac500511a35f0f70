"""Names of metrics: `P@5`, `psndcg@3`. One table says which exist and what each needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..arrays import is_list
from ..core import ParameterError, nearest, shown

# Canonical spelling -> what it is.
KINDS = {
    "P": "precision: share of the k predictions that are right",
    "nDCG": "gain discounted by log2(rank + 1), relative to the best possible for the row's number of labels",
    "R": "recall: share of the row's labels among the k predictions",
    "PSP": "propensity-scored precision, relative to the best possible (ratio of sums)",
    "PSnDCG": "propensity-scored nDCG, each row normalised as in nDCG, then relative to the best possible",
    "PSnDCG-ratio": "propensity-scored DCG relative to the best possible (ratio of sums)",
    "F1": "mean over rows of 2·right / (predictions + labels) among the first k (sample F1)",
    "microF1": "2·right / (predictions + labels) of all rows together, among the first k",
    "macroF1": "mean over labels of their F1 among the first k; labels that are true or predicted somewhere count",
    "coverage": "share of the test set's labels that are predicted rightly at least once",
    "depth": "mean depth, in a given tree, of the deepest label among the k predictions (not a percentage)",
}
_SPELLING = {kind.lower(): kind for kind in KINDS} | {
    "samplef1": "F1",
    "sample-f1": "F1",
    "micro-f1": "microF1",
    "macro-f1": "macroF1",
}


@dataclass(frozen=True)
class Metric:
    """One metric at one k."""

    kind: str
    k: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.k}"

    @property
    def over_labels(self) -> bool:
        """True if it is a property of all rows together, which have no value each."""
        return self.kind in ("coverage", "macroF1")

    @property
    def weighted(self) -> bool:
        """True if it needs propensities."""
        return self.kind.startswith("PS")

    @classmethod
    def parse(cls, name: str) -> Metric:
        """From a name such as "P@5", in any case; a wrong one is refused with the nearest valid one."""
        if not isinstance(name, str):
            raise ParameterError(f"a metric is a name such as 'P@5'; got {shown(name)}")
        kind, at, k = name.strip().partition("@")
        if not at or not re.fullmatch(r"[0-9]{1,9}", k) or int(k) < 1:
            raise ParameterError(f"a metric is a name and a cut-off of at least 1, such as 'P@5'; got {shown(name)}")
        known = _SPELLING.get(kind.lower())
        if known is None:
            raise ParameterError(f"there is no metric {shown(name)}{_hint(kind, k)}")
        return cls(known, int(k))


def _hint(kind: str, k: str) -> str:
    close = nearest(kind.lower(), _SPELLING)
    if "did you mean" in close:
        return f"; did you mean '{_SPELLING[close.split(chr(39))[1]]}@{k}'?"
    return "; valid names: " + ", ".join(f"{known}@k" for known in KINDS)


def parse(metrics: str | Iterable[str]) -> list[Metric]:
    """Metrics from a list of names or one string with commas; at least one."""
    if isinstance(metrics, str):
        names = [part for part in metrics.split(",") if part.strip()]
    elif is_list(metrics):
        names = list(metrics)
    else:
        raise ParameterError(f"metrics must be a list of names such as 'P@5'; got {shown(metrics)}")
    if not names:
        raise ParameterError("metrics must name at least one metric, such as 'P@1'")
    return [Metric.parse(name) for name in names]
