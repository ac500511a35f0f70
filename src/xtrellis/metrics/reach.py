"""Were rows given as many predictions as a metric looks at? P@5 of two answers a row cannot be more than 40."""

from __future__ import annotations

from collections.abc import Iterable

from ..arrays import Int32
from .names import Metric

COUNT_MISSING = ("P", "nDCG", "R", "PSP", "PSnDCG", "PSnDCG-ratio")  # kinds that take what is missing as wrong


def most_predictions(labels: Int32, n_labels: int) -> int | None:
    """How many predictions were asked for, if no row has more; None if they are all labels, or cut by a score.

    As many as were asked for is what most rows have; a threshold leaves fewer and fewer rows with more and more.
    """
    counts = (labels >= 0).sum(axis=1)
    most = int(counts.max(initial=0))
    if not most or most >= n_labels:
        return None
    return most if int((counts == most).sum()) >= int((counts == most - 1).sum()) else None


def beyond(labels: Int32, width: int, asked: Iterable[Metric], n_labels: int) -> tuple[int | None, tuple[str, ...]]:
    """The most predictions of a row, and the metrics that look further, also than the `width` that was asked for."""
    far = [metric for metric in asked if metric.k > width and metric.kind in COUNT_MISSING]
    most = most_predictions(labels, n_labels) if far else None
    if most is None:
        return None, ()
    names = tuple(str(metric) for metric in far if metric.k > most)
    return (most, names) if names else (None, ())
