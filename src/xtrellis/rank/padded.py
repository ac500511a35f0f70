"""Candidates as csr and as n × c with -1 behind them: kernels want the second form, users give the first."""

from __future__ import annotations

import numpy as np

from ..types import Array, Csr, Int32, Int64


def padded(pairs: Csr) -> tuple[Int32, Array]:
    """(labels, place): labels n × c, -1 behind each row's own; `place` picks the real ones, in the order of the csr."""
    counts: Int64 = np.diff(pairs.indptr)
    width = int(counts.max()) if len(counts) else 0
    place = np.arange(width) < counts[:, None]
    labels = np.full(place.shape, -1, np.int32)
    labels[place] = pairs.indices
    return labels, place
