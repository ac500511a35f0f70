"""Wide feature spaces: rows whose features are renumbered among those that occur.

Kernels keep an array as long as the feature space on every thread, so that a look-up is one load. Hashed features make
that space many times wider than all rows together; of a hundred million columns these arrays would be gigabytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Csr, Int32, assemble

WIDE = 1 << 20  # columns up to which the arrays of a thread are small, whatever the rows
SPARSE = 4  # non-zeros a column up to which many columns are likely to be empty: renumbering pays
CHUNK = 1 << 22  # non-zeros that are renumbered at once


class Narrow(NamedTuple):
    """Rows over the columns that occur in them; `columns[j]` was the number of column j (None: all are as they were).

    Renumbering keeps the order of columns, so whatever is made of the rows differs by nothing but their numbers.
    """

    X: Csr
    columns: Int32 | None

    def named(self, features: Int32) -> Int32:
        """The numbers that features had before."""
        return features if self.columns is None else self.columns[features]


def is_wide(X: Csr) -> bool:
    """True if there are far more columns than the rows can have."""
    return int(X.shape[1]) > WIDE and int(X.nnz) <= SPARSE * int(X.shape[1])


def narrowed(X: Csr) -> Narrow:
    """The rows with the columns that occur in them alone, if that is likely to spare much; values are not copied."""
    if not is_wide(X):
        return Narrow(X, None)
    columns = np.unique(X.indices)
    indices = np.empty(len(X.indices), np.int32)
    for first in range(0, len(indices), CHUNK):
        part = slice(first, first + CHUNK)
        indices[part] = np.searchsorted(columns, X.indices[part])
    return Narrow(assemble(X.data, indices, X.indptr, (int(X.shape[0]), max(1, len(columns)))), columns)
