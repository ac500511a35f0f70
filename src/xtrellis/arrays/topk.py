"""`TopK`: the answer of every model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..core import InputError, clear_calls, integer
from .csr import MAX_ID, for_scipy
from .inputs import as_features
from .structure import csr_parts
from .types import Array, Csr, Float32, Int32

_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


@clear_calls
@dataclass(frozen=True, eq=False)
class TopK:
    """The best labels of each row, in the order in which a model ranks them; -1 (score 0) pads short rows.

    The order is the answer: whoever measures or shows a TopK takes it as it is. Scores never rise along a row; labels
    of equal scores are ordered by what the model knows beyond them (`Model` says how).
    """

    labels: Int32
    scores: Float32
    n_labels: int

    def __post_init__(self) -> None:
        labels: Any = self.labels
        scores: Any = self.scores
        n_labels: Any = self.n_labels
        # What models make passes at once: a single query notices microseconds.
        if (
            type(labels) is type(scores) is np.ndarray
            and labels.dtype is _INT32
            and scores.dtype is _FLOAT32
            and type(n_labels) is int
            and 0 <= n_labels <= MAX_ID
            and labels.shape == scores.shape
            and labels.ndim == 2
        ):
            return
        labels, scores = self._plain()
        if labels.shape != scores.shape or labels.ndim != 2:
            raise InputError(f"labels {labels.shape} and scores {scores.shape} must be n×k and alike")
        if labels.dtype.kind not in "iu" or scores.dtype.kind not in "fiub":
            raise InputError(
                f"a TopK has integer labels and scores that are real numbers; got {labels.dtype} and {scores.dtype}"
            )
        integer(at_least=0)("n_labels", n_labels)

    def _plain(self) -> tuple[Array, Array]:
        """Arrays of other classes as plain ones: `np.matrix` would keep two dimensions whatever is done to it."""
        values: Any
        for name, values in (("labels", self.labels), ("scores", self.scores)):
            if not isinstance(values, np.ndarray) or isinstance(values, np.ma.MaskedArray):
                kinds = f"{type(self.labels).__name__} and {type(self.scores).__name__}"
                raise InputError(f"labels and scores must be NumPy arrays; got {kinds}")
            object.__setattr__(self, name, np.asarray(values))
        return self.labels, self.scores

    @property
    def k(self) -> int:
        """Number of columns."""
        return int(self.labels.shape[1])

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        for labels, scores in zip(self.labels, self.scores, strict=True):
            yield [(int(label), float(score)) for label, score in zip(labels, scores, strict=True) if label >= 0]

    def __getitem__(self, rows: slice | Array) -> TopK:
        return TopK(self.labels[rows], self.scores[rows], self.n_labels)

    def cut(self, k: int) -> TopK:
        """Only the best k."""
        _check_k(k)
        return TopK(self.labels[:, :k], self.scores[:, :k], self.n_labels)

    def to_csr(self) -> Csr:
        """Scores as a sparse n × n_labels array; indices sorted within each row."""
        kept = self.labels >= 0
        if kept.any() and self.labels.max() >= self.n_labels:
            raise InputError(f"label {self.labels.max()} is outside the {self.n_labels} labels")
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        out = csr_array(
            (self.scores[kept], self.labels[kept].astype(np.int64), indptr), shape=(len(self), self.n_labels)
        )
        out.sort_indices()
        return out

    @classmethod
    def from_csr(cls, scores: Csr, k: int) -> TopK:
        """The k best of each row of a sparse score matrix (stored entries only: an explicit 0 is a prediction)."""
        _check_k(k)
        scores = csr_parts(scores, "scores").to_scipy() if issparse(scores) else for_scipy(as_features(scores))
        if not scores.has_canonical_format:  # a label must not be predicted twice
            scores = scores.copy()
            scores.sum_duplicates()
        n = int(scores.shape[0])
        labels = np.full((n, k), -1, np.int32)
        values = np.zeros((n, k), np.float32)
        rows = np.repeat(np.arange(n), np.diff(scores.indptr))
        order = np.lexsort((scores.indices, -scores.data.astype(np.float64), rows))
        rank = np.arange(scores.nnz) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
        keep = rank < k
        labels[rows[keep], rank[keep]] = scores.indices[order][keep]
        values[rows[keep], rank[keep]] = scores.data[order][keep]
        return cls(labels, values, int(scores.shape[1]))


def _check_k(k: int) -> None:
    integer(at_least=1)("k", k)
