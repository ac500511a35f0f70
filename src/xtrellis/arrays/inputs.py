"""The door: what users pass in becomes plain, checked arrays here, once; kernels trust what they get."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._native import arrays as native
from ..core import InputError
from .csr import MAX_ID, Rows, assemble
from .types import Csr


def as_features(X: Any, *, n_features: int | None = None, name: str = "X") -> Csr:
    """A sparse matrix or dense array of features as csr float32, int32 indices, int64 offsets, sorted, finite."""
    out = _as_csr(X, name)
    if n_features is not None and out.shape[1] != n_features:
        raise InputError(f"{name} has {out.shape[1]} features; the model was trained with {n_features}")
    _refuse(out, ~np.isfinite(out.data), name, "must be finite in float32")
    return out


def as_rows(X: Any, *, n_features: int) -> Rows:
    """`as_features` for prediction: what is well formed already passes in a few microseconds."""
    if getattr(X, "format", "") == "csr":
        shape, indptr, indices, data = X.shape, X.indptr, X.indices, X.data
        if len(shape) == 2 and shape[1] == n_features and len(indptr) == shape[0] + 1:
            try:
                well_formed = native.plain(indptr, indices, data, n_features)
            except TypeError:  # other dtypes, or arrays that are not in one piece
                well_formed = False
            if well_formed:
                nnz = int(indptr[-1])
                if len(data) != nnz or len(indices) != nnz:  # a csr may hold more than it uses
                    indices, data = indices[:nnz], data[:nnz]
                return Rows(data, indices, indptr if indptr.dtype == np.int64 else indptr.astype(np.int64), shape)
    checked = as_features(X, n_features=n_features)
    return Rows(checked.data, checked.indices, checked.indptr, checked.shape)


def as_row(x: Any, *, n_features: int | None) -> Csr:
    """One row, however it comes: 1×d or of one dimension, sparse or dense; None: of any number of features."""
    if isinstance(x, (list, tuple)) and not any(isinstance(entry, (list, tuple, np.ndarray)) for entry in x):
        x = [x]
    if (sp.issparse(x) or isinstance(x, np.ndarray)) and x.ndim == 1:
        x = x.reshape(1, -1)
    row = as_features(x, n_features=n_features, name="x")
    if row.shape[0] != 1:
        raise InputError(f"x must be one row; got {row.shape[0]}")
    return row


def as_labels(Y: Any, *, n_rows: int | None = None, n_labels: int | None = None, name: str = "Y") -> Csr:
    """A sparse or dense 0/1 matrix of labels as csr float32 of ones; explicit zeros are not labels."""
    out = _as_csr(Y, name)
    if n_rows is not None and out.shape[0] != n_rows:
        raise InputError(f"{name} has {out.shape[0]} rows; X has {n_rows}")
    if n_labels is not None and out.shape[1] != n_labels:
        raise InputError(f"{name} has {out.shape[1]} labels; expected {n_labels}")
    # -1 for "not a label" is somebody's custom and NaN for "unknown" somebody else's: neither may count as a label.
    _refuse(out, ~((out.data >= 0) & np.isfinite(out.data)), name, "must be 0, or positive where a row has the label")
    present = out.data != 0
    if not present.all():
        before = np.concatenate([[0], np.cumsum(present)])
        out = assemble(out.data[present], out.indices[present], before[out.indptr], out.shape)
    if not (out.data == 1).all():
        out = assemble(np.ones(out.nnz, np.float32), out.indices, out.indptr, out.shape)
    return out


def as_pairs(pairs: Any, *, n_rows: int, n_labels: int, name: str = "labels") -> Csr:
    """Which labels of which rows: every stored entry counts, whatever its value (a dense matrix: every non-zero)."""
    out = _as_csr(pairs, name)
    if out.shape != (n_rows, n_labels):
        raise InputError(f"{name} must be {n_rows}×{n_labels}, rows by labels; got {out.shape[0]}×{out.shape[1]}")
    return out


def _as_csr(matrix: Any, name: str) -> Csr:
    if isinstance(matrix, (list, tuple)):
        try:
            matrix = np.asarray(matrix, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must be a matrix of numbers; got a list that is not one ({error})") from None
    sparse = bool(sp.issparse(matrix))
    if not sparse and (not isinstance(matrix, np.ndarray) or isinstance(matrix, np.ma.MaskedArray)):
        raise InputError(f"{name} must be a scipy sparse matrix or a NumPy array; got {type(matrix).__name__}")
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two dimensions; got shape {matrix.shape}")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold real numbers; got dtype {matrix.dtype}")
    if max(matrix.shape) > MAX_ID:
        raise InputError(f"{name} must have at most {MAX_ID} rows and columns; got shape {matrix.shape}")
    if not sparse:
        if matrix.dtype.kind == "f" and matrix.dtype not in (np.float32, np.float64):  # scipy lacks half and swapped
            matrix = matrix.astype(np.float64)
        return _canonical(_from_dense(matrix))
    if matrix.format != "csr":
        _check_before_conversion(matrix, name)
        matrix = sp.csr_array(matrix)
    check_structure(matrix, matrix.shape, name)
    return _canonical(matrix)


def _from_dense(matrix: Any) -> Csr:
    """SciPy's way lists the coordinates of all values as int64, twice the memory of the result."""
    n, width = matrix.shape
    there = matrix != 0
    columns = np.broadcast_to(np.arange(width, dtype=np.int32), matrix.shape)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    if indptr[-1] == n * width:  # masks are slow, and vectors seldom hold a 0
        return assemble(np.ascontiguousarray(matrix).reshape(-1), columns.reshape(-1), indptr, matrix.shape)
    return assemble(matrix[there], columns[there], indptr, matrix.shape)


