"""Some rows of a data set that are a small data set of the same kind: rows that share labels.

Of rows drawn at random labels keep few: 16,000 rows of acl-authors have 1.7 rows a label, not 2.9, and almost half
of the labels of a held-out row are in no other row. What depends on labels with several rows cannot be seen there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from scipy import sparse as sp

from ..arrays import Csr, Int64, StringTable
from ..core import generator
from ..data import Dataset

MOST = 60  # rows of a label through which others are found: the most frequent ones lead everywhere


def neighbourhood(train: Dataset, test: Dataset, rows: int, *, seed: int = 0) -> tuple[Dataset, Dataset]:
    """So many training rows, found breadth first from a random label, and the test rows that were found on the way.

    Test rows keep the labels that these training rows have, and are left out where there is none; so are features that
    no training row has any more.
    """
    near = _near(train.Y, test.Y, rows, seed)
    fewer, others = train.select(near[near < train.n_rows]), test.select(near[near >= train.n_rows] - train.n_rows)
    labels = np.unique(fewer.Y.indices)
    here = np.zeros(train.n_labels, np.float32)
    here[labels] = 1
    others = others.select(np.flatnonzero(others.Y @ here > 0))
    return _without(fewer, labels, fewer), _without(others, labels, fewer)


def _near(train: Csr, test: Csr, rows: int, seed: int) -> Int64:
    """Row numbers, ascending, those of test rows after those of training rows. Where no further row is near, it begins
    again with another label."""
    Y, random = sp.vstack([train, test], format="csr"), generator(seed, "neighbourhood")
    by_label, n = Y.tocsc(), train.shape[0]
    taken, known = np.zeros(Y.shape[0], bool), np.zeros(Y.shape[1], bool)
    count, waiting = 0, deque[int]()
    for start in random.permutation(Y.shape[1]).tolist():
        if not known[start]:
            known[start] = True
            waiting.append(start)
        while waiting and count < rows:
            label = waiting.popleft()
            its = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
            for row in random.permutation(its[~taken[its]]).tolist() if len(its) <= MOST else ():
                taken[row] = True
                count += row < n
                others = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
                others = random.permutation(others[~known[others]])
                known[others] = True
                waiting.extend(others.tolist())
                if count >= rows:
                    break
        if count >= rows:
            break
    return np.flatnonzero(taken)


def _without(part: Dataset, labels: Int64, rows: Dataset) -> Dataset:
    """With these labels only, and with the features that `rows` have."""
    out = replace(
        part, Y=part.Y[:, labels], label_names=_some(part.label_names, labels),
        excluded=None if part.excluded is None else part.excluded[:, labels],
    )  # fmt: skip
    if part.X is None or rows.X is None:
        return out
    features = np.unique(rows.X.indices)
    return replace(out, X=part.X[:, features], feature_names=_some(part.feature_names, features))


def _some(names: StringTable | None, which: Int64) -> StringTable | None:
    return None if names is None else StringTable.of([names[int(i)] for i in which])
