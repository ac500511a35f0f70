"""Predictions at the door: whatever comes in leaves as a checked n×k table of labels, best first."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._native import metrics as native
from ..arrays import MAX_ID, Array, Csr, Int32, Int64, TopK, UInt8, as_labels, csr_parts
from ..core import InputError, shown

_FAULTS = {
    1: "label {label} is outside the {n_labels} labels",
    2: "the score of label {label} is not a number",
    3: "label {label} is predicted twice",
}


def ranked(predictions: TopK | Csr, Y: Csr, drop: Csr | None, k: int) -> Int32:
    """The labels predicted for each row of Y, best first: n×k' with k' ≤ k, -1 pads; no more than there are labels."""
    k = min(k, max(1, int(Y.shape[1])))
    if isinstance(predictions, TopK):
        _same_shape((len(predictions), predictions.n_labels), Y)
        labels = _as_ids(predictions.labels)
        if predictions.scores.dtype.kind not in "fiub":
            raise InputError(f"predictions must have scores that are real numbers; got {predictions.scores.dtype}")
        scores = np.ascontiguousarray(predictions.scores, np.float32)
        fault, row, label, pads_last = native.check(labels, scores, predictions.n_labels)
        if fault:
            what = _FAULTS[fault].format(label=label, n_labels=predictions.n_labels)
            raise InputError(f"predictions, row {row}: {what}")
        if drop is not None:
            labels = np.where(hits(drop, labels, labels.shape[1]).T.astype(bool), np.int32(-1), labels)
            pads_last = False
        if not pads_last:  # the others keep their order
            order = np.argsort(labels < 0, axis=1, kind="stable")
            labels = np.take_along_axis(labels, order, axis=1)
        return labels[:, :k]
    scores_matrix = _scores(predictions, Y)
    if drop is not None:
        scores_matrix = without(scores_matrix, drop)
    width = min(k, int(np.diff(scores_matrix.indptr).max(initial=0)))
    labels = np.empty((int(Y.shape[0]), width), np.int32)
    native.rank(
        scores_matrix.indptr, scores_matrix.indices, scores_matrix.data, labels, np.empty(labels.shape, np.float32)
    )
    return labels


def hits(truth: Csr, labels: Int32, k: int) -> UInt8:
    """k×n: 1 where the prediction of that rank is among the row's labels; ranks beyond the table are misses."""
    out = np.zeros((k, len(labels)), np.uint8)
    native.hits(truth.indptr, truth.indices, np.ascontiguousarray(labels), out[: min(k, labels.shape[1])])
    return out


def dropped(drop: Any, Y: Csr) -> Csr:
    """Pairs to leave out, as a matrix like Y: from such a matrix, or from an m×2 array of (row, label)."""
    if sp.issparse(drop):
        out = as_labels(drop, name="drop")
        _same_shape(out.shape, Y, "drop")
        return out
    try:
        pairs = np.asarray(drop)
    except (TypeError, ValueError):  # a ragged list
        raise InputError(f"drop must be a sparse matrix or an m×2 array of (row, label); got {shown(drop)}") from None
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(f"drop must be a sparse matrix or an m×2 array of (row, label); got shape {pairs.shape}")
    outside = (pairs < 0).any(axis=1) | (pairs >= np.array(Y.shape)).any(axis=1)
    if outside.any():
        bad = pairs[outside][0]
        raise InputError(f"drop has the pair ({bad[0]}, {bad[1]}), outside {Y.shape[0]} rows × {Y.shape[1]} labels")
    ones = np.ones(len(pairs), np.float32)
    return as_labels(sp.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=Y.shape), name="drop")


def without(matrix: Csr, drop: Csr) -> Csr:
    """`matrix` with the entries of `drop` gone (not zero: a stored zero is a score that beats negative ones)."""
    width = int(matrix.shape[1])
    kept = ~np.isin(_keys(matrix, width), _keys(drop, width), assume_unique=True)
    counts = np.concatenate([[0], np.cumsum(kept)])
    out = sp.csr_array(matrix.shape, dtype=matrix.dtype)
    out.data, out.indices = matrix.data[kept], matrix.indices[kept]
    out.indptr = counts[matrix.indptr].astype(np.int64)
    return out


def _keys(matrix: Csr, width: int) -> Int64:
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    out: Int64 = rows * width + matrix.indices
    return out


def _scores(predictions: Any, Y: Csr) -> Csr:
    """Sparse scores, sorted within rows, without repeats or NaN; float32 or float64 as given."""
    if not sp.issparse(predictions):
        kind = type(predictions).__name__
        cure = ": give what its predict(X, k) answers" if hasattr(predictions, "predict") else ""
        cure = cure or (": of dense scores, sp.csr_array(scores)" if isinstance(predictions, np.ndarray) else "")
        raise InputError(f"predictions must be a TopK or a scipy sparse matrix of scores; got {kind}{cure}")
    _same_shape(predictions.shape, Y)
    given = csr_parts(predictions, "predictions")
    nnz = len(given.data)
    dtype = given.data.dtype if given.data.dtype in (np.float32, np.float64) else np.float64
    out = given._replace(data=given.data.astype(dtype, copy=False)).to_scipy()
    if not out.has_sorted_indices:  # sorting writes; the arrays may be the caller's
        out = out.copy()
        out.sort_indices()
    rows_of: Int64 = out.indptr.astype(np.int64)
    begins_row = np.zeros(nnz + 1, bool)
    begins_row[rows_of] = True
    repeated = np.flatnonzero((np.diff(out.indices) == 0) & ~begins_row[1:nnz]) + 1
    for places, what in ((repeated, _FAULTS[3]), (np.flatnonzero(np.isnan(out.data)), _FAULTS[2])):
        if len(places):
            row = int(np.searchsorted(rows_of, places[0], side="right")) - 1
            raise InputError(f"predictions, row {row}: {what.format(label=int(out.indices[places[0]]))}")
    plain: Any = sp.csr_array(out.shape, dtype=dtype)
    plain.data, plain.indices = np.ascontiguousarray(out.data), np.ascontiguousarray(out.indices, np.int32)
    plain.indptr = rows_of
    return plain


def _as_ids(labels: Array) -> Int32:
    """int32, without letting a larger number wrap around into a valid id."""
    if labels.dtype != np.int32:
        if labels.dtype.kind not in "iu":
            raise InputError(f"predictions must have integer labels; got dtype {labels.dtype}")
        labels = labels.clip(-2, MAX_ID)  # both ends are outside any set of labels, and refused as such
    return np.ascontiguousarray(labels, np.int32)


def _same_shape(shape: tuple[int, ...], Y: Csr, name: str = "predictions") -> None:
    if len(shape) != 2:
        raise InputError(f"{name} must have two dimensions; got shape {tuple(shape)}")
    if tuple(shape) != tuple(Y.shape):
        rows, labels = shape
        raise InputError(f"{name} has {rows} rows and {labels} labels; Y_true has {Y.shape[0]} and {Y.shape[1]}")
