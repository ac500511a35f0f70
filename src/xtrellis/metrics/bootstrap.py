"""How sure a mean over rows is: percentile bootstrap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import as_numbers
from ..core import InputError, clear_calls, generator, integer, number


class Interval(NamedTuple):
    """A mean and the interval that holds it with the confidence asked for."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


@clear_calls
def bootstrap(values: Any, seed: int = 0, n: int = 1000, *, confidence: float = 0.95) -> Interval:
    """The mean of per-row values (see `per_row`) and its percentile interval from n resamples of the rows.

    For two models on the same rows, give the difference of their values: the interval then tells if it is real.
    """
    integer(at_least=1)("n", n)
    number(above=0, at_most=1)("confidence", confidence)
    integer(at_least=0, at_most=2**63 - 1)("seed", seed)
    rows = as_numbers(values, "values", "one number per row")
    if rows.ndim != 1 or not len(rows):
        raise InputError(f"values must be one number per row, at least one; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("values must be finite")
    rng = generator(seed, "bootstrap")
    # A resample of rows is a multinomial draw over the distinct values, of which P@k has k + 1: cheap for any number
    # of rows. Where most values differ, drawing rows costs less.
    distinct, counts = np.unique(rows, return_counts=True)
    means = np.empty(n)
    if len(distinct) * 8 <= len(rows):
        chances = counts / len(rows)
        for i in range(n):
            means[i] = rng.multinomial(len(rows), chances) @ distinct / len(rows)
    else:
        for i in range(n):
            means[i] = rows[rng.integers(0, len(rows), len(rows))].mean()
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(rows.mean()), float(low), float(high))
