"""Sparse matrices of every kind become checked csr arrays.

SciPy's kernels believe what a matrix says of itself: an offset or an index that points outside makes them read and
write there, and its own check skips offsets when the last one is 0. So nothing made by hand or read from a file reaches
them before it was looked through here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import InputError, shown, size_text
from .csr import MAX_ID, ranges
from .limits import unfolds_too_far
from .types import Array, Csr, Int32, Int64


class CsrParts(NamedTuple):
    """Arrays that are safe to hand to SciPy or a kernel; indices need not be sorted, and may come twice."""

    data: Array  # numbers of the machine's own byte order
    indices: Int32
    indptr: Int64
    shape: tuple[int, int]

    def to_scipy(self) -> Csr:
        """The same as SciPy's."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)


class _BrokenError(Exception):
    """Why a matrix is not one; whoever catches it knows its name and kind."""


class _NotNumbersError(Exception):
    """The type of what a matrix holds instead."""


def csr_parts(matrix: Any, name: str) -> CsrParts:
    """Any SciPy matrix (of one dimension: as one row), checked; InputError if something in it points outside."""
    kind = getattr(matrix, "format", type(matrix).__name__)
    try:
        shape, arrays = tuple(matrix.shape), _FIELDS[kind](matrix)
    except Exception as error:  # attributes that somebody replaced fail in any way
        raise InputError(f"{name} is not a valid {kind} matrix: {error}") from None
    return parts_of(kind, arrays, shape, name)


def parts_of(kind: str, arrays: Mapping[str, Any], shape: Any, name: str, *, turned: bool = False) -> CsrParts:
    """The same from the arrays that a matrix of this kind is made of; with `turned`, the parts of its transpose."""
    if kind not in _CONVERT:
        raise InputError(f"{name} must be one of {', '.join(_CONVERT)}; got the format {kind!r:.40}")
    try:
        size = [int(length) for length in shape]
        rows, columns = size if len(size) == 2 else (1, *size)
        if min(rows, columns) < 0:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must have two dimensions; got shape {shown(shape)}") from None
    if max(rows, columns) > MAX_ID:
        raise InputError(f"{name} must have at most {MAX_ID} rows and columns; got shape ({rows}, {columns})")
    try:
        if turned and kind == "csc":
            data, indices, indptr = _csr(arrays, columns, rows)
        else:
            data, indices, indptr = _CONVERT[kind](arrays, rows, columns)
            if turned:
                made = {"data": data, "indices": indices, "indptr": indptr}
                data, indices, indptr = _csc(made, columns, rows)
    except _BrokenError as error:
        raise InputError(f"{name} is not a valid {kind} matrix: {error}") from None
    except _NotNumbersError as error:
        raise InputError(f"{name} must hold real numbers; got dtype {error}") from None
    return CsrParts(
        data,
        indices.astype(np.int32, copy=False),
        indptr.astype(np.int64, copy=False),
        (columns, rows) if turned else (rows, columns),
    )


