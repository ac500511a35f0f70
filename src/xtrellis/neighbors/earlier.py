"""Rows as earlier versions stored them: one after another, features by their gaps. They are read to be built anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import MAX_ID, Array, Csr, assemble
from ..core import StoreError

LAYOUTS = (1, 2)
NEEDED = ("columns", "values", "gaps", "group_begin", "row_offset", "numbers", "label_begin", "labels", "removed")


def read(meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Csr, Csr, Array]:
    """The rows in the order in which they came, their labels, and which of them were removed."""
    missing = [name for name in NEEDED if name not in arrays]
    facts = {name: meta.get(name) for name in ("first", "n_features", "group_shift")}
    if missing or not all(type(fact) is int and 0 <= fact <= MAX_ID for fact in facts.values()):
        raise StoreError(f"a RowSegment of an earlier layout lacks {', '.join(missing)}; its facts are {facts}")
    try:
        return _read(int(facts["n_features"] or 0), int(facts["group_shift"] or 0), arrays)
    except (IndexError, ValueError) as error:
        raise StoreError(f"a RowSegment of an earlier layout is damaged: {error}") from None


def _read(n_features: int, shift: int, arrays: Mapping[str, Array]) -> tuple[Csr, Csr, Array]:
    n = len(arrays["row_offset"]) - 1
    begins = arrays["group_begin"][np.arange(n + 1) >> shift].astype(np.int64) + arrays["row_offset"]
    counts = np.diff(begins)
    if n < 1 or begins[0] != 0 or (counts < 0).any() or begins[-1] != len(arrays["values"]):
        raise ValueError("rows must begin one after another")
    gaps = np.cumsum(arrays["gaps"], dtype=np.int64)
    features = gaps - np.repeat(np.concatenate([[0], gaps])[begins[:-1]], counts)
    columns, values = arrays["columns"], arrays["values"]
    columns = columns[features] if len(columns) else features
    rows = np.repeat(np.arange(n), counts)
    if len(arrays["numbers"]):
        numbers = arrays["numbers"].reshape(-1, 3).astype(np.int64) @ np.array([1, 1 << 8, 1 << 16])
        if (np.sort(numbers) != np.arange(n)).any():
            raise ValueError("each row must have one number")
        rows = numbers[rows]
    kept = values != 0  # others stand in wide gaps
    rows, columns, values = rows[kept], columns[kept], values[kept]
    if len(columns) and not 0 <= columns.min() <= columns.max() < n_features:
        raise ValueError(f"features must be below {n_features}")
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    X = assemble(values[order].astype(np.float32), columns[order].astype(np.int32), indptr, (n, n_features))
    label_begin, labels = arrays["label_begin"].astype(np.int64), arrays["labels"].astype(np.int32)
    if len(label_begin) != n + 1 or label_begin[-1] != len(labels) or (np.diff(label_begin) < 0).any():
        raise ValueError("label_begin must rise to the number of labels")
    Y = assemble(np.ones(len(labels), np.float32), labels, label_begin, (n, MAX_ID))
    return X, Y, np.unpackbits(arrays["removed"], count=n, bitorder="little").astype(bool)
