"""How much the frequency of labels counts: cosines of unit vectors know nothing of it.

    score of label l = cosine − prior · ln(rows of l), shifted so that no score rises

Below 0, frequent labels are answered more often than by cosines alone, above 0 rare ones. Which is right is a matter of
the data and of how well the training rows are known by heart, so held-out rows decide.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Csr, Int32, Int64, row_numbers, take_rows
from ..scoring import exact
from ..training import take
from .network import EmbeddingNetwork

PRIORS = np.arange(-10, 11) / 100
LEAST = 100  # held-out rows that are enough to choose by
KEPT = 0.98  # of precision is kept when rare labels are favoured
CANDIDATES = 100  # labels of each row, by cosine, among which a prior may choose


def choose(
    network: EmbeddingNetwork, X: Csr, Y: Csr, rows: Int32, frequency: Int64, *, threads: int | None
) -> tuple[float, float]:
    """The prior that favours rare labels most among those that keep 98% of the best P@1 and the best DCG@5 on these
    rows, or as much of both as can be had; and its P@1 less that of cosines alone, in points."""
    inputs = network.queries(take(X, rows), threads=threads)
    labels, cosines = exact(inputs, network.V, min(CANDIDATES, network.n_labels), threads=threads)
    right = _has(take_rows(Y, rows), labels)
    logs = np.log(np.maximum(frequency, 1)).astype(np.float32)[labels]
    discounts = 1 / np.log2(np.arange(2, 2 + min(5, labels.shape[1])))
    measured = []
    for t in PRIORS:
        order = np.argsort(np.float32(t) * logs - cosines, axis=1, kind="stable")[:, : len(discounts)]
        hits = np.take_along_axis(right, order, axis=1)
        measured.append((hits[:, 0].mean(), (hits @ discounts).mean()))
    found = np.array(measured)
    if not found.any():  # no row's labels are among its candidates
        return 0.0, 0.0
    kept = (found / np.maximum(found.max(axis=0), 1e-12)).min(axis=1)
    chosen = int(np.flatnonzero(kept >= min(KEPT, kept.max()))[-1])
    return float(PRIORS[chosen]), 100 * float(found[chosen, 0] - found[len(PRIORS) // 2, 0])


def _has(Y: Csr, labels: Int32) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of the labels[i] row i has."""
    wide = int(Y.shape[1])
    known = np.sort(row_numbers(Y) * wide + Y.indices)
    asked = np.arange(len(labels), dtype=np.int64)[:, None] * wide + labels
    at = np.searchsorted(known, asked).clip(max=max(len(known) - 1, 0))
    return known[at] == asked if len(known) else np.zeros(labels.shape, np.bool_)
