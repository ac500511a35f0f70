"""Arguments that `predict` and `explain` of every model take, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, Int64
from ..core import InputError, integer, shown
from .label_set import LabelSet, label_ids

_K = integer(at_least=1, at_most=2**63 - 1)  # whatever is asked for, no more is given than there are labels


def check_k(k: Any) -> int:
    """`k` as given to predict: an integer of at least 1."""
    if type(k) is int and k >= 1:  # a single query notices the microsecond of the full check
        return k
    _K("k", k)
    return int(k)


def check_label_ids(labels: Any, n_labels: int) -> Int64 | LabelSet:
    """`labels` as given to predict: ids of at least one of `n_labels` labels, or a `LabelSet` of this model's."""
    if not isinstance(labels, LabelSet):
        return label_ids(labels, n_labels)
    if labels.n_labels != n_labels:
        raise InputError(f"the LabelSet is of a model with {labels.n_labels} labels; this one has {n_labels}")
    return labels


def check_label(label: Any, label_counts: Any, n_labels: int) -> tuple[int, Int64 | None]:
    """The id of a label and the labels' frequencies (or None), as `explain` of every model wants them."""
    integer(at_least=0, at_most=n_labels - 1)("label", label)
    if label_counts is None:
        return int(label), None
    counts = _as_array(label_counts, "label_counts", f"{n_labels} numbers")
    if counts.shape != (n_labels,):
        raise InputError(f"label_counts must be {n_labels} numbers; got shape {counts.shape}")
    if counts.dtype.kind not in "fiu" or not (counts >= 0).all():  # of NaN that is not true either
        raise InputError(f"label_counts must be {n_labels} numbers, none below 0; got {shown(label_counts)}")
    return int(label), counts if counts.dtype.kind == "f" else counts.clip(0, 2**62).astype(np.int64)


def _as_array(values: Any, name: str, requirement: str) -> Array:
    """Of a list that is ragged NumPy makes no array."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be {requirement}; got {shown(values)}") from None
