"""Labels as people write them down: for each row a list of ids or names, a column of such lists, a table of 0 and 1.

A list of lists could be a matrix as well. What cannot be told apart is refused: taking ids for a matrix would train
without a word on labels that nobody meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import InputError, shown
from .csr import MAX_ID, assemble
from .strings import StringTable
from .types import Array, Csr, Int64

IDS = "ids go into lists of int, [[3, 17], [5]]; for all that is above 0, pass np.asarray({name}) > 0"
_ROWS = (list, tuple, set, frozenset, np.ndarray)


def as_matrix(Y: Any, name: str, n_labels: int | None, names: StringTable | None) -> Any:
    """What may be a matrix passes as it is; lists of labels become a csr of ones."""
    if sp.issparse(Y):
        return Y
    if hasattr(Y, "columns") and hasattr(Y, "to_numpy"):  # a DataFrame, whoever made it
        return _table(Y, name)
    if not isinstance(Y, (list, tuple)):
        dtype = getattr(Y, "dtype", None)
        if hasattr(Y, "tolist") and len(getattr(Y, "shape", ())) == 1 and getattr(dtype, "names", None) is None:
            # a Series, or an array of lists
            Y = Y.tolist()
        else:
            return Y
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in Y]
    if any(isinstance(row, _ROWS) for row in rows):  # beside lists, None or pandas' NaN is a list without labels
        rows = [[] if row is None or (isinstance(row, float) and row != row) else row for row in rows]
    if not rows or not all(isinstance(row, _ROWS) for row in rows):
        if rows and not any(isinstance(row, _ROWS) for row in rows):
            raise InputError(_one_each(name, rows))
        return Y
    lists = [list(row) for row in rows]
    if any(isinstance(label, str) for row in lists for label in row):
        return _of_names(lists, name, names)
    try:
        flat = np.asarray([label for row in lists for label in row])
    except (ValueError, OverflowError):  # lists within lists
        return Y
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    if flat.dtype.kind == "f" and not (lengths == lengths[0]).all():
        raise InputError(
            f"{name} must have lists of ids, or be a matrix; got {shown(flat[0].item())} in one of its lists"
        )
    if flat.dtype.kind not in "iu":
        return Y  # a matrix of floats or booleans, or nothing that is known: told where matrices are read
    width = int(lengths[0])
    if (lengths == width).all() and len(flat) and int(flat.min()) >= 0 and int(flat.max()) <= 1:
        # Rows of 0 and 1 alone. As ids, [0, 1] would be a row with both of two labels: nobody trains on such.
        if n_labels in (None, width) and width > 1:
            return Y
        if n_labels is None:
            raise InputError(
                f"{name} has 0 or 1 for each row: an id, or whether it has the only label? Pass "
                f"np.array({name}) for a matrix, or a matrix of two columns if these are ids"
            )
    return _of_ids(flat, lengths, n_labels, name)


def _of_ids(flat: Array, lengths: Int64, n_labels: int | None, name: str) -> Csr:
    if len(flat) and (int(flat.min()) < 0 or int(flat.max()) >= (n_labels or MAX_ID)):
        wrong = int(flat.min()) if int(flat.min()) < 0 else int(flat.max())
        raise InputError(f"{name} lists labels by id, from 0 to {(n_labels or MAX_ID) - 1}; got {wrong}")
    width = n_labels or (int(flat.max()) + 1 if len(flat) else 1)
    return _rows(flat.astype(np.int64), lengths, width)


def _of_names(lists: list[list[Any]], name: str, names: StringTable | None) -> Csr:
    if names is None:
        raise InputError(
            f"{name} lists labels by name, such as {_first(lists)!r:.80}, and a model knows them by number: use "
            "xt.Tagger or xtrellis.sklearn.Classifier, which keep names, or pass label_names=[…], which numbers them"
        )
    found = {label: names.find(label) if isinstance(label, str) else None for row in lists for label in row}
    unknown = next((label for label, number in found.items() if number is None), None)
    if unknown is not None:
        raise InputError(f"{name} holds {shown(unknown)}, which is not among label_names")
    flat = np.array([found[label] for row in lists for label in row], np.int64)
    return _rows(flat, np.fromiter(map(len, lists), np.int64, len(lists)), len(names))


def _rows(flat: Int64, lengths: Int64, width: int) -> Csr:
    """Rows of ones, sorted; a label that comes twice counts once."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(rows * width + flat)
    counts = np.bincount(pairs // width, minlength=len(lengths))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ones, ids = np.ones(len(pairs), np.float32), (pairs % width).astype(np.int32)
    return assemble(ones, ids, indptr, (len(lengths), width))


def _table(frame: Any, name: str) -> Any:
    """A DataFrame of numbers as an array."""
    values = frame.to_numpy()
    if values.dtype.kind not in "fiub":
        raise InputError(
            f"{name} is a DataFrame with columns that are no numbers; pass one column of lists, frame['labels'], or a "
            "table of 0 and 1"
        )
    return values


def _one_each(name: str, labels: Sequence[Any]) -> str:
    """Of a flat list."""
    first = labels[0]
    if isinstance(first, str) and first[:1] == "[":
        return f"{name} holds texts such as {first!r:.60}: turn them into lists first, with ast.literal_eval"
    return (
        f"{name} must have a list of labels for each row, or be a matrix; got a flat list that begins with "
        f"{shown(first)}: if every row has one label, pass [[label] for label in {name}]"
    )


def _first(lists: list[list[Any]]) -> str:
    return next(str(label) for row in lists for label in row if isinstance(label, str))
