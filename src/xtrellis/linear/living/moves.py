"""Labels that move: those whose rows have changed go to the cluster whose labels they are most like by now.

Clusters were made by what labels looked like when the tree was built. A label that had one row then and has ten now is
often at home elsewhere. It is trained again anyway, so that moving it costs little: what is trained again for it is
what is above, and others of a cluster whose rows have become a quarter more or fewer by such moves.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse as sp

from ...arrays import Csr, Float64, Int64, for_scipy
from ...index import LabelTree, leaf_nodes
from ..blocks import MAX_BLOCK

KEPT = 512  # features of a cluster that labels are compared by: those that weigh most in it
ROOM, LEAST = 1.25, 0.5  # times the mean size: clusters larger, or smaller, are not made by moves
WISHES = 3  # clusters that a label may go to, the best first
CHUNK = 4096  # labels that are compared at once


def best_homes(tree: LabelTree, vectors: Csr, restless: Int64) -> Int64:
    """The cluster of every label (one each, a number among `leaf_nodes`), where `restless` ones may have moved."""
    leaves = leaf_nodes(tree)
    home = np.searchsorted(leaves, tree.owner[tree.label_slots[1]]).astype(np.int64)
    sizes = np.bincount(home, minlength=len(leaves))
    vectors = for_scipy(vectors)
    centres = _centres(vectors, home, len(leaves))
    parts = [_wishes(vectors, restless[i : i + CHUNK], home, centres) for i in range(0, len(restless), CHUNK)]
    label, cluster, gain = (np.concatenate(part) for part in zip(*parts, strict=True))
    mean = len(home) / len(leaves)
    most, least = int(np.ceil(ROOM * mean)), int(LEAST * mean) + 1
    moved: set[int] = set()
    for i in np.lexsort((cluster, label, -gain)).tolist():  # who gains most goes first
        one, to = int(label[i]), int(cluster[i])
        at = int(home[one])
        if one not in moved and sizes[to] < most and sizes[at] > least:
            moved.add(one)
            home[one] = to
            sizes[at] -= 1
            sizes[to] += 1
    return home


def _centres(vectors: Csr, home: Int64, n: int) -> Csr:
    """The sum of each cluster's label vectors, of its largest features alone."""
    members = sp.csr_array((np.ones(len(home), np.float32), (home, np.arange(len(home)))), shape=(n, len(home)))
    sums = members @ vectors
    kept = np.concatenate([
        begin + np.sort(np.argsort(-sums.data[begin:end], kind="stable")[:KEPT])
        for begin, end in pairwise(sums.indptr.tolist())
    ])  # fmt: skip
    row = np.searchsorted(sums.indptr, kept, side="right") - 1
    return sp.csr_array((sums.data[kept], (row, sums.indices[kept])), shape=sums.shape)


def _wishes(vectors: Csr, some: Int64, home: Int64, centres: Csr) -> tuple[Int64, Int64, Float64]:
    """(label, cluster, what it gains) of labels that are more like another cluster than like the others of their own:
    without themselves, since else nobody would leave a small cluster."""
    mine, own = vectors[some], home[some]
    lengths = np.asarray(centres.multiply(centres).sum(axis=1), np.float64).ravel()
    products = (mine @ centres.T).tocsr()
    row, cluster = np.repeat(np.arange(len(some)), np.diff(products.indptr)), products.indices.astype(np.int64)
    here = cluster == own[row]
    dot = np.zeros(len(some))
    dot[row[here]] = products.data[here]
    shared = centres[own]
    shared.data = np.ones_like(shared.data)
    part = np.asarray(mine.multiply(mine).multiply(shared).sum(axis=1), np.float64).ravel()
    left = lengths[own] - 2 * dot + part
    stays = np.where(left > 1e-6, (dot - part) / np.sqrt(np.maximum(left, 1e-6)), 0)
    gain = products.data / np.sqrt(lengths[cluster]) - stays[row]
    better = np.flatnonzero(~here & (gain > 0))
    order = better[np.lexsort((cluster[better], -gain[better], row[better]))]
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    best = order[rank < WISHES]
    return some[row[best]], cluster[best], gain[best]


def rehoused(tree: LabelTree, labels: Int64, nodes: Int64) -> tuple[LabelTree, Int64]:
    """The tree with its labels at the given nodes, and the new number of each old slot; -1: what was trained for it is
    of no use any more.

    So it is for labels that have left, and for the first that stays where some have only left: the block must be packed
    again. Where the children of a node are several blocks, all are trained again if somebody has come or gone.
    """
    inner = np.flatnonzero(tree.children >= 0)
    n_nodes, width = tree.n_nodes, tree.n_nodes + tree.n_labels
    now = np.concatenate([tree.owner[inner] * np.int64(width) + tree.children[inner], nodes * width + n_nodes + labels])
    now.sort()  # nodes before labels, both ascending
    child = np.where(tree.children >= 0, tree.children, n_nodes + ~tree.children)
    was = tree.owner * np.int64(width) + child
    at = np.minimum(np.searchsorted(now, was), len(now) - 1)
    number = np.where(now[at] == was, at, -1)
    owner, value = now // width, now % width
    offsets = np.searchsorted(owner, np.arange(n_nodes + 1)).astype(np.int64)
    children = np.where(value < n_nodes, value, ~(value - n_nodes)).astype(np.int32)
    left = np.bincount(tree.owner, number < 0, minlength=n_nodes) > 0
    came = np.diff(offsets) > np.bincount(tree.owner, number >= 0, minlength=n_nodes)
    large = np.maximum(np.diff(tree.offsets), np.diff(offsets)) > MAX_BLOCK
    number[(large & (left | came))[tree.owner]] = -1
    number[np.isin(number, offsets[:-1][left & ~came])] = -1
    return LabelTree(offsets, children, tree.n_labels, node_names=tree.node_names), number
