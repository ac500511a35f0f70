"""The door: what users pass in becomes plain, checked arrays here, once; kernels trust what they get."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._native import arrays as native
from ..core import InputError
from .csr import MAX_ID, Rows, assemble, at_unit_length, checked, unit_rows
from .label_lists import IDS, as_matrix
from .strings import StringTable
from .structure import CsrParts, csr_parts, native_numbers
from .types import Csr

# Models add up products and squares of features in float32, which ends at 3.4e38. Up to this bound the squares of 300
# features still fit. Beyond, sums become infinite and their differences NaN; some models learn nothing from 1e19 on.
LARGEST_FEATURE = 1e18
UNIT = 2  # what the kernel says of rows that are of unit length already


def as_features(X: Any, *, n_features: int | None = None, name: str = "X", largest: float | None = None) -> Csr:
    """A sparse matrix or dense array of features as csr float32, int32 indices, int64 offsets, sorted, finite.

    What goes into a model is not larger than `largest=LARGEST_FEATURE`; data sets may hold any float32.
    """
    known = checked(X)
    out = _as_csr(X, name) if known is None else known
    if n_features is not None and out.shape[1] != n_features:
        raise InputError(f"{name} has {out.shape[1]} features; the model was trained with {n_features}")
    if known is not None and largest is None:
        return known
    _refuse(out, ~np.isfinite(out.data), name, "must be finite in float32")
    if largest is not None:
        wrong = (out.data > largest) | (out.data < -largest)
        _refuse(out, wrong, name, f"must lie within ±{largest:g}, or sums of features overflow: scale it")
    return out


def as_rows(X: Any, *, n_features: int, unit: bool = False) -> Rows:
    """`as_features` for prediction: what is well formed already passes in a few microseconds. `unit`: at length 1."""
    if getattr(X, "format", "") == "csr":
        try:
            shape, indptr, indices, data = X.shape, X.indptr, X.indices, X.data
            if len(shape) == 2 and shape[1] == n_features and len(indptr) == shape[0] + 1:
                plain = native.plain(indptr, indices, data, n_features, LARGEST_FEATURE)
                if plain:
                    nnz = int(indptr[-1])
                    if len(data) != nnz or len(indices) != nnz:  # a csr may hold more than it uses
                        indices, data = indices[:nnz], data[:nnz]
                    rows = Rows(data, indices, indptr if indptr.dtype == np.int64 else indptr.astype(np.int64), shape)
                    return at_unit_length(rows) if unit and plain != UNIT else rows
        except (AttributeError, TypeError):  # other dtypes, arrays that are not in one piece, or no arrays at all
            pass
    checked = as_features(X, n_features=n_features, largest=LARGEST_FEATURE)
    rows = Rows(checked.data, checked.indices, checked.indptr, checked.shape)
    return at_unit_length(rows) if unit else rows


def as_row(x: Any, *, n_features: int | None, unit: bool = False) -> Csr:
    """One row, however it comes: 1×d or of one dimension, sparse or dense; None: of any number of features."""
    if isinstance(x, (list, tuple)) and not any(isinstance(entry, (list, tuple, np.ndarray)) for entry in x):
        x = [x]
    if sp.issparse(x) and len(x.shape) == 1:
        x = csr_parts(x, "x").to_scipy()
    elif isinstance(x, np.ndarray) and x.ndim == 1:
        x = x.reshape(1, -1)
    row = as_features(x, n_features=n_features, name="x", largest=LARGEST_FEATURE)
    if row.shape[0] != 1:
        raise InputError(f"x must be one row; got {row.shape[0]}")
    return unit_rows(row) if unit else row


def as_labels(
    Y: Any,
    *,
    n_rows: int | None = None,
    n_labels: int | None = None,
    name: str = "Y",
    names: StringTable | None = None,
) -> Csr:
    """Labels as csr float32 of ones: of a sparse or dense 0/1 matrix (explicit zeros are not labels), or of lists of
    ids; of lists of names, if `names` says what numbers they have."""
    known = checked(Y, labels=True)
    matrix = None if known is not None else as_matrix(Y, name, n_labels if names is None else len(names), names)
    out = _as_csr(matrix, name) if known is None else known
    if n_rows is not None and out.shape[0] != n_rows:
        raise InputError(f"{name} has {out.shape[0]} rows; X has {n_rows}")
    if n_labels is not None and out.shape[1] != n_labels:
        raise InputError(f"{name} has {out.shape[1]} labels; expected {n_labels}")
    if known is not None:
        return known
    # -1 for "not a label" is somebody's custom and NaN for "unknown" somebody else's: neither may count as a label.
    _refuse(out, ~((out.data >= 0) & np.isfinite(out.data)), name, "must be 0, or positive where a row has the label")
    if not sp.issparse(matrix) and (out.data == np.floor(out.data)).all():
        # Ids in a table would be taken for labels that nobody meant. Fractions are no ids, and who counts labels in a
        # sparse matrix knows what columns are.
        _refuse(out, out.data > 1, name, "must hold 0 and 1, a column for each label", f"; {IDS.format(name=name)}")
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
        except (TypeError, ValueError, OverflowError) as error:
            cure = _cure(matrix, name)
            told = f"a list{cure}" if cure else f"a list that is not one ({error})"
            raise InputError(f"{name} must be a matrix of numbers; got {told}") from None
    if hasattr(matrix, "columns") and hasattr(matrix, "to_numpy"):
        matrix = _from_table(matrix, name)
    if sp.issparse(matrix):
        if len(matrix.shape) != 2:
            raise InputError(f"{name} must have two dimensions; got shape {matrix.shape}{_cure(matrix, name)}")
        return _canonical(csr_parts(matrix, name))
    if not isinstance(matrix, np.ndarray) or isinstance(matrix, np.ma.MaskedArray):
        kind = type(matrix).__name__
        raise InputError(f"{name} must be a scipy sparse matrix or a NumPy array; got {kind}{_cure(matrix, name)}")
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two dimensions; got shape {matrix.shape}{_cure(matrix, name)}")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold real numbers; got dtype {matrix.dtype}")
    if max(matrix.shape) > MAX_ID:
        raise InputError(f"{name} must have at most {MAX_ID} rows and columns; got shape {matrix.shape}")
    return _canonical(_from_dense(native_numbers(np.asarray(matrix))))  # np.matrix never drops a dimension


def _cure(given: Any, name: str) -> str:
    """What to do about something that is no matrix, if that can be told."""
    shape = getattr(given, "shape", None)
    of_one = shape is not None and len(shape) == 1
    if not sp.issparse(given) and (of_one or isinstance(given, (list, tuple))) and len(given):
        first = given.iloc[0] if hasattr(given, "iloc") else given[0]
        if isinstance(first, str):
            return f" of texts: xt.Vectorizer().fit_transform({name}) makes features of them, an xt.Tagger reads them"
    if of_one:
        return f": one row is {name}.reshape(1, -1)"
    if hasattr(given, "numpy"):  # of torch and the like
        return f": {name}.numpy() is one"
    return f": its {name} is one" if name == "X" and hasattr(given, "X") else ""


def _from_table(frame: Any, name: str) -> Any:
    """A DataFrame, whoever made it, whose columns are numbers."""
    values = frame.to_numpy()
    if getattr(values, "dtype", np.dtype(object)).kind not in "fiub":
        columns = list(frame.columns)
        wrong = next((c for c in columns if np.asarray(frame[c]).dtype.kind not in "fiub"), columns[0])
        raise InputError(f"{name} must hold real numbers; column {wrong!r:.80} of the DataFrame does not: leave it out")
    return values


def _from_dense(matrix: Any) -> CsrParts:
    """SciPy's way lists the coordinates of all values as int64, twice the memory of the result."""
    n, width = matrix.shape
    there = matrix != 0
    columns = np.broadcast_to(np.arange(width, dtype=np.int32), matrix.shape)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    if indptr[-1] == n * width:  # masks are slow, and vectors seldom hold a 0
        return CsrParts(np.ascontiguousarray(matrix).reshape(-1), columns.reshape(-1), indptr, (n, width))
    return CsrParts(matrix[there], columns[there], indptr, (n, width))


