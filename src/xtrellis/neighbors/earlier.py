"""Rows as earlier versions stored them. They are read to be built anew.

Layouts 1 and 2: one after another, features by their gaps. Layout 3: in blocks of eight, as now, but with a byte for
each value's bound, whole floats, and the high bits of every feature where there are many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import MAX_ID, Array, Csr, Int64, assemble
from ..core import StoreError

LAYOUTS = (1, 2, 3)
COMMON = ("columns", "numbers", "label_begin", "labels", "removed")
NEEDED = {
    1: ("values", "gaps", "group_begin", "row_offset", *COMMON),
    2: ("values", "gaps", "group_begin", "row_offset", *COMMON),
    3: ("begins", "bytes", "ceilings", *COMMON),
}
Triplets = tuple[Int64, Int64, Array]  # where a row lies, a feature of it, its value


def read(meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Csr, Csr, Array]:
    """The rows in the order in which they came, their labels, and which of them were removed."""
    layout = meta["layout"]
    missing = [name for name in NEEDED[layout] if name not in arrays]
    wanted = ("first", "n_features") if layout == 3 else ("first", "n_features", "group_shift")
    facts = {name: meta.get(name) for name in wanted}
    if missing or not all(type(fact) is int and 0 <= fact <= MAX_ID for fact in facts.values()):
        raise StoreError(f"a RowSegment of an earlier layout lacks {', '.join(missing)}; its facts are {facts}")
    try:
        found = _of_blocks(arrays) if layout == 3 else _of_gaps(int(facts["group_shift"] or 0), arrays)
        return _in_order(int(facts["n_features"] or 0), found, arrays)
    except (IndexError, ValueError) as error:
        raise StoreError(f"a RowSegment of an earlier layout is damaged: {error}") from None


def _of_gaps(shift: int, arrays: Mapping[str, Array]) -> Triplets:
    n = len(arrays["row_offset"]) - 1
    begins = arrays["group_begin"][np.arange(n + 1) >> shift].astype(np.int64) + arrays["row_offset"]
    counts = np.diff(begins)
    if n < 1 or begins[0] != 0 or (counts < 0).any() or begins[-1] != len(arrays["values"]):
        raise ValueError("rows must begin one after another")
    gaps = np.cumsum(arrays["gaps"], dtype=np.int64)
    features = gaps - np.repeat(np.concatenate([[0], gaps])[begins[:-1]], counts)
    return np.repeat(np.arange(n), counts), features, arrays["values"]


def _of_blocks(arrays: Mapping[str, Array]) -> Triplets:
    begins, data, n = arrays["begins"].astype(np.int64), arrays["bytes"], len(arrays["label_begin"]) - 1
    wide = len(arrays["ceilings"]) > 1 << 16
    entry_bytes, value_bytes = 5 if wide else 3, 5
    entries, values = begins[::2], begins[1::2]
    n_entries, n_values = np.diff(entries), np.diff(values)
    if n < 1 or len(entries) != len(values) or len(entries) != -(-n // 8) + 1 or entries[0] or values[0]:
        raise ValueError("begins must be of all blocks")
    length = entry_bytes * entries[-1] + value_bytes * values[-1]
    if (n_entries < 0).any() or (n_values < 0).any() or len(data) != length:
        raise ValueError("blocks must begin one after another")
    at = (entry_bytes * entries + value_bytes * values)[:-1]  # of each block: keys, masks, codes, high bits, floats

    def each(first: Int64, counts: Int64, size: int) -> Array:
        """`size` bytes for each of a block's `counts`, from byte `first` of the block on."""
        number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(at + first, counts) + size * number
        found: Array = data[places[:, None] + np.arange(size)]
        return found

    masks = np.unpackbits(each(2 * n_entries, n_entries, 1), axis=1, bitorder="little").astype(bool)
    features = each(0 * n_entries, n_entries, 2).view("<u2")[:, 0].astype(np.int64)
    if wide:
        features += each(3 * n_entries + n_values, n_entries, 2).view("<u2")[:, 0].astype(np.int64) << 16
    floats = each(entry_bytes * n_entries + n_values, n_values, 4).view("<f4")[:, 0]
    entry, bit = np.nonzero(masks)
    rows = np.repeat(np.arange(len(n_entries)), n_entries)[entry] * 8 + bit
    if len(rows) != len(floats) or (len(rows) and rows.max() >= n):
        raise ValueError("a bit must be set for every value")
    return rows, features[entry], floats


def _in_order(n_features: int, found: Triplets, arrays: Mapping[str, Array]) -> tuple[Csr, Csr, Array]:
    rows, features, values = found
    n, columns = len(arrays["label_begin"]) - 1, arrays["columns"]
    columns = columns[features] if len(columns) else features
    if len(arrays["numbers"]):
        numbers = arrays["numbers"].reshape(-1, 3).astype(np.int64) @ np.array([1, 1 << 8, 1 << 16])
        if (np.sort(numbers) != np.arange(n)).any():
            raise ValueError("each row must have one number")
        rows = numbers[rows]
    kept = values != 0  # others stand in wide gaps
    rows, columns, values = rows[kept], columns[kept], values[kept]
    if len(columns) and not 0 <= columns.min() <= columns.max() < n_features:
        raise ValueError(f"features must be below {n_features}")
    order = np.lexsort((columns, rows))
    counts = np.bincount(rows, minlength=n)
    label_begin, labels = arrays["label_begin"].astype(np.int64), arrays["labels"].astype(np.int32)
    if len(counts) != n or label_begin[-1] != len(labels) or (np.diff(label_begin) < 0).any():
        raise ValueError("label_begin must rise to the number of labels, one for each row")
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    X = assemble(values[order].astype(np.float32), columns[order].astype(np.int32), indptr, (n, n_features))
    Y = assemble(np.ones(len(labels), np.float32), labels, label_begin, (n, MAX_ID))
    return X, Y, np.unpackbits(arrays["removed"], count=n, bitorder="little").astype(bool)
