"""`LabelSet`: some of a model's labels, prepared once to be searched among many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..arrays import Int64, UInt8
from ..core import InputError, clear_calls, integer, shown

T = TypeVar("T")


@clear_calls
class LabelSet:
    """Labels that answers are restricted to, as `predict(labels=…)` of trees takes them.

    A list of ids is checked, and the way to each of them marked in the tree, at every call; this keeps what was made.
    """

    def __init__(self, ids: Any, n_labels: int) -> None:
        """`ids` are of at least one of `n_labels` labels, in any order."""
        integer(at_least=1)("n_labels", n_labels)
        self.ids, self.n_labels = label_ids(ids, n_labels), int(n_labels)
        self._made: dict[int, tuple[Any, Any]] = {}

    def made_for(self, tree: Any, make: Callable[[], T]) -> T:
        """What `make` gives for this tree, made once. (The tree is kept, so that no other can come to have its id.)"""
        found = self._made.get(id(tree))
        if found is None:
            found = self._made[id(tree)] = tree, make()
        made: T = found[1]
        return made

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"LabelSet({len(self):,} of {self.n_labels:,} labels)"


def label_mask(wanted: Int64 | LabelSet | None, n_labels: int) -> UInt8:
    """1 for each label that may be answered, as kernels want it; empty for all."""
    if wanted is None:
        return np.zeros(0, np.uint8)

    def make() -> UInt8:
        mask = np.zeros(n_labels, np.uint8)
        mask[wanted.ids if isinstance(wanted, LabelSet) else wanted] = 1
        return mask

    return wanted.made_for(LabelSet, make) if isinstance(wanted, LabelSet) else make()


def label_ids(labels: Any, n_labels: int) -> Int64:
    """Ids of at least one of `n_labels` labels, ascending and each once."""
    try:
        found = np.asarray(labels)
    except (TypeError, ValueError, OverflowError):  # a list that is ragged
        found = np.zeros(0)
    if not found.size or found.dtype.kind not in "iu":
        raise InputError(f"labels must be a list of at least one label id; got {shown(labels)}")
    ids = np.unique(found)
    if ids[0] < 0 or ids[-1] >= n_labels:
        bad = ids[0] if ids[0] < 0 else ids[-1]
        raise InputError(f"labels must be ids from 0 to {n_labels - 1}; got {bad}")
    return ids.astype(np.int64)
