"""Labels that move: those whose rows have changed go to the cluster whose labels they are most like by now. And
clusters that have come to hold more labels than they should are divided, as they would be in a training.

Clusters were made by what labels looked like when the tree was built. A label that had one row then and has ten now is
often at home elsewhere. It is trained again anyway, so that moving it costs little: what is trained again for it is
what is above, and others of a cluster whose rows have become a quarter more or fewer by such moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse as sp

from ...arrays import Array, Csr, Float64, Int64, for_scipy
from ...index import BalancedTree, LabelTree, leaf_nodes
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
    return _largest(members @ vectors)


def _largest(sums: Csr) -> Csr:
    """The features that weigh most in each row."""
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
    best = better[_best_of_each(row[better], cluster[better], gain[better], WISHES)]
    return some[row[best]], cluster[best], gain[best]


def _best_of_each(row: Int64, cluster: Int64, worth: Float64, n: int) -> Int64:
    """Places of the n worthiest entries of each row, of equal ones the first cluster; rows do not fall.

    Nearly all entries are far from the best, and are not sorted.
    """
    if not len(row):
        return np.zeros(0, np.int64)
    begins = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    lengths = np.diff(np.append(begins, len(row)))
    left = worth.copy()
    for _ in range(n):  # the next value of each row, or -inf
        least = np.repeat(np.maximum.reduceat(left, begins), lengths)
        left[left == least] = -np.inf
    some = np.flatnonzero(worth >= least)
    order = some[np.lexsort((cluster[some], -worth[some], row[some]))]
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    return order[rank < n]


def best_places(tree: LabelTree, vectors: Csr, restless: Int64, copies: int) -> tuple[Int64, Int64]:
    """The places (label, node) of labels that may have several: `restless` ones have those that they are most like."""
    offsets, slots = tree.label_slots
    leaves = leaf_nodes(tree)
    label = np.repeat(np.arange(tree.n_labels), np.diff(offsets))
    cluster = np.searchsorted(leaves, tree.owner[slots]).astype(np.int64)
    vectors = for_scipy(vectors)
    members = sp.csr_array((np.ones(len(label), np.float32), (cluster, label)), shape=(len(leaves), tree.n_labels))
    centres = _largest(members @ vectors)
    own = np.sort(label * len(leaves) + cluster)
    parts = [_likes(vectors, restless[i : i + CHUNK], own, centres, copies) for i in range(0, len(restless), CHUNK)]
    who, where, likes = (np.concatenate(part) for part in zip(*parts, strict=True))
    stays = ~np.isin(label, who)  # who is like none stays as well
    sizes = np.bincount(cluster[stays], minlength=len(leaves))
    most = int(np.ceil(ROOM * len(label) / len(leaves)))
    given = np.zeros(tree.n_labels, np.int64)
    chosen = []
    for i in np.lexsort((where, who, -likes)).tolist():  # who is most like a cluster goes first
        one, to = int(who[i]), int(where[i])
        if given[one] < copies and sizes[to] < most:
            given[one] += 1
            sizes[to] += 1
            chosen.append(i)
    stays |= given[label] == 0  # where all are full
    labels = np.concatenate([label[stays], who[chosen]])
    return labels, leaves[np.concatenate([cluster[stays], where[chosen]])]


def _likes(vectors: Csr, some: Int64, own: Int64, centres: Csr, copies: int) -> tuple[Int64, Int64, Float64]:
    """(label, cluster, how like it is) of some labels and the clusters that they are most like; of their own, like the
    others there."""
    mine, n = vectors[some], int(centres.shape[0])
    lengths = np.asarray(centres.multiply(centres).sum(axis=1), np.float64).ravel()
    products = (mine @ centres.T).tocsr()
    row, cluster = np.repeat(np.arange(len(some)), np.diff(products.indptr)), products.indices.astype(np.int64)
    likes, length = products.data.astype(np.float64), lengths[cluster]
    here = np.isin(some[row] * n + cluster, own)
    part = np.asarray(mine.multiply(mine).sum(axis=1), np.float64).ravel()[row]
    length = np.where(here, length - 2 * likes + part, length)
    likes = np.where(here, likes - part, likes)
    likes = np.where(length > 1e-6, likes / np.sqrt(np.maximum(length, 1e-6)), 0)
    best = _best_of_each(row, cluster, likes, copies + WISHES)
    best = best[likes[best] > 0]
    return some[row[best]], cluster[best], likes[best]


@dataclass(frozen=True)
class Rehoused:
    """A tree whose labels have moved, or whose clusters were divided."""

    tree: LabelTree
    number: Int64  # the new one of each old slot; -1: what was trained for it is of no use any more
    origin: Int64  # the old number of each node; -1: there was none


def too_large(tree: LabelTree, labels: Int64, nodes: Int64, limit: int, counts: Int64) -> Int64:
    """Clusters of more than `limit` labels that can be divided: those of the last level, which have rows."""
    sizes = np.bincount(nodes, minlength=tree.n_nodes)
    rows = np.bincount(nodes, counts[labels], minlength=tree.n_nodes)
    last = np.arange(tree.n_nodes) >= tree.levels()[-1][0]
    inner = np.bincount(tree.owner[tree.children >= 0], minlength=tree.n_nodes) > 0
    return np.flatnonzero((sizes > limit) & (rows > 0) & last & ~inner & (np.arange(tree.n_nodes) > 0))


def divided(
    index: BalancedTree, vectors: Csr, labels: Int64, nodes: Int64, large: Int64, *, seed: int, threads: int | None
) -> Array:
    """Which of the places (label, node) go to the second half of their cluster, where it is one of `large`."""
    some = np.flatnonzero(np.isin(nodes, large))
    some = some[np.lexsort((labels[some], nodes[some]))]
    members = labels[some].astype(np.int32)
    cuts = np.append(np.searchsorted(nodes[some], large), len(some)).astype(np.int64)
    halves = index.divide(vectors, members, cuts, seed=seed, threads=threads)
    out = np.zeros(len(nodes), bool)
    for i in range(len(large)):
        span = slice(int(cuts[i]), int(cuts[i + 1]))
        second = members[int(halves[2 * i + 1]) : int(cuts[i + 1])]
        out[some[span]] = np.isin(labels[some[span]], second)
    return out


def rehoused(tree: LabelTree, labels: Int64, nodes: Int64, second: Array | None = None) -> Rehoused:
    """The tree with its labels at the given nodes, or, where `second` says so, at a new one behind that.

    What was trained is of no use for labels that have left, and for the first that stays where some have only left: the
    block must be packed again. Where the children of a node are several blocks, all are trained again if somebody has
    come or gone.
    """
    gone = np.zeros(len(nodes), bool) if second is None else second
    large = np.unique(nodes[gone])
    n_nodes, width = tree.n_nodes + len(large), tree.n_nodes + len(large) + tree.n_labels
    shifted = np.arange(tree.n_nodes) + np.searchsorted(large, np.arange(tree.n_nodes))  # the new number of each node
    origin = np.full(n_nodes, -1, np.int64)
    origin[shifted] = np.arange(tree.n_nodes)
    inner = np.flatnonzero(tree.children >= 0)
    now = np.concatenate([
        shifted[tree.owner[inner]] * np.int64(width) + shifted[tree.children[inner]],
        shifted[tree.owner[tree.node_slot[large]]] * np.int64(width) + shifted[large] + 1,
        (shifted[nodes] + gone) * np.int64(width) + n_nodes + labels,
    ])  # fmt: skip
    now.sort()  # nodes before labels, both ascending
    owners = shifted[tree.owner]
    child = np.where(tree.children >= 0, shifted[np.maximum(tree.children, 0)], n_nodes + ~tree.children)
    was = owners * np.int64(width) + child
    at = np.minimum(np.searchsorted(now, was), len(now) - 1)
    number = np.where(now[at] == was, at, -1)
    owner, value = now // width, now % width
    offsets = np.searchsorted(owner, np.arange(n_nodes + 1)).astype(np.int64)
    children = np.where(value < n_nodes, value, ~(value - n_nodes)).astype(np.int32)
    left = np.bincount(owners, number < 0, minlength=n_nodes) > 0
    came = np.diff(offsets) > np.bincount(owners, number >= 0, minlength=n_nodes)
    sizes = np.diff(offsets)
    sizes[shifted] = np.maximum(sizes[shifted], np.diff(tree.offsets))
    number[((sizes > MAX_BLOCK) & (left | came))[owners]] = -1
    number[np.isin(number, offsets[:-1][left & ~came])] = -1
    return Rehoused(LabelTree(offsets, children, tree.n_labels, node_names=tree.node_names), number, origin)
