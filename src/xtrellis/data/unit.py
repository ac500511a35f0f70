"""Rows at length 1 whose values lie in a file: there may be more of them than memory."""

from __future__ import annotations

import numpy as np

from ..arrays import Csr, Float32, Rows, row_spans, unit_values
from ..store import file_array, let_go

TOGETHER = 2 << 20  # non-zeros that are looked at before their pages are let go


def unit_on_disk(X: Csr) -> Float32:
    """The values of rows at length 1, in a file; X's own, if they had that length."""
    values, changed = file_array(len(X.data), np.float32), False
    for first, last in row_spans(X.indptr, TOGETHER):
        here = slice(int(X.indptr[first]), int(X.indptr[last]))
        some = Rows(X.data[here], X.indices[here], X.indptr[first : last + 1] - X.indptr[first], (last - first, 0))
        scaled = unit_values(some, values[here])
        if scaled is some.data:
            values[here] = scaled
        else:
            changed = True
        let_go()
    return values if changed else X.data
