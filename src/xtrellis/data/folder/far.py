"""Rows for tasks that run elsewhere: where they lie, if every node can open that, or the rows themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...arrays import Csr, Int32, Int64, Rows, take_rows, unit_values
from .opened import RowSource, open_rows

FarRows = Rows | RowSource


def far_rows(X: Csr) -> FarRows:
    """What travels."""
    source: RowSource | None = getattr(X, "source", None)
    return source if source is not None else Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))


def near_rows(far: FarRows, rows: Int32 | Int64) -> Rows:
    """Some of these rows, read by whoever needs them."""
    X = take_rows(far if isinstance(far, Rows) else _opened(far), rows)
    out = Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))
    unit = not isinstance(far, Rows) and far.unit
    return Rows(unit_values(out), X.indices, X.indptr, out.shape) if unit else out


@lru_cache(maxsize=2)
def _opened(source: RowSource) -> Any:
    return open_rows(source)