def _check_before_conversion(matrix: Any, name: str) -> None:
    """SciPy converts these without looking: a wrong index would write outside its buffers."""
    if matrix.format == "csc":
        check_structure(matrix, matrix.shape[::-1], name)
    elif matrix.format == "coo":
        for indices, limit in zip((matrix.row, matrix.col), matrix.shape, strict=True):
            if len(indices) != len(matrix.data) or (len(indices) and (indices.min() < 0 or indices.max() >= limit)):
                raise InputError(f"{name} is not a valid coo matrix: its indices do not fit its shape {matrix.shape}")
    elif matrix.format == "bsr":
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise InputError(f"{name} is not a valid bsr matrix: {error}") from None


def check_structure(matrix: Any, shape: tuple[int, int], name: str) -> None:
    """A matrix built by hand may point outside itself; kernels must never see one that does."""
    kind = f"{name} is not a valid {matrix.format} matrix"
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    if any(a.ndim != 1 for a in (indptr, indices, data)) or any(a.dtype.kind not in "iu" for a in (indptr, indices)):
        raise InputError(f"{kind}: its offsets and indices must be integers, and all its arrays of one dimension")
    # Compared, not subtracted: differences wrap around for unsigned and for extreme offsets.
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{kind}: its offsets do not rise from 0")
    if indptr[-1] > min(len(indices), len(data)):
        raise InputError(f"{kind}: its offsets point past its {min(len(indices), len(data))} entries")
    used = indices[: int(indptr[-1])]
    if len(used) and (used.min() < 0 or used.max() >= shape[1]):
        bad = int(used.min() if used.min() < 0 else used.max())
        raise InputError(f"{kind}: index {bad} is outside 0…{shape[1] - 1}")


def _refuse(matrix: Csr, wrong: Any, name: str, requirement: str) -> None:
    if wrong.any():
        bad = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
        raise InputError(f"{name} {requirement}; row {row}, column {matrix.indices[bad]} is {matrix.data[bad]}")


def _canonical(matrix: Any) -> Csr:
    """Sorted, without duplicates, contiguous; copies only what must change and never touches the caller's arrays."""
    nnz = int(matrix.indptr[-1])
    data, indices, indptr = matrix.data[:nnz], matrix.indices[:nnz], matrix.indptr
    if not _sorted_unique(indices, indptr):
        # Summed in float64: the matrix's own type may be int8, where 100 + 100 is -56.
        summed = sp.csr_array((data.astype(np.float64), indices, indptr), shape=matrix.shape, copy=True)
        summed.sum_duplicates()
        data, indices, indptr = summed.data, summed.indices, summed.indptr
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf, and is refused by name above
        data = np.ascontiguousarray(data, np.float32)
    return assemble(data, np.ascontiguousarray(indices, np.int32), np.ascontiguousarray(indptr, np.int64), matrix.shape)


def _sorted_unique(indices: Any, indptr: Any) -> bool:
    """Looked up, not believed: scipy's `has_canonical_format` stays as it was when somebody changes the indices."""
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    return bool((indptr[np.searchsorted(indptr, falls)] == falls).all())  # only where a row begins
