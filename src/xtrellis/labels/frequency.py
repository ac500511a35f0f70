"""How often labels occur: in all rows, and counted so that a row is satisfied by one label."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import labels as native
from ..arrays import Csr, Float32, Float64, Int64, as_labels, transpose
from ..core import InputError, choice, integer, number

# How a row shares its weight between its labels, as `code_frequency` has them.
FREQUENCIES = ("all", "marginal", "greedy", "soft")


def label_frequency(Y: Any) -> Int64:
    """The number of rows that carry each label; explicit zeros do not count."""
    Y = as_labels(Y)
    return np.bincount(Y.indices, minlength=int(Y.shape[1])).astype(np.int64)


def prior_offsets(frequency: Int64, prior: float) -> Float32:
    """−prior · ln(rows of a label), shifted to be 0 for the most favoured label and below it for all others.

    Labels without rows come after all that have some.
    """
    out = -prior * np.log(np.maximum(frequency, 1))
    seen = frequency > 0
    if seen.any():
        out -= out[seen].max()
    out[~seen] = out.min(initial=0.0) - 1
    return out.astype(np.float32)


def code_frequency(
    Y: Any, kind: str = "all", *, row_weights: Any = None, focus: float = 0.5, answers: int = 1
) -> Float64:
    """How often each label should be expected at the end of a search for *some* right label of a row; sums to 1.

    If two frequent labels always come together, only one of them needs a place near the root. `kind` says which labels
    a row gives its weight (1, or its entry of `row_weights`) to:

    - "all": each of its labels; the plain frequency f.
    - "marginal": the one that is most frequent in the whole set (of equals, the smallest id).
    - "greedy": the label that is most frequent among the rows not yet served takes its rows, and so on: a cover by as
      few labels as possible. Takes about as long as counting.
    - "soft": `focus` parts "marginal" and 1 - `focus` parts "all".

    For searches of k labels, `answers` = k lets a row count for its k most frequent labels instead of one ("marginal"
    and "soft"); with as many as rows have labels that is "all".

    Reference: Baharav et al. 2021, "Enabling Efficiency-Precision Trade-offs for Label Trees in Extreme
    Classification", appendix B.
    """
    choice(*FREQUENCIES)("kind", kind)
    number(at_least=0, at_most=1)("focus", focus)
    integer(at_least=1)("answers", answers)
    Y = as_labels(Y)
    weights = as_row_weights(row_weights, int(Y.shape[0]))
    everywhere = _sums(Y.indices, np.repeat(weights, np.diff(Y.indptr)), int(Y.shape[1]))
    if not everywhere.any():
        weighed = "" if row_weights is None else " of a weight above 0"
        raise InputError(f"the labels' frequencies are zero everywhere: no row{weighed} has a label")
    if kind == "greedy":
        return _shares(_greedy(Y, weights, everywhere))
    if kind == "all":
        return _shares(everywhere)
    marginal = _shares(_marginal(Y, weights, everywhere, answers))
    return marginal if kind == "marginal" else _shares(focus * marginal + (1 - focus) * _shares(everywhere))


def as_row_weights(row_weights: Any, n_rows: int) -> Float64:
    """One finite weight ≥ 0 a row; all 1 if none are given."""
    if row_weights is None:
        return np.ones(n_rows)
    try:
        weights = np.ascontiguousarray(row_weights, np.float64)
    except (TypeError, ValueError):
        raise InputError("row_weights must be numbers, one for each row") from None
    if weights.shape != (n_rows,):
        raise InputError(f"row_weights must be one number for each of {n_rows} rows; got shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InputError(f"row_weights must be finite and not negative; row {wrong[0]} has {weights[wrong[0]]}")
    # Sums of large ones must stay finite; a power of two, so that equal sums stay equal.
    scaled: Float64 = np.ldexp(weights, -int(np.frexp(weights.max(initial=0))[1]))
    return scaled


def _sums(ids: Any, weights: Float64, n: int) -> Float64:
    return np.bincount(ids, weights, minlength=n).astype(np.float64)


def _shares(frequency: Float64) -> Float64:
    shares: Float64 = frequency / frequency.sum()
    return shares


def _marginal(Y: Csr, weights: Float64, frequency: Float64, answers: int) -> Float64:
    n_labels = len(frequency)
    order = np.argsort(-frequency, kind="stable")
    place = np.empty(n_labels, np.int64)
    place[order] = np.arange(n_labels)
    counts = np.diff(Y.indptr)
    row_of = np.repeat(np.arange(len(counts)), counts)
    first = np.lexsort((place[Y.indices], row_of))  # each row's labels, the most frequent first
    ahead = np.arange(len(first)) - np.repeat(Y.indptr[:-1], counts)
    chosen = first[ahead < answers]
    return _sums(Y.indices[chosen], weights[row_of[chosen]], n_labels)


def _greedy(Y: Csr, weights: Float64, frequency: Float64) -> Float64:
    rows = transpose(Y)
    served = np.zeros(len(frequency))
    native.greedy_cover(Y.indptr, Y.indices, rows.indptr, rows.indices, weights, frequency.copy(), served)
    return served