def native_numbers(values: Array) -> Array:
    """Numbers as SciPy and kernels have them: the machine's byte order, floats of 4 or 8 bytes."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


_Made = tuple[Array, Array, Array]  # data, indices, indptr


def _csr(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    data = _numbers(arrays["data"], 1)
    indices, indptr = _compressed(arrays, len(data), rows, columns)
    return data[: len(indices)], indices, indptr


def _csc(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    data, indices, indptr = _csr(arrays, columns, rows)
    _room_for(rows, data, indices, indptr)
    return _taken_apart(sp.csc_array((data, indices, indptr), shape=(rows, columns)).tocsr())


def _bsr(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    blocks = _numbers(arrays["data"], 3)
    if min(blocks.shape[1:]) < 1 or rows % blocks.shape[1] or columns % blocks.shape[2]:
        raise _BrokenError(f"its blocks, of shape {blocks.shape}, do not divide its shape {(rows, columns)}")
    height, width = blocks.shape[1:]
    indices, indptr = _compressed(arrays, len(blocks), rows // height, columns // width)
    blocks = np.ascontiguousarray(blocks[: len(indices)])
    _room_for(rows, blocks, indices, indptr)
    return _taken_apart(sp.bsr_array((blocks, indices, indptr), shape=(rows, columns)).tocsr())


def _coo(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    data, row, column = _numbers(arrays["data"], 1), _array(arrays["row"]), _array(arrays["col"])
    if row.shape != data.shape or column.shape != data.shape:
        raise _BrokenError(f"it must have a row and a column for each of {len(data)} values")
    row, column = _indices(row, rows), _indices(column, columns)
    _room_for(rows, data, row, column)
    made = sp.coo_array((data, (row, column)), shape=(rows, columns))
    made.has_canonical_format = True  # keeps SciPy from adding up what comes twice: it would do so in int8
    return _taken_apart(made.tocsr())


def _dia(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    """Entry (j - offset, j) is data[diagonal, j]; zeros are not stored."""
    data, offsets = _numbers(arrays["data"], 2), _array(arrays["offsets"])
    if offsets.shape != data.shape[:1] or offsets.dtype.kind not in "iu":
        raise _BrokenError(f"it must have an offset, an integer, for each of its {len(data)} rows of data")
    if len(np.unique(offsets)) != len(offsets):
        raise _BrokenError("an offset comes twice")
    inside = (offsets > -rows) & (offsets < columns)  # compared before they are added: extreme ones would wrap around
    data, offsets = data[inside], offsets[inside].astype(np.int64)
    begin = np.maximum(offsets, 0)
    length = np.maximum(np.minimum(rows + offsets, min(columns, data.shape[1])) - begin, 0)
    column, diagonal = ranges(begin, length), np.repeat(np.arange(len(offsets)), length)
    values = data[diagonal, column]
    there = values != 0
    row = column - offsets[diagonal]
    return _coo({"data": values[there], "row": row[there], "col": column[there]}, rows, columns)


def _lil(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    ids, values = _array(arrays["rows"]), _array(arrays["data"])
    if ids.shape != (rows,) or values.shape != (rows,):
        raise _BrokenError(f"it must have {rows} lists of columns and of values; got {ids.shape} and {values.shape}")
    if not set(map(type, chain(ids, values))) <= {list}:
        raise _BrokenError("what it has for a row must be a list")
    lengths = [len(some) for some in ids]
    if lengths != [len(some) for some in values]:
        raise _BrokenError("a row must have as many columns as values")
    flat = {"indices": _listed(chain(*ids), integers=True), "data": _listed(chain(*values))}
    return _csr({**flat, "indptr": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])}, rows, columns)


def _dok(arrays: Mapping[str, Any], rows: int, columns: int) -> _Made:
    places = arrays["keys"]
    if not all(isinstance(place, tuple) and len(place) == 2 for place in places):
        raise _BrokenError("its keys must be pairs of a row and a column")
    where = _listed(chain(*places), integers=True).reshape(-1, 2)
    return _coo({"data": _listed(arrays["values"]), "row": where[:, 0], "col": where[:, 1]}, rows, columns)


_CONVERT: dict[str, Callable[[Mapping[str, Any], int, int], _Made]] = {
    "csr": _csr, "csc": _csc, "bsr": _bsr, "coo": _coo, "dia": _dia, "lil": _lil, "dok": _dok,
}  # fmt: skip


def _coo_fields(matrix: Any) -> dict[str, Any]:
    places = getattr(matrix, "coords", None) or (matrix.row, matrix.col)  # SciPy before 1.13 has no coords
    if len(places) != len(matrix.shape):
        raise ValueError(f"it has {len(places)} arrays of indices for {len(matrix.shape)} dimensions")
    column = places[-1]
    return {"data": matrix.data, "row": places[0] if len(places) == 2 else np.zeros(len(column), int), "col": column}


def _dok_fields(matrix: Any) -> dict[str, Any]:
    keys = list(matrix.keys())
    return {"keys": keys if len(matrix.shape) == 2 else [(0, key) for key in keys], "values": list(matrix.values())}


def _named(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda matrix: {name: getattr(matrix, name) for name in names}


_FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "csr": _named("data", "indices", "indptr"),
    "csc": _named("data", "indices", "indptr"),
    "bsr": _named("data", "indices", "indptr"),
    "dia": _named("data", "offsets"),
    "lil": _named("rows", "data"),
    "coo": _coo_fields,
    "dok": _dok_fields,
}


def _array(given: Any) -> Array:
    try:
        return np.asarray(given)
    except Exception as error:
        raise _BrokenError(str(error)) from None


def _numbers(given: Any, ndim: int) -> Array:
    values = _array(given)
    if values.dtype.kind not in "fiub":
        raise _NotNumbersError(values.dtype)
    if values.ndim != ndim:
        raise _BrokenError(f"its data must have {ndim} dimensions; got shape {values.shape}")
    return native_numbers(values)


def _listed(values: Any, integers: bool = False) -> Array:
    """A flat list of Python numbers as an array; anything else in it is refused."""
    listed = list(values)
    found = _array(listed) if listed else np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in ("iu" if integers else "fiub"):
        what = "indices that are integers" if integers else "numbers"
        raise _BrokenError(f"it must hold {what}; among them is something else")
    return found


def _compressed(arrays: Mapping[str, Any], n_data: int, major: int, minor: int) -> tuple[Int32, Int64]:
    """Indices and offsets of a matrix whose entries lie row by row (or column by column, or block by block)."""
    indices, indptr = _array(arrays["indices"]), _array(arrays["indptr"])
    if any(a.ndim != 1 or a.dtype.kind not in "iu" for a in (indices, indptr)):
        raise _BrokenError("its offsets and indices must be integers, and all its arrays of one dimension")
    # Compared, not subtracted: differences wrap around for unsigned and for extreme offsets.
    if len(indptr) != major + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _BrokenError("its offsets do not rise from 0")
    held = min(len(indices), n_data)
    if indptr[-1] > held:
        raise _BrokenError(f"its offsets point past its {held} entries")
    return _indices(indices[: int(indptr[-1])], minor), indptr.astype(np.int64, copy=False)


def _indices(indices: Array, limit: int) -> Int32:
    if indices.dtype.kind not in "iu":
        raise _BrokenError(f"its indices must be integers; got {indices.dtype}")
    if len(indices) and (indices.min() < 0 or indices.max() >= limit):
        bad = int(indices.min() if indices.min() < 0 else indices.max())
        raise _BrokenError(f"index {bad} is outside 0…{limit - 1}")
    return indices.astype(np.int32, copy=False)


def _room_for(rows: int, *arrays: Array) -> None:
    """Kinds that do not store offsets of rows may announce any number of them."""
    needed = 8 * (rows + 1)
    if unfolds_too_far(sum(a.nbytes for a in arrays), needed):
        raise _BrokenError(
            f"it has {len(arrays[0])} entries, and the offsets of {rows} rows or columns alone would take "
            f"{size_text(needed)}: leave out empty ones"
        )


def _taken_apart(matrix: Any) -> _Made:
    return matrix.data, matrix.indices, matrix.indptr
