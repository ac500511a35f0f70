"""Evaluate predictions: `evaluate(test.Y, model.predict(test.X), ["P@1", "PSP@5"], train_labels=train.Y)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Csr, TopK, as_labels, as_numbers
from ..core import InputError, ParameterError, clear_calls, flag, shown
from ..labels import inverse_propensity, label_frequency, propensity_constants
from . import names, ranking
from .names import Metric
from .reach import beyond
from .report import Report
from .tables import RankTables

DEFAULT_METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "R@10")
Float64 = NDArray[np.float64]


@clear_calls
def evaluate(
    Y_true: Any,
    predictions: TopK | Csr,
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    *,
    train_labels: Any = None,
    dataset: str | None = None,
    propensity: tuple[float, float] | None = None,
    weights: Any = None,
    skip_empty: bool = False,
    drop: Any = None,
    depth: Any = None,
) -> Report:
    """Percentages by metric name.

    `predictions` are a TopK, taken in the order in which the model delivered it, or sparse scores whose stored entries
    are the predictions, ranked by score, then smaller label id. PSP and PSnDCG need `train_labels`, the training set's
    Y, and take their constants (A, B) from `propensity`, or by the name of the `dataset`; or take `weights`, the
    inverse propensity of each label, as they are. `drop` lists (row, label) pairs to leave out, as an m×2 array or a
    sparse matrix: ask models for more than k labels then. `depth` is the depth of each label in a tree, for depth@k.
    """
    asked = names.parse(metrics)
    table, n_empty = _table(
        Y_true, predictions, asked, train_labels, dataset, propensity, weights, skip_empty, drop, depth
    )
    values = {}
    for metric in asked:
        share = table.over_labels(metric) if metric.over_labels else table.fraction(metric).total()
        values[str(metric)] = share if metric.kind == "depth" else 100 * share
    width = int(predictions.labels.shape[1]) if isinstance(predictions, TopK) else 0
    most, too_far = beyond(table.labels, width, asked, int(table.Y.shape[1]))
    uses_constants = weights is None and any(metric.weighted for metric in asked)
    return Report(
        values,
        n_rows=int(table.Y.shape[0]),
        n_labels=int(table.Y.shape[1]),
        n_empty=n_empty,
        skip_empty=skip_empty,
        propensity=(propensity or propensity_constants(dataset)) if uses_constants else None,
        most_predictions=most,
        too_far=too_far,
    )


@clear_calls
def per_row(
    Y_true: Any,
    predictions: TopK | Csr,
    metric: str,
    *,
    train_labels: Any = None,
    dataset: str | None = None,
    propensity: tuple[float, float] | None = None,
    weights: Any = None,
    skip_empty: bool = False,
    drop: Any = None,
    depth: Any = None,
) -> Float64:
    """What each row adds: values whose mean is the metric, for confidence intervals and paired comparisons.

    A ratio of sums R = Σa/Σb (PSP, PSnDCG) has no value of its own for a row; its rows get R + (a − R·b)/mean(b),
    whose mean is R and whose spread is that of R under resampling of rows (the delta method).
    """
    asked = Metric.parse(metric)
    if asked.over_labels:
        raise ParameterError(f"{asked.kind} is a property of all rows together and has no value per row")
    table, _ = _table(Y_true, predictions, [asked], train_labels, dataset, propensity, weights, skip_empty, drop, depth)
    above, below = table.fraction(asked)
    scale = 1.0 if asked.kind == "depth" else 100.0
    if below is None:
        return scale * above
    whole = float(below.mean())
    if whole == 0:
        return np.zeros_like(above)
    ratio = float(above.mean()) / whole
    return scale * (ratio + (above - ratio * below) / whole)


def _table(
    Y_true: Any,
    predictions: TopK | Csr,
    asked: list[Metric],
    train_labels: Any,
    dataset: str | None,
    propensity: tuple[float, float] | None,
    weights: Any,
    skip_empty: bool,
    drop: Any,
    depth: Any,
) -> tuple[RankTables, int]:
    flag()("skip_empty", skip_empty)
    if isinstance(Y_true, TopK):
        raise InputError(
            "Y_true must be the labels that are right, a matrix; got a TopK: evaluate(Y_true, predictions)"
        )
    # Lists of ids do not say how many labels there are; the predictions do.
    width = getattr(predictions, "n_labels", None) if isinstance(Y_true, (list, tuple)) else None
    Y = as_labels(Y_true, name="Y_true", n_labels=width)
    n_labels = int(Y.shape[1])
    k = max(metric.k for metric in asked)
    without = None if drop is None else ranking.dropped(drop, Y)
    labels = ranking.ranked(predictions, Y, without, k)
    if without is not None:
        Y = ranking.without(Y, without)
    filled = np.diff(Y.indptr) > 0
    n_empty = int(len(filled) - filled.sum())
    if skip_empty and n_empty:
        Y, labels = as_labels(Y[np.flatnonzero(filled)]), labels[filled]
    if not len(labels):
        raise InputError("there is nothing to evaluate: Y_true has no rows" + (" with labels" if skip_empty else ""))
    if any(metric.weighted for metric in asked):
        weights = _weights(weights, train_labels, dataset, propensity, n_labels)
    else:
        weights = None  # nobody looks at it
    if any(metric.kind == "depth" for metric in asked):
        if depth is None:
            raise ParameterError("depth@k needs depth, the depth of each label in a tree")
        depth = _per_label(depth, n_labels, "depth")
    else:
        depth = None
    return RankTables(Y, np.ascontiguousarray(labels), k, weights, depth), n_empty


def _weights(given: Any, train_labels: Any, dataset: str | None, constants: Any, n_labels: int) -> Float64:
    if given is not None:
        return _per_label(given, n_labels, "weights")
    if train_labels is None:
        raise ParameterError("PSP and PSnDCG need train_labels, the Y of the training set, for propensities")
    train = as_labels(train_labels, name="train_labels", n_labels=n_labels)
    if constants is None:
        constants = propensity_constants(dataset)
    elif not isinstance(constants, (tuple, list)) or len(constants) != 2:
        raise ParameterError(f"propensity must be a pair (A, B); got {shown(constants)}")
    return inverse_propensity(label_frequency(train), int(train.shape[0]), A=constants[0], B=constants[1])


def _per_label(values: Any, n_labels: int, name: str) -> Float64:
    out = as_numbers(values, name, f"one number for each of {n_labels} labels")
    if out.shape != (n_labels,):
        raise InputError(f"{name} must be one number for each of {n_labels} labels; got shape {out.shape}")
    if not np.isfinite(out).all() or (out < 0).any():
        raise InputError(f"{name} must be finite and not negative")
    return out
