"""The index of ELIAS: edges from clusters to labels, as two arrays clusters × width (-1 for an empty place).

Stage 1 has a partition of the labels; stage 2 begins with the labels of the rows that each cluster attracts (eq. 9).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp

from ...arrays import Csr, Float32, Int32, Int64
from ...core import generator
from ..encoders import ClusterGraph

BLOCK = 256  # clusters whose rows of MᵀY are made at once


def connect(best: Int32, scores: Float32, Y: Csr, n_clusters: int, width: int) -> ClusterGraph:
    """The `width` labels of each cluster whose rows have it among their best: top κ of MᵀY.

    `best` and `scores` (rows × beam) are M. A label comes first in the cluster that it is strongest in, so that every
    label with rows has an edge, as training must be able to reach it; the rest are ordered by strength.
    """
    n, beam = best.shape
    M = sp.csr_array((scores.reshape(-1), best.reshape(-1), np.arange(0, n * beam + 1, beam)), shape=(n, n_clusters))
    turned, labels = M.T.tocsr(), sp.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)
    blocks = [
        (turned[first : first + BLOCK] @ labels).tocoo()
        for first in range(0, n_clusters, BLOCK)
    ]  # fmt: skip
    clusters = np.concatenate([block.row + i * BLOCK for i, block in enumerate(blocks)])
    ids = np.concatenate([block.col for block in blocks])
    strength = np.concatenate([block.data for block in blocks])
    # The strongest cluster of every label; of equal ones the first.
    by_label = np.lexsort((clusters, -strength, ids))
    first = np.ones(len(ids), bool)
    first[1:] = ids[by_label][1:] != ids[by_label][:-1]
    home = np.zeros(len(ids), bool)
    home[by_label[first]] = True
    order = np.lexsort((ids, -strength, ~home, clusters))
    place = np.arange(len(order)) - np.searchsorted(clusters[order], clusters[order])
    kept = order[place < width]
    out = np.full((n_clusters, width), -1, np.int32)
    out[clusters[kept], place[place < width]] = ids[kept]
    _place_the_rest(out, np.unique(Y.indices))
    return ClusterGraph(out, int(Y.shape[1]))


def _place_the_rest(ids: Int32, wanted: Int32) -> None:
    """Labels without any edge (of a cluster that is home to more than it can hold) take empty or doubled places."""
    lost = np.setdiff1d(wanted, ids)
    if not len(lost):
        return
    flat = ids.reshape(-1)
    _, first = np.unique(flat, return_index=True)
    spare = np.ones(len(flat), bool)
    spare[first] = False  # one place of each label must stay
    spare[flat < 0] = True
    # Places at the end of a row are its weakest. There are enough, if there are as many places as labels.
    column = np.flatnonzero(spare) % ids.shape[1]
    free = np.flatnonzero(spare)[np.argsort(-column, kind="stable")]
    flat[free[: len(lost)]] = lost[: len(free)]


def first_values(graph: ClusterGraph, seed: int) -> Float32:
    """Uniform in (0, 1) (eq. 10)."""
    return generator(seed, "edges").random(graph.ids.shape, dtype=np.float32)


def clusters_a_label(ids: Int32, logs: Float32, n_labels: int, *, least: float = 0.25) -> Int64:
    """How many clusters lead to each label by an edge of at least `least`."""
    strong = (ids >= 0) & (logs >= np.log(least))
    return np.bincount(ids[strong], minlength=n_labels)
