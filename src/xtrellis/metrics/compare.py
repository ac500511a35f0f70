"""Which of two rankings of the same rows is better, and for which labels: paired bootstrap intervals.

Rows are resampled together for both, so what makes a row hard or easy for both of them falls out of the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Csr, TopK, as_labels, as_numbers, assemble
from ..core import InputError, ParameterError, clear_calls, integer
from . import names, ranking
from .bootstrap import Interval, bootstrap
from .evaluate import per_row

if TYPE_CHECKING:
    from rich.console import RenderableType

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "F1@5")
BANDS = (0, 1, 6, 21, 101, 1001)  # rows in training at which a band of labels begins
Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """A metric of two rankings, as percentages, and the interval of B − A."""

    a: float
    b: float
    difference: Interval

    @property
    def better(self) -> str:
        """`A` or `B` if the interval leaves out 0, else nothing."""
        return "B" if self.difference.low > 0 else "A" if self.difference.high < 0 else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"a": self.a, "b": self.b, "difference": self.difference._asdict(), "better": self.better}


@dataclass(frozen=True)
class Band:
    """Labels with `first` to `last` rows in training (no end: None), and how many of their entries are found."""

    first: int
    last: int | None
    labels: int
    entries: int
    recall: Difference

    def __str__(self) -> str:
        if self.last == self.first:
            return f"{self.first:,}"
        return f"{self.first:,} and more" if self.last is None else f"{self.first:,}–{self.last:,}"


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds."""

    n_rows: int
    k: int
    """Of the recall in bands of frequency."""
    metrics: dict[str, Difference]
    bands: tuple[Band, ...]
    rows: tuple[int, ...]
    """Rows where the two differ most by the first metric, most first."""
    gains: Float64
    """B − A of every row, by the first metric."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        bands = [{**asdict(band), "recall": band.recall.to_dict()} for band in self.bands]
        metrics = {name: found.to_dict() for name, found in self.metrics.items()}
        return {"n_rows": self.n_rows, "metrics": metrics, "k": self.k, "by_frequency": bands, "rows": list(self.rows)}

    def render(self) -> RenderableType:
        """Two tables for a console."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("metric")
        by_band = Table("rows in training", title=f"R@{self.k} by label frequency", title_justify="left")
        by_band.add_column("labels", justify="right")
        for one in (table, by_band):
            for column in ("A", "B", "B − A"):
                one.add_column(column, justify="right")
            one.add_column("95 % interval")
            one.add_column("better")
        for name, found in self.metrics.items():
            table.add_row(name, *_cells(found))
        for band in self.bands:
            by_band.add_row(str(band), f"{band.labels:,}", *_cells(band.recall))
        caption = Text(f"{self.n_rows:,} rows; “better” is empty where the interval holds 0")
        return Group(table, by_band, caption) if self.bands else Group(table, caption)


@clear_calls
def compare(
    Y_true: Any,
    a: TopK | Csr,
    b: TopK | Csr,
    metrics: str | Iterable[str] = METRICS,
    *,
    label_counts: Any = None,
    k: int = 5,
    weights: Any = None,
    drop: Any = None,
    seed: int = 0,
    n: int = 1000,
    n_rows_shown: int = 10,
) -> Comparison:
    """Two rankings of the same rows, metric by metric: both values, and the 95 % interval of their difference B − A.

    With `label_counts` (rows of each label in training) the recall among the first `k` is also told by how frequent
    labels are. `weights` and `drop` as in `evaluate`; `n` resamples. Metrics over labels (macroF1, coverage) and depth
    have no value for a row and cannot be compared so.
    """
    integer(at_least=1)("k", k)
    integer(at_least=0)("n_rows_shown", n_rows_shown)
    asked = names.parse(metrics)
    for metric in asked:
        if metric.over_labels or metric.kind == "depth":
            raise ParameterError(f"{metric} has no value for each row of both; compare P, R, nDCG, PSP, PSnDCG or F1")
    Y = as_labels(Y_true, name="Y_true")
    found: dict[str, Difference] = {}
    gains: Float64 = np.zeros(int(Y.shape[0]))
    for i, metric in enumerate(asked):
        of_a, of_b = (per_row(Y, top, str(metric), weights=weights, drop=drop) for top in (a, b))
        found[str(metric)] = _difference(of_a, of_b, seed, n)
        if i == 0:
            gains = of_b - of_a
    bands = () if label_counts is None else tuple(_bands(Y, a, b, label_counts, k, drop, seed, n))
    order = np.argsort(-np.abs(gains), kind="stable")[:n_rows_shown]
    shown = tuple(int(row) for row in order if gains[row] != 0)
    return Comparison(int(Y.shape[0]), k, found, bands, shown, gains)


def _difference(a: Float64, b: Float64, seed: int, n: int) -> Difference:
    return Difference(float(a.mean()), float(b.mean()), bootstrap(b - a, seed, n))


def _bands(
    Y: Csr, a: TopK | Csr, b: TopK | Csr, label_counts: Any, k: int, drop: Any, seed: int, n: int
) -> Iterable[Band]:
    """Recall of the labels of each band: a ratio of sums, whose rows get values as in `per_row`."""
    n_labels = int(Y.shape[1])
    counts = as_numbers(label_counts, "label_counts", f"one number for each of {n_labels} labels")
    if counts.shape != (n_labels,):
        raise InputError(f"label_counts must be one number for each of {n_labels} labels; got shape {counts.shape}")
    left_out = None if drop is None else ranking.dropped(drop, Y)
    ranked = [np.ascontiguousarray(ranking.ranked(top, Y, left_out, k)) for top in (a, b)]
    truth = Y if left_out is None else ranking.without(Y, left_out)
    for first, after in zip(BANDS, [*BANDS[1:], None], strict=True):
        inside = (counts >= first) & (counts < (np.inf if after is None else after))
        kept = inside[truth.indices]
        if not kept.any():
            continue
        indptr = np.concatenate([[0], np.cumsum(kept)])[truth.indptr].astype(np.int64)
        there = assemble(truth.data[kept], truth.indices[kept], indptr, truth.shape)
        below = np.diff(indptr).astype(np.float64)
        hits = (ranking.hits(there, labels, k).sum(axis=0, dtype=np.float64) for labels in ranked)
        of_a, of_b = (_ratio(above, below) for above in hits)
        present = len(np.unique(there.indices))
        last = None if after is None else after - 1
        yield Band(first, last, present, int(kept.sum()), _difference(of_a, of_b, seed, n))


def _ratio(above: Float64, below: Float64) -> Float64:
    whole = float(below.mean())
    ratio = float(above.mean()) / whole
    out: Float64 = 100 * (ratio + (above - ratio * below) / whole)
    return out


def _cells(found: Difference) -> Sequence[str]:
    spread = found.difference
    return (
        f"{found.a:.2f}", f"{found.b:.2f}", f"{spread.mean:+.2f}", f"{spread.low:+.2f} to {spread.high:+.2f}",
        found.better,
    )  # fmt: skip
