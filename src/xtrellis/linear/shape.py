"""The shape that an index builder will give its tree, before there is one: what an estimate counts by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..index import BalancedTree, FlatTree, GivenTree, HuffmanTree, Index, InterpolatedTree, KMeansTree, LabelTree
from ..index.balanced import level_depths
from ..labels import LabelSpace

ARITY, LEAF = 16, 100  # of a builder that nothing is known about
QUICK = (FlatTree, GivenTree, HuffmanTree)  # builders that do not look at what the rows look like


@dataclass(frozen=True)
class Level:
    """Nodes of one depth and what their children are."""

    nodes: int
    inner: int  # children that are nodes
    labels: int  # children that are labels

    @property
    def children(self) -> int:
        """Classifiers of the level."""
        return self.inner + self.labels


def expected_shape(index: Index, labels: LabelSpace) -> list[Level]:
    """Level by level: exact where the data has no say, near for balanced trees, a guess for others."""
    n_labels = labels.n_labels
    if isinstance(index, QUICK):
        return shape_of(index.build(labels, seed=0))
    if isinstance(index, KMeansTree):
        return _unbalanced(n_labels, index.k, index.depth, index.max_leaf)
    if isinstance(index, BalancedTree):
        return _balanced(n_labels, index.arity, index.max_leaf)
    return _balanced(n_labels, _count(index, "arity", 2, ARITY), _count(index, "max_leaf", 1, LEAF))


def needs_vectors(index: Index) -> bool:
    """False for builders that do not look at the labels' vectors, so that those are never made."""
    by_frequency = isinstance(index, InterpolatedTree) and math.isinf(index.tradeoff)
    return not (by_frequency or isinstance(index, QUICK))


def shape_of(tree: LabelTree) -> list[Level]:
    """Of a tree that is there."""
    out = []
    for level in tree.levels():
        children = tree.children[tree.offsets[level[0]] : tree.offsets[level[-1] + 1]]
        inner = int(np.count_nonzero(children >= 0))
        out.append(Level(len(level), inner, len(children) - inner))
    return out


def _count(index: Index, name: str, least: int, otherwise: int) -> int:
    """A parameter of that name, if the builder has one that is a number of the usual kind."""
    value = getattr(index, name, None)
    return value if isinstance(value, int) and value >= least else otherwise


def _balanced(n_labels: int, arity: int, max_leaf: int) -> list[Level]:
    bits = max(0, math.ceil(math.log2(n_labels / max_leaf)))
    nodes = [min(n_labels, 2**depth) for depth in level_depths(bits, arity)]
    if max_leaf == 1 and len(nodes) > 1:  # single labels have no nodes
        nodes.pop()
    return [Level(here, below, 0) for here, below in pairwise(nodes)] + [Level(nodes[-1], 0, n_labels)]


def _unbalanced(n_labels: int, k: int, depth: int, max_leaf: int) -> list[Level]:
    """Clusters of a split have very different sizes: about those of an exponential distribution."""
    out: list[Level] = []
    nodes, split, inside = 1, 1, n_labels  # nodes of the level; those to be split, and labels below these
    while True:
        waiting = inside if split else 0
        if not split or waiting <= max_leaf or len(out) == depth:
            out.append(Level(nodes, 0, _held(out, n_labels)))
            return out
        clusters = min(split * k, waiting)
        mean = waiting / clusters
        singles = round(clusters * -math.expm1(-1.0 / mean)) if mean > 1 else clusters  # labels without a node
        below = max(0, clusters - singles)
        here = _held(out, n_labels) - waiting + singles
        out.append(Level(nodes, below, here))
        if not below:
            return out
        large = math.exp(-max_leaf / mean)
        nodes, split = below, min(below, round(clusters * large))
        inside = min(waiting - singles, round(waiting * (1 + max_leaf / mean) * large))


def _held(levels: list[Level], n_labels: int) -> int:
    """Labels that the levels above do not hold."""
    return n_labels - sum(level.labels for level in levels)
