"""The index of ELIAS: edges from clusters to labels, as two arrays clusters × width (-1 for an empty place).

Stage 1 has a partition of the labels; stage 2 begins with the labels of the rows that each cluster attracts (eq. 9).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp

from ...arrays import Csr, Float32, Float64, Int32, Int64
from ...core import generator
from ..encoders import ClusterGraph

LEAST = 8.0  # an edge begins at no less than e^-8 of its cluster's best: one that has never been seen must be learnable
BLOCK = 256  # clusters whose rows of MᵀY are made at once


def connect(
    best: Int32, scores: Float32, Y: Csr, n_clusters: int, width: int, *, first: ClusterGraph | None = None,
    first_rows: float = 0.0,
) -> tuple[ClusterGraph, Float32]:  # fmt: skip
    """The `width` labels of each cluster whose rows have it among their best: top κ of A' = MᵀY; and A' of each edge.

    `best` and `scores` (rows × beam) are M. A label comes first in the cluster that it is strongest in, so that every
    label with rows has an edge, as training must be able to reach it; the rest are ordered by strength. A label's place
    in the `first` graph counts as `first_rows` more rows that came there: of a label with one row, where that row comes
    to says little, and where similar labels are says more.
    """
    n, beam = best.shape
    M = sp.csr_array((scores.reshape(-1), best.reshape(-1), np.arange(0, n * beam + 1, beam)), shape=(n, n_clusters))
    turned, labels = M.T.tocsr(), sp.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)
    before = _as_matrix(first, Y, first_rows) if first is not None and first_rows else None
    blocks = []
    for at in range(0, n_clusters, BLOCK):
        block = turned[at : at + BLOCK] @ labels
        blocks.append((block if before is None else block + before[at : at + BLOCK]).tocoo())
    clusters = np.concatenate([block.row + i * BLOCK for i, block in enumerate(blocks)])
    ids = np.concatenate([block.col for block in blocks])
    strength = np.concatenate([block.data for block in blocks])
    # The strongest cluster of every label; of equal ones the first.
    by_label = np.lexsort((clusters, -strength, ids))
    begins = np.ones(len(ids), bool)
    begins[1:] = ids[by_label][1:] != ids[by_label][:-1]
    home = np.zeros(len(ids), bool)
    home[by_label[begins]] = True
    order = np.lexsort((ids, -strength, ~home, clusters))
    place = np.arange(len(order)) - np.searchsorted(clusters[order], clusters[order])
    kept = order[place < width]
    out, counts = np.full((n_clusters, width), -1, np.int32), np.zeros((n_clusters, width), np.float32)
    out[clusters[kept], place[place < width]] = ids[kept]
    counts[clusters[kept], place[place < width]] = strength[kept]
    taken = _place_the_rest(out, np.unique(Y.indices))
    rows = np.bincount(Y.indices, minlength=int(Y.shape[1]))
    counts.reshape(-1)[taken] = rows[out.reshape(-1)[taken]]  # as if all of the label's rows came to its only place
    return ClusterGraph(out, int(Y.shape[1])), counts


def _as_matrix(graph: ClusterGraph, Y: Csr, weight: float) -> Csr:
    """Clusters × labels, `weight` for each edge to a label that has rows."""
    ids = np.where(np.isin(graph.ids, Y.indices), graph.ids, -1)
    clusters, places = np.nonzero(ids >= 0)
    values = np.full(len(clusters), weight, np.float32)
    return sp.csr_array((values, (clusters, ids[clusters, places])), shape=(graph.n_clusters, int(Y.shape[1])))


def _place_the_rest(ids: Int32, wanted: Int32) -> Int64:
    """Labels without any edge (of a cluster that is home to more than it can hold) take empty or doubled places, which
    are returned."""
    lost = np.setdiff1d(wanted, ids)
    if not len(lost):
        return np.zeros(0, np.int64)
    flat = ids.reshape(-1)
    _, first = np.unique(flat, return_index=True)
    spare = np.ones(len(flat), bool)
    spare[first] = False  # one place of each label must stay
    spare[flat < 0] = True
    # Places at the end of a row are its weakest. There are enough, if there are as many places as labels.
    column = np.flatnonzero(spare) % ids.shape[1]
    free = np.flatnonzero(spare)[np.argsort(-column, kind="stable")]
    taken = free[: len(lost)]
    flat[taken] = lost[: len(free)]
    return taken


def first_values(graph: ClusterGraph, seed: int) -> Float32:
    """Uniform in (0, 1) (eq. 10)."""
    return generator(seed, "edges").random(graph.ids.shape, dtype=np.float32)


def counted_values(graph: ClusterGraph, counts: Float32, label_counts: Float64) -> Float32:
    """log(A'_cl / n_l), at most LEAST below the cluster's largest: how sure a label's rows are to come here.

    Not the shares that labels have of a cluster's rows, A'_cl / Σ A'_c: a few frequent labels would have all of it.
    """
    n = np.maximum(label_counts[np.maximum(graph.ids, 0)], 1).astype(np.float32)
    with np.errstate(divide="ignore"):
        values = np.log(counts) - np.log(n)
    values = np.where(graph.ids < 0, -np.inf, values)
    top = values.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    out: Float32 = np.maximum(values - top, -LEAST).astype(np.float32)
    return out


def clusters_a_label(ids: Int32, logs: Float32, n_labels: int, *, least: float = 0.25) -> Int64:
    """How many clusters lead to each label by an edge of at least `least`."""
    strong = (ids >= 0) & (logs >= np.log(least))
    return np.bincount(ids[strong], minlength=n_labels)
