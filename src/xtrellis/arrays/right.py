"""Which answers are right: labels that were proposed, looked up in the matrix of labels that rows have."""

from __future__ import annotations

import numpy as np

from .csr import row_numbers
from .types import Array, Csr, Int32, Int64


def is_right(labels: Int32, Y: Csr) -> Array:
    """Which of n × c candidates the rows have; False where there is none (-1)."""
    n, width = labels.shape
    wanted = np.repeat(np.arange(n, dtype=np.int64), width) * Y.shape[1] + labels.ravel()
    return (is_right_pair(wanted, Y) & (labels.ravel() >= 0)).reshape(n, width)


def is_right_pair(numbers: Int64, Y: Csr) -> Array:
    """Which of the pairs, as numbers row · n_labels + label, the rows have."""
    return np.isin(numbers, row_numbers(Y) * Y.shape[1] + Y.indices)
