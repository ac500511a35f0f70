"""Made data on which the regulariser of GLaS must help if it does what it says: most tail labels are missing.

Labels come in groups: a head label that every row of the group has, and tail labels that share its rows. In training a
tail label is written down in few of the rows that have it, so that the other rows teach that it is wrong there; test
rows have all their labels. What is left to tell that a tail label belongs to its group is that it never occurs without
the head label: exactly what GLaS asks of the label vectors, and what spread-out forbids.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...core import generator
from ...data import Dataset
from ..data import Prepared

NAME = "groups"  # not a data set of anybody's: made by `made`
GROUPS, TAILS = 40, 5
WORDS, WORDS_A_ROW = 60, 6  # of a group
NOISE, NOISE_A_ROW = 500, 4
TAILS_A_ROW = 2
WRITTEN = 0.05  # share of the tail labels that training rows are given


def made(seed: int, n_train: int = 4000, n_test: int = 2000) -> Prepared:
    """Training rows that lack most tail labels, test rows that have all."""
    rng = generator(seed, "groups")
    train, test = (_part(rng, n, written) for n, written in ((n_train, WRITTEN), (n_test, 1.0)))
    return Prepared(NAME, train, test)


def _part(rng: np.random.Generator, n: int, written: float) -> Dataset:
    group = rng.integers(0, GROUPS, n)
    words = group[:, None] * WORDS + rng.integers(0, WORDS, (n, WORDS_A_ROW))
    noise = GROUPS * WORDS + rng.integers(0, NOISE, (n, NOISE_A_ROW))
    tails = np.argsort(rng.random((n, TAILS)), axis=1)[:, :TAILS_A_ROW]
    kept = rng.random(tails.shape) < written
    heads, labels = group * (1 + TAILS), group[:, None] * (1 + TAILS) + 1 + tails
    rows = np.repeat(np.arange(n), TAILS_A_ROW).reshape(n, -1)
    Y = _ones(
        np.concatenate([np.arange(n), rows[kept]]), np.concatenate([heads, labels[kept]]), n, GROUPS * (1 + TAILS)
    )
    columns = np.concatenate([words, noise], axis=1)
    X = _ones(np.repeat(np.arange(n), columns.shape[1]), columns.ravel(), n, GROUPS * WORDS + NOISE)
    lengths = np.sqrt(np.diff(X.indptr))
    return Dataset(sp.csr_array(sp.diags_array(1 / lengths) @ X, dtype=np.float32), Y, name=NAME)


def _ones(rows: np.ndarray, columns: np.ndarray, n: int, wide: int) -> sp.csr_array:
    out = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, wide))
    out.data[:] = 1.0  # what was drawn twice counts once
    return out
