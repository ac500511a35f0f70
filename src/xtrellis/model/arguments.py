"""Arguments that `predict` and `explain` of every model take, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Int64
from ..core import InputError, integer

_K = integer(at_least=1)


def check_k(k: Any) -> int:
    """`k` as given to predict: an integer of at least 1."""
    if type(k) is int and k >= 1:  # a single query notices the microsecond of the full check
        return k
    _K("k", k)
    return int(k)


def check_label_ids(labels: Any, n_labels: int) -> Int64:
    """`labels` as given to predict: ids of at least one of `n_labels` labels, ascending and each once."""
    ids = np.unique(np.asarray(labels))
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
        raise InputError("labels must be a list of at least one label id")
    if ids[0] < 0 or ids[-1] >= n_labels:
        bad = ids[0] if ids[0] < 0 else ids[-1]
        raise InputError(f"labels must be ids from 0 to {n_labels - 1}; got {bad}")
    return ids.astype(np.int64)


def check_label(label: Any, label_counts: Any, n_labels: int) -> tuple[int, Int64 | None]:
    """The id of a label and the labels' frequencies (or None), as `explain` of every model wants them."""
    integer(at_least=0, at_most=n_labels - 1)("label", label)
    if label_counts is not None and np.shape(label_counts) != (n_labels,):
        raise InputError(f"label_counts must be {n_labels} numbers; got shape {np.shape(label_counts)}")
    return int(label), None if label_counts is None else np.asarray(label_counts)
