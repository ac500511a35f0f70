"""The door: what users pass in becomes plain, checked arrays here, once; kernels trust what they get."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import InputError
from .types import Csr

MAX_ID = 2**31 - 1  # label and feature ids fit int32 (-1 pads predictions); offsets are int64


def as_features(X: Any, *, n_features: int | None = None, name: str = "X") -> Csr:
    """A sparse matrix or dense array of features as csr float32, int32 indices, int64 offsets, sorted, finite."""
    out = _as_csr(X, name, np.float32)
    if n_features is not None and out.shape[1] != n_features:
        raise InputError(f"{name} has {out.shape[1]} features; the model was trained with {n_features}")
    if not np.isfinite(out.data).all():
        bad = int(np.flatnonzero(~np.isfinite(out.data))[0])
        row = int(np.searchsorted(out.indptr, bad, side="right")) - 1
        raise InputError(f"{name} must be finite; row {row}, column {out.indices[bad]} is {out.data[bad]}")
    return out


def as_labels(Y: Any, *, n_rows: int | None = None, n_labels: int | None = None, name: str = "Y") -> Csr:
    """A sparse or dense 0/1 matrix of labels as csr float32 of ones; explicit zeros are not labels."""
    out = _as_csr(Y, name, np.float32)
    if n_rows is not None and out.shape[0] != n_rows:
        raise InputError(f"{name} has {out.shape[0]} rows; X has {n_rows}")
    if n_labels is not None and out.shape[1] != n_labels:
        raise InputError(f"{name} has {out.shape[1]} labels; expected {n_labels}")
    if out.nnz and not out.data.all():
        out = out.copy()
        out.eliminate_zeros()
        out = _canonical(out, np.float32)
    if out.nnz and not (out.data == 1).all():
        out = _assemble(np.ones(out.nnz, np.float32), out.indices, out.indptr, out.shape)
    return out


def _as_csr(matrix: Any, name: str, dtype: type) -> Csr:
    if isinstance(matrix, (list, tuple)):
        try:
            matrix = np.asarray(matrix, dtype)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must be a matrix of numbers; got a list that is not one ({error})") from None
    if not sp.issparse(matrix) and not isinstance(matrix, np.ndarray):
        raise InputError(f"{name} must be a scipy sparse matrix or a NumPy array; got {type(matrix).__name__}")
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two dimensions; got shape {matrix.shape}")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold real numbers; got dtype {matrix.dtype}")
    if max(matrix.shape) > MAX_ID:
        raise InputError(f"{name} must have at most {MAX_ID} rows and columns; got shape {matrix.shape}")
    if sp.issparse(matrix) and matrix.format == "csr":
        _check_structure(matrix, name)
    elif sp.issparse(matrix):
        _check_other(matrix, name)
    return _canonical(matrix if sp.issparse(matrix) and matrix.format == "csr" else sp.csr_array(matrix), dtype)


def _check_structure(matrix: Any, name: str) -> None:
    """A csr built by hand may point outside itself; kernels must never see one that does."""
    indptr, indices = matrix.indptr, matrix.indices
    if len(indptr) != matrix.shape[0] + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise InputError(f"{name} is not a valid csr matrix: its row offsets do not rise from 0")
    if indptr[-1] > min(len(indices), len(matrix.data)):
        raise InputError(f"{name} is not a valid csr matrix: its row offsets point past its {len(indices)} entries")
    used = indices[: indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= matrix.shape[1]):
        bad = int(used.min() if used.min() < 0 else used.max())
        raise InputError(f"{name} is not a valid csr matrix: column {bad} is outside its {matrix.shape[1]} columns")


def _check_other(matrix: Any, name: str) -> None:
    """scipy converts csc, bsr and coo to csr without looking where their indices point."""
    try:
        if matrix.format in ("csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            for axis, at in enumerate((matrix.row, matrix.col)):
                if len(at) != len(matrix.data) or (len(at) and (at.min() < 0 or at.max() >= matrix.shape[axis])):
                    raise ValueError("its coordinates do not fit its shape")
    except ValueError as error:
        raise InputError(f"{name} is not a valid {matrix.format} matrix: {error}") from None


def _canonical(matrix: Any, dtype: type) -> Csr:
    """Sorted, without duplicates, contiguous; copies only what must change and never touches the caller's arrays."""
    nnz = int(matrix.indptr[-1])
    if not matrix.has_canonical_format:
        matrix = sp.csr_array((matrix.data[:nnz], matrix.indices[:nnz], matrix.indptr), shape=matrix.shape, copy=True)
        matrix.sum_duplicates()
        nnz = int(matrix.indptr[-1])
    return _assemble(
        np.ascontiguousarray(matrix.data[:nnz], dtype),
        np.ascontiguousarray(matrix.indices[:nnz], np.int32),
        np.ascontiguousarray(matrix.indptr, np.int64),
        matrix.shape,
    )


def _assemble(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Csr:
    """A csr_array that keeps int32 indices beside int64 offsets (scipy's constructor would make them alike)."""
    out = sp.csr_array(shape, dtype=data.dtype)
    out.data, out.indices, out.indptr = data, indices, indptr
    out.has_sorted_indices = True
    out.has_canonical_format = True
    return out