def _refuse(matrix: Csr, wrong: Any, name: str, requirement: str, cure: str = "") -> None:
    if wrong.any():
        bad = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
        raise InputError(f"{name} {requirement}; row {row}, column {matrix.indices[bad]} is {matrix.data[bad]:g}{cure}")


def _canonical(matrix: CsrParts) -> Csr:
    """Sorted, without duplicates, contiguous; copies only what must change and never touches the caller's arrays."""
    data, indices, indptr, shape = matrix
    if not _sorted_unique(indices, indptr):
        # Summed in float64: the matrix's own type may be int8, where 100 + 100 is -56.
        summed = sp.csr_array((data.astype(np.float64), indices, indptr), shape=shape, copy=True)
        summed.sum_duplicates()
        data, indices, indptr = summed.data, summed.indices, summed.indptr
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf, and is refused by name above
        data = np.ascontiguousarray(data, np.float32)
    return assemble(data, np.ascontiguousarray(indices, np.int32), np.ascontiguousarray(indptr, np.int64), shape)


def _sorted_unique(indices: Any, indptr: Any) -> bool:
    """Looked up, not believed: scipy's `has_canonical_format` stays as it was when somebody changes the indices."""
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    return bool((indptr[np.searchsorted(indptr, falls)] == falls).all())  # only where a row begins
