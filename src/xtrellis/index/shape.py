"""The shape that an index builder will give its tree, before there is one: what an estimate counts by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .tree import LabelTree

ARITY, LEAF = 16, 100  # of a builder that nothing is known about


@dataclass(frozen=True)
class TreeLevel:
    """Nodes of one depth and what their children are."""

    nodes: int
    inner: int  # children that are nodes
    labels: int  # children that are labels

    @property
    def children(self) -> int:
        """Classifiers of the level."""
        return self.inner + self.labels


def levels_of(tree: LabelTree) -> list[TreeLevel]:
    """Of a tree that is there."""
    out = []
    for level in tree.levels():
        children = tree.children[tree.offsets[level[0]] : tree.offsets[level[-1] + 1]]
        inner = int(np.count_nonzero(children >= 0))
        out.append(TreeLevel(len(level), inner, len(children) - inner))
    return out


def level_depths(bits: int, arity: int) -> list[int]:
    """Which of the binary levels become levels of a tree: full arity from the leaves up, what is left at the root.

    Better than even levels on held-out rows (P@3 +0.2, P@5 +0.15), smaller, and a query visits fewer nodes.
    """
    a_level = max(1, int(math.log2(arity)))
    return [0, *range(bits % a_level or a_level, bits + 1, a_level)] if bits else [0]


def balanced_levels(n_labels: int, arity: int, max_leaf: int) -> list[TreeLevel]:
    """Of clusters of equal size."""
    bits = max(0, math.ceil(math.log2(n_labels / max_leaf)))
    nodes = [min(n_labels, 2**depth) for depth in level_depths(bits, arity)]
    if max_leaf == 1 and len(nodes) > 1:  # single labels have no nodes
        nodes.pop()
    return [TreeLevel(here, below, 0) for here, below in pairwise(nodes)] + [TreeLevel(nodes[-1], 0, n_labels)]


def unbalanced_levels(n_labels: int, k: int, depth: int, max_leaf: int) -> list[TreeLevel]:
    """Clusters of a split have very different sizes: about those of an exponential distribution."""
    out: list[TreeLevel] = []
    nodes, split, inside = 1, 1, n_labels  # nodes of the level; those to be split, and labels below these
    while True:
        waiting = inside if split else 0
        if not split or waiting <= max_leaf or len(out) == depth:
            out.append(TreeLevel(nodes, 0, _held(out, n_labels)))
            return out
        clusters = min(split * k, waiting)
        mean = waiting / clusters
        singles = round(clusters * -math.expm1(-1.0 / mean)) if mean > 1 else clusters  # labels without a node
        below = max(0, clusters - singles)
        here = _held(out, n_labels) - waiting + singles
        out.append(TreeLevel(nodes, below, here))
        if not below:
            return out
        large = math.exp(-max_leaf / mean)
        nodes, split = below, min(below, round(clusters * large))
        inside = min(waiting - singles, round(waiting * (1 + max_leaf / mean) * large))


def _held(levels: list[TreeLevel], n_labels: int) -> int:
    """Labels that the levels above do not hold."""
    return n_labels - sum(level.labels for level in levels)
