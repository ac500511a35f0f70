"""What an odd call is: something to call, arguments that are right, and what its answer must be like."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt

from .common import Wrong
from .odd import NUMBERS, ODD, STRINGS, THINGS

# Amounts: a large one is no mistake, it only takes long or much; so large ones are tried by themselves, never used.
AMOUNTS = {
    "epochs", "max_epochs", "dim", "n_trees", "iterations", "rounds", "copies", "depth", "accumulate_steps", "stages",
    "n_clusters", "n_rows", "n_labels", "n_features", "features_per_row", "labels_per_row", "n", "max_length",
    "first_row", "ngrams",
}  # fmt: skip
MANY = 1000
MATRIX_ARGUMENTS = {
    "X", "Y", "Y_true", "predictions", "scores", "labels", "label_features", "excluded", "drop", "train_labels",
    "weights", "rows", "row_weights", "parents", "depth",
}  # fmt: skip
PLAIN = (
    *NUMBERS, *STRINGS, *THINGS, "zeros(0)", "one dimension", "as objects", "as strings", "csr", "no rows",
    "csr index too large", "csc offsets past the end",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Something to call: `call(**arguments)`; `valid` are arguments with which it works."""

    name: str
    call: Callable[..., Any]
    valid: dict[str, Any]
    check: Callable[[Any], object] = lambda answer: None
    after: Callable[[], object] = lambda: None  # raises Wrong if something else has changed
    only_text: bool = False  # it is made for what somebody has typed
    allowed: tuple[type[Exception], ...] = ()  # what its description promises beside the library's own errors
    without: tuple[str, ...] = ()  # values that only take much memory here

    def odd(self, argument: str) -> tuple[str, ...]:
        """Names of the values to try: every kind of matrix only where a matrix is right."""
        if self.only_text:
            return tuple(name for name, value in STRINGS.items() if isinstance(value, str))
        like = self.valid[argument]
        matrix = sp.issparse(like) or isinstance(like, np.ndarray) or argument in MATRIX_ARGUMENTS
        return tuple(name for name in (ODD if matrix else PLAIN) if name not in self.without)


def large(value: Any) -> bool:
    return isinstance(value, numbers.Real) and bool(value > MANY)  # type: ignore[operator]


def same(found: xt.TopK, expected: xt.TopK, who: str) -> None:
    if not (np.array_equal(found.labels, expected.labels) and np.array_equal(found.scores, expected.scores)):
        raise Wrong(f"{who} answers something else afterwards")


def check_csr(matrix: Any) -> None:
    nnz = int(matrix.indptr[-1])
    if matrix.indptr[0] != 0 or (np.diff(matrix.indptr) < 0).any() or nnz > min(len(matrix.indices), len(matrix.data)):
        raise Wrong("offsets of the answer do not rise")
    if nnz and not 0 <= matrix.indices.min() <= matrix.indices.max() < matrix.shape[1]:
        raise Wrong("an index of the answer is outside its shape")
