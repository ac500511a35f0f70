"""Rows for tasks that run elsewhere: where they lie, if every node can open that, or the rows themselves."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from ...arrays import Csr, Int32, Int64, Rows, take_rows, unit_values
from ..unit import unit_on_disk
from .layout import MANIFEST
from .opened import RowSource, open_rows

FarRows = Rows | RowSource
HELD = 256 << 20  # bytes of values at unit length that a process keeps for its next task


def far_rows(X: Csr) -> FarRows:
    """What travels."""
    source: RowSource | None = getattr(X, "source", None)
    return source if source is not None else Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))


def near_rows(far: FarRows, rows: Int32 | Int64) -> Rows:
    """Some of these rows, read by whoever needs them."""
    X = take_rows(far if isinstance(far, Rows) else _opened(far, _stamp(far)), rows)
    out = Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))
    unit = not isinstance(far, Rows) and far.unit
    return Rows(unit_values(out), X.indices, X.indptr, out.shape) if unit else out


def all_rows(far: FarRows) -> Rows | None:
    """All of them, where that takes no copy for each task: as they lie, or values that are kept from task to task. None
    if these would be too many."""
    return far if isinstance(far, Rows) else _all(far, _stamp(far))


def rows_in_files(far: FarRows) -> Rows:
    """All of them in no memory worth counting: as they lie, or with values in a file of their own."""
    if isinstance(far, Rows):
        return far
    found = all_rows(far)
    return found if found is not None else _in_files(far, _stamp(far))


def _stamp(source: RowSource) -> tuple[int, ...]:
    """Another one if another folder lies in its place: a process outlives trainings."""
    try:
        told = (Path(source.path) / MANIFEST).stat()
    except OSError:
        return ()  # opening says what is wrong
    return told.st_ino, told.st_mtime_ns, told.st_size


@lru_cache(maxsize=2)
def _opened(source: RowSource, stamp: tuple[int, ...]) -> Any:
    return open_rows(source)


@lru_cache(maxsize=1)
def _all(source: RowSource, stamp: tuple[int, ...]) -> Rows | None:
    X = _opened(source, stamp)
    if source.unit and X.data.nbytes > HELD:
        return None
    out = Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))
    return Rows(unit_values(out), X.indices, X.indptr, out.shape) if source.unit else out


@lru_cache(maxsize=1)
def _in_files(source: RowSource, stamp: tuple[int, ...]) -> Rows:
    X = _opened(source, stamp)
    return Rows(unit_on_disk(X), X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))
