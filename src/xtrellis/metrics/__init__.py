"""How good a ranking is: P, nDCG, R, their propensity-scored forms, F1, coverage and expected depth, each at k.

Conventions, all of them tested against a naive oracle:

- a TopK is taken in the order it comes in: what is measured is what the user gets; sparse scores are ranked by score,
  then smaller label id;
- a row with fewer than k predictions is padded with misses; an explicit zero in Y is not a label;
- a row without labels counts as 0 unless `skip_empty`;
- `drop`ped (row, label) pairs are taken out of predictions and truth before ranking, never scored as 0;
- PSP and both PSnDCG are ratios of sums over rows, relative to the best possible ranking.
"""

from .bootstrap import Interval, bootstrap
from .compare import Band, Comparison, Difference, compare
from .evaluate import evaluate, per_row
from .names import Metric
from .reliability import Reliability, reliability
from .report import Report

__all__ = [
    "Band", "Comparison", "Difference", "Interval", "Metric", "Reliability", "Report", "bootstrap", "compare",
    "evaluate", "per_row", "reliability",
]  # fmt: skip
