"""Label names as users give them, a list for each text, become a matrix."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Csr, StringTable, is_list
from ..core import InputError, shown
from ..data import labels_from_pairs


def label_matrix(labels: Any, n_rows: int) -> tuple[StringTable, Csr]:
    """Lists of label names as sorted names and an n×L matrix of ones; a name given twice in a row counts once."""
    if not is_list(labels):
        raise InputError(f"labels must be one list of names for each text; got {type(labels).__name__}")
    rows: list[set[str]] = []
    for i, row in enumerate(labels):
        if not is_list(row):
            raise InputError(
                f"labels[{i}] must be a list of names; got {row!r:.60}"
                + (f", did you mean [{row!r:.60}]?" if isinstance(row, str) else "")
            )
        names_of_row = list(row)
        for name in names_of_row:
            if not isinstance(name, str):
                raise InputError(f"labels[{i}] must hold names; got {type(name).__name__} {shown(name)}")
        rows.append(set(names_of_row))
    if len(rows) != n_rows:
        raise InputError(f"there must be one list of labels for each text; got {n_rows} texts and {len(rows)} lists")
    names = sorted(set(chain.from_iterable(rows)))
    number_of = {name: i for i, name in enumerate(names)}
    counts = [len(row) for row in rows]
    columns = np.fromiter((number_of[name] for row in rows for name in row), np.int64, sum(counts))
    Y = labels_from_pairs(np.repeat(np.arange(n_rows), counts), columns, (n_rows, len(names)))
    return StringTable.of(names), Y
