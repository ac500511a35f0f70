"""Balanced clusters of labels, by the rows they have: what an encoder learns to tell apart first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse as sp

from ..arrays import as_labels
from ..index import BalancedTree
from ..labels import LabelSpace
from ..types import Csr
from .elias_graph import Graph, homes, partition
from .encoder import Encoder
from .rows import label_vectors_of

A_CLUSTER = 80  # labels in a cluster, about: 64 to 86 in the ELIAS paper, up to 100 in X-Transformer


def n_clusters(wanted: int | None, n_labels: int) -> int:
    """As asked, but no more than labels; None: about one for 80 labels, a power of two, 8 at least."""
    if wanted is not None:
        return min(wanted, n_labels)
    return int(min(n_labels, max(8, 2 ** round(math.log2(max(n_labels, 2) / A_CLUSTER)))))


def balanced(
    encoder: Encoder,
    X: Csr,
    Y: Csr,
    texts: Sequence[str] | None,
    count: int,
    *,
    seed: int,
    threads: int | None,
    device: str,
) -> Graph:
    """About `count` clusters of the labels' centroids (PIFA; ELIAS, appendix D.1)."""
    largest = math.ceil(int(Y.shape[1]) / count)
    rows = label_vectors_of(encoder, X, texts, seed=seed, threads=threads, device=device)
    tree = BalancedTree(arity=2, max_leaf=largest).build(LabelSpace(rows, Y, threads=threads), seed=seed)
    return partition(tree, largest)


def clusters_of_rows(Y: Csr, graph: Graph) -> Csr:
    """Rows × clusters: those that hold one of the row's labels, each once. Every label must be in one cluster."""
    home = homes(graph, np.zeros(graph.ids.shape, np.float32))
    found = sp.csr_array(
        (np.ones(len(Y.indices), np.float32), home[Y.indices], np.array(Y.indptr)),
        shape=(int(Y.shape[0]), graph.n_clusters),
    )
    found.sum_duplicates()
    found.data[:] = 1
    return as_labels(found)
