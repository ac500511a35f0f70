"""Two files number their labels each on its own: names say which column of one is which of the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..arrays import Csr, Int64, StringTable, assemble, row_numbers
from ..core import InputError, ParameterError, choice, clear_calls, require
from .dataset import Dataset


@clear_calls
def align(dataset: Dataset, names: StringTable, *, unknown: Literal["drop", "keep"] = "drop") -> Dataset:
    """The same rows with the label columns of `names` (a model's).

    Labels that are not among them are dropped and counted, or keep columns of their own after the others: they can
    never be predicted, but recall must count them. Data without names must already be in the numbering of `names`.
    """
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    choice("drop", "keep")("unknown", unknown)
    names = StringTable.of(names)
    n, found = len(names), dataset.label_names
    if found is None:
        if dataset.Y.nnz and int(dataset.Y.indices.max()) >= n:
            raise InputError(f"the data has {dataset.n_labels:,} labels and no names for them; {n:,} are known")
        if unknown == "drop" and dataset.n_labels != n:
            raise InputError(f"the data has {dataset.n_labels:,} labels and no names for them; expected {n:,}")
        ids = np.arange(dataset.n_labels)
        target, others = np.where(ids < n, ids, -1), []  # excluded pairs may be of labels that nobody knows
    elif found == names:
        return dataset
    else:
        require_distinct(names)
        known = [names.find(name) for name in found]
        others = [name for name, new in zip(found, known, strict=True) if new is None] if unknown == "keep" else []
        after = itertools.count(n)
        missing = itertools.repeat(-1) if unknown == "drop" else after
        target = np.array([next(missing) if new is None else new for new in known], np.int64)
    width = n + len(others)
    Y = _renumber(dataset.Y, target, width)
    return replace(
        dataset,
        Y=Y,
        label_names=StringTable.of([*names, *others]) if others else names,
        excluded=None if dataset.excluded is None else _renumber(dataset.excluded, target, width),
        dropped_labels=dataset.dropped_labels + int(dataset.Y.nnz - Y.nnz),
    )


def relabel(dataset: Dataset, targets: Sequence[str | None], names: StringTable) -> Dataset:
    """The same rows with label columns `names`: `targets` says which of them each label becomes; None is dropped."""
    column = {name: i for i, name in enumerate(names)}
    target = np.array([-1 if name is None else column[name] for name in targets], np.int64)
    Y = _renumber(dataset.Y, target, len(names))
    excluded = None if dataset.excluded is None else _renumber(dataset.excluded, target, len(names))
    return replace(dataset, Y=Y, label_names=names, excluded=excluded)


def require_distinct(labels: StringTable) -> None:
    """Names that are to pick columns must each mean one."""
    if len(set(labels)) != len(labels):
        ordered = sorted(labels)
        twice = next(a for a, b in itertools.pairwise(ordered) if a == b)
        raise ParameterError(f"labels must be distinct names; {twice!r} occurs twice")


def _renumber(Y: Csr, target: Int64, n_labels: int) -> Csr:
    columns = target[Y.indices]
    kept = columns >= 0
    return labels_from_pairs(row_numbers(Y)[kept], columns[kept], (Y.shape[0], n_labels))


def labels_from_pairs(rows: Int64, columns: Int64, shape: tuple[int, int]) -> Csr:
    """A label matrix from (row, label) pairs in any order; a pair that comes twice counts once."""
    pairs = np.sort(rows.astype(np.int64) * max(1, shape[1]) + columns)
    if len(pairs):  # NumPy's `unique` hashes first, which takes several times as long as the sort alone
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(pairs // max(1, shape[1]), minlength=shape[0]), out=indptr[1:])
    return assemble(np.ones(len(pairs), np.float32), (pairs % max(1, shape[1])).astype(np.int32), indptr, shape)
