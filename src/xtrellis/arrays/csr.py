"""Sparse matrices by rows as kernels want them, int32 ids beside int64 offsets, and the few things done to them."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._native import arrays as native
from ..core import InputError, size_text
from .limits import unfolds_too_far
from .types import Array, Csr, Float32, Int32, Int64

FEW = 64  # rows whose matrix is made without SciPy's constructor
MAX_ID = 2**31 - 1  # label and feature ids fit int32 (-1 pads predictions); offsets are int64


class Rows:
    """A csr matrix for kernels only: four attributes, none of the cost of building SciPy's object."""

    __slots__ = ("data", "indices", "indptr", "shape")

    def __init__(self, data: Float32, indices: Int32, indptr: Int64, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape


def assemble(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Csr:
    """A csr_array that keeps int32 indices beside int64 offsets (scipy's constructor would make them alike)."""
    if shape[0] <= FEW:  # SciPy's constructor takes longer than all else that happens to one query
        out = object.__new__(sp.csr_array)
        vars(out).update(vars(_empty(shape, data.dtype)))
    else:
        out = sp.csr_array(shape, dtype=data.dtype)
    out.data, out.indices, out.indptr = data, indices, indptr
    out.has_sorted_indices = True
    out.has_canonical_format = True
    return out


@lru_cache(maxsize=256)
def _empty(shape: tuple[int, ...], dtype: Any) -> Csr:
    """What SciPy makes of a few rows; nobody gets it but as a copy."""
    return sp.csr_array(shape, dtype=dtype)


def for_scipy(matrix: Csr) -> Csr:
    """The same matrix with offsets and indices of one dtype, which SciPy's own functions need: for users' hands."""
    if matrix.indptr.dtype == matrix.indices.dtype:
        return matrix
    dtype = np.int32 if matrix.indptr[-1] <= MAX_ID else np.int64
    return assemble(matrix.data, matrix.indices.astype(dtype, copy=False), matrix.indptr.astype(dtype), matrix.shape)


def ranges(begins: Any, counts: Any) -> Int64:
    """begins[0], begins[0] + 1, … (counts[0] of them), begins[1], …: the places of slices, one after another."""
    ends = np.cumsum(counts)
    places: Int64 = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - counts), counts)
    return places


def spans_of_work(upto: Any, parts: int) -> list[tuple[int, int]]:
    """Cut things into at most `parts` runs of about the same work; `upto[i]` is the work of all before thing i."""
    cuts = np.searchsorted(upto, np.linspace(0, upto[-1], parts + 1)[1:-1])
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [len(upto) - 1]])).tolist()))


def take_rows(matrix: Csr | Rows, rows: Any) -> Csr:
    """Some rows of a checked matrix, in any order (SciPy's own indexing would make ids and offsets of one dtype)."""
    lengths = np.diff(matrix.indptr)[rows]
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    places = ranges(matrix.indptr[:-1][rows], lengths)
    return assemble(matrix.data[places], matrix.indices[places], indptr, (len(lengths), matrix.shape[1]))


def row_spans(indptr: Int64, nonzeros: int) -> list[tuple[int, int]]:
    """All rows in runs of about so many non-zeros (a row at least): what is looked at before pages are let go."""
    n_rows, n = len(indptr) - 1, int(indptr[-1]) - int(indptr[0])
    goals = int(indptr[0]) + np.arange(nonzeros, n, nonzeros)
    by_rows = np.arange(0, n_rows, max(1, nonzeros))  # rows without entries are rows too
    return list(pairwise(np.unique(np.concatenate([[0], np.searchsorted(indptr, goals), by_rows, [n_rows]])).tolist()))


def count_ids(ids: Int32, n: int) -> Int64:
    """How often each of n ids occurs (NumPy alone would make a copy of them all, twice as large)."""
    counts, step = np.zeros(n, np.int64), max(1 << 21, n)
    for begin in range(0, len(ids), step):
        counts += np.bincount(ids[begin : begin + step], minlength=n)
    return counts


def row_numbers(matrix: Csr | Rows) -> Int64:
    """The row of every stored entry."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))


def join_parts(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Parts (offsets from 0, arrays that they count …) of a matrix, made by several threads, one below the other."""
    shift = np.cumsum([0, *(part[0][-1] for part in parts)])
    offsets = np.concatenate([[0], *(part[0][1:] + start for part, start in zip(parts, shift, strict=False))])
    return offsets.astype(np.int64), *(np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[1:])


def transpose(matrix: Csr) -> Csr:
    """A csr of the transpose."""
    if unfolds_too_far(n_bytes_of(matrix), 8 * int(matrix.shape[1])):
        raise InputError(
            f"{matrix.nnz} entries in {matrix.shape[1]} columns: the offsets of the columns alone would take "
            f"{size_text(8 * matrix.shape[1])}; leave out labels that no row has"
        )
    turned = matrix.tocsc()
    ids, offsets = turned.indices.astype(np.int32, copy=False), turned.indptr.astype(np.int64, copy=False)
    return assemble(turned.data, ids, offsets, (matrix.shape[1], matrix.shape[0]))


def unit_rows(matrix: Csr) -> Csr:
    """Every row at length 1; rows of zeros stay, and so do those that are of unit length already, to the bit."""
    values = unit_values(matrix)
    return matrix if values is matrix.data else assemble(values, matrix.indices, matrix.indptr, matrix.shape)


def at_unit_length(rows: Rows) -> Rows:
    """The same of rows to predict for."""
    return Rows(unit_values(rows), rows.indices, rows.indptr, rows.shape)


def unit_values(matrix: Csr | Rows, into: Float32 | None = None) -> Float32:
    """The values of a matrix whose rows have length 1: its own, if they had; else they may go `into` an array."""
    values = np.empty(len(matrix.data), np.float32) if into is None else into
    return values if native.unit(matrix.indptr, matrix.data, values) else matrix.data


def n_bytes_of(*matrices: Csr | None) -> int:
    """Bytes of some sparse matrices."""
    return sum(int(m.indptr.nbytes + m.indices.nbytes + m.data.nbytes) for m in matrices if m is not None)


def is_on_disk(array: Array | None) -> bool:
    """True if the array's memory is that of a file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap) or (isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap))


def known_good(plain: Csr, *, labels: bool = False) -> Csr:
    """A matrix for users' hands that `as_features` (of ones: and `as_labels`) take without a look: `plain` was checked,
    and lies where nobody can write to it."""
    out = for_scipy(plain) if plain.indptr[-1] <= MAX_ID else assemble(*parts_in_order(plain), plain.shape)
    out._checked, out._of_ones = plain, labels
    return out


def parts_in_order(matrix: Csr) -> tuple[Array, Array, Array]:
    """Values, columns, offsets."""
    return matrix.data, matrix.indices, matrix.indptr


def checked(matrix: Any, *, labels: bool = False) -> Csr | None:
    """What `known_good` was made of, if its arrays are still the same."""
    plain: Any = getattr(matrix, "_checked", None)
    if plain is None or (labels and not matrix._of_ones):
        return None
    same = plain.data is matrix.data and plain.indices is matrix.indices and len(plain.indptr) == len(matrix.indptr)
    return plain if same and plain.shape == matrix.shape else None
