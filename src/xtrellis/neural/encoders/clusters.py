"""Balanced clusters of labels, by the rows they have: what an encoder learns to tell apart first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from ...arrays import Array, Csr, Int32, as_labels
from ...data import TrainingData
from ...index import BalancedTree, LabelTree
from ...labels import LabelSpace
from .base import Encoder
from .inputs import centroid_features

A_CLUSTER = 80  # labels in a cluster, about: 64 to 86 in the ELIAS paper, up to 100 in X-Transformer


@dataclass(frozen=True)
class ClusterGraph:
    """`ids[c]` are the labels of cluster c."""

    ids: Int32
    n_labels: int

    @property
    def n_clusters(self) -> int:
        """Rows of both arrays."""
        return len(self.ids)


def n_clusters(wanted: int | None, n_labels: int) -> int:
    """As asked, but no more than labels; None: about one for 80 labels, a power of two, 8 at least."""
    if wanted is not None:
        return min(int(wanted), n_labels)
    return int(min(n_labels, max(8, 2 ** round(math.log2(max(n_labels, 2) / A_CLUSTER)))))


def balanced_clusters(
    encoder: Encoder, data: TrainingData, count: int, *, seed: int, threads: int | None, device: str
) -> ClusterGraph:
    """About `count` clusters of the labels' centroids (PIFA; ELIAS, appendix D.1)."""
    largest = math.ceil(data.n_labels / count)
    rows = centroid_features(encoder, data, threads=threads, device=device)
    labels = LabelSpace(TrainingData(rows, data.Y), threads=threads)
    return partition(BalancedTree(arity=2, max_leaf=largest).build(labels, seed=seed), largest)


def clusters_of_rows(Y: Csr, graph: ClusterGraph) -> Csr:
    """Rows × clusters: those that hold one of the row's labels, each once. Every label must be in one cluster."""
    home = homes(graph, np.zeros(graph.ids.shape, np.float32))
    found = sp.csr_array(
        (np.ones(len(Y.indices), np.float32), home[Y.indices], np.array(Y.indptr)),
        shape=(int(Y.shape[0]), graph.n_clusters),
    )
    found.sum_duplicates()
    found.data[:] = 1
    return as_labels(found)


def partition(tree: LabelTree, width: int) -> ClusterGraph:
    """Every leaf of a tree is a cluster, and so is a label that hangs beside other nodes; no label may be in two."""
    if width == 1:
        return ClusterGraph(np.arange(tree.n_labels, dtype=np.int32)[:, None], tree.n_labels)
    owner = tree.owner[tree.label_slots[1]].astype(np.int64)
    inner = np.isin(owner, tree.owner[tree.children >= 0])
    owners, clusters = np.unique(np.where(inner, tree.n_nodes + np.arange(len(owner)), owner), return_inverse=True)
    ids = np.full((len(owners), width), -1, np.int32)
    order = np.argsort(clusters, kind="stable")
    place = np.arange(len(order)) - np.searchsorted(clusters[order], clusters[order])
    ids[clusters[order], place] = order
    return ClusterGraph(ids, tree.n_labels)


def homes(graph: ClusterGraph, values: Array) -> Int32:
    """The cluster with the strongest edge to each label, of equal ones the first; -1 if no cluster leads to it."""
    flat = values.reshape(-1)
    order = np.lexsort((-np.arange(len(flat)), flat))
    order = order[graph.ids.reshape(-1)[order] >= 0]
    out = np.full(graph.n_labels, -1, np.int32)
    out[graph.ids.reshape(-1)[order]] = order // graph.ids.shape[1]  # the last one written is the strongest
    return out
