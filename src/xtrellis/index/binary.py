"""A binary tree of label sets while it grows: leaves may end up at any depth; levels are joined to a wider arity."""

from __future__ import annotations

import math

import numpy as np

from ..types import Float64, Int32, Int64
from .tree import LabelTree


class Binary:
    """Sets of labels as segments of `members`; nodes are numbered level by level, the root is 0."""

    def __init__(self, n_labels: int, max_leaf: int) -> None:
        self.members: Int32 = np.arange(n_labels, dtype=np.int32)
        self.max_leaf, self.level = max_leaf, -1
        self.begin, self.end = np.zeros(1, np.int64), np.full(1, n_labels, np.int64)  # of each node
        self.parent: Int64 = np.full(1, -1, np.int64)
        self.depth: Int64 = np.zeros(1, np.int64)
        self.n_closed = 0  # labels in sets that are small enough
        self._first = 0  # of the last level

    def open_level(self) -> Int64:
        """The nodes of the last level that are too large to be leaves."""
        sizes = self.end[self._first :] - self.begin[self._first :]
        self.n_closed += int(sizes[sizes <= self.max_leaf].sum())
        self.level += 1
        return self._first + np.flatnonzero(sizes > self.max_leaf)

    def split(self, nodes: Int64, lefts: Int64) -> None:
        """Give each of these nodes of the last level two children, the first with `lefts` labels."""
        middle = self.begin[nodes] + lefts
        self._first = len(self.parent)
        self.parent = np.concatenate([self.parent, np.repeat(nodes, 2)])
        self.begin = np.concatenate([self.begin, np.column_stack([self.begin[nodes], middle]).ravel()])
        self.end = np.concatenate([self.end, np.column_stack([middle, self.end[nodes]]).ravel()])
        self.depth = np.concatenate([self.depth, np.full(2 * len(nodes), self.level + 1)])

    def join(self, arity: int, frequency: Float64) -> LabelTree:
        """A tree whose nodes have up to `arity` children: levels of two are skipped, leaves stay where they are.

        The root takes what is left over when all levels below have full arity, as in `BalancedTree`; with leaves at
        different depths every number of levels could be left over, so the one that makes labels least deep is taken.
        """
        width = max(1, int(math.log2(arity)))
        is_leaf = np.ones(len(self.parent), bool)
        is_leaf[self.parent[1:]] = False
        best = None
        for first in range(width, 0, -1):
            kept = is_leaf | (self.depth % width == first % width)
            kept[0] = True
            tree = self._tree(kept, is_leaf, width)
            cost = tree.expected_depth(frequency), tree.n_nodes
            if best is None or cost < best[0]:
                best = cost, tree
        if best is None:
            raise ValueError(arity)
        return best[1]

    def _tree(self, kept: np.ndarray, is_leaf: np.ndarray, width: int) -> LabelTree:
        above = self.parent.copy()
        for _ in range(width - 1):
            above = np.where(kept[above], above, self.parent[above])
        above[0] = -1
        sizes = self.end - self.begin
        leaves = np.flatnonzero(is_leaf)
        owner = np.where((sizes == 1) & (self.parent >= 0), above, np.arange(len(above)))  # one label needs no node
        node_of = np.empty(len(self.members), np.int64)
        order = leaves[np.argsort(self.begin[leaves])]
        node_of[:] = np.repeat(owner[order], sizes[order])
        stays = kept & ~(is_leaf & (sizes == 1) & (self.parent >= 0))
        number = np.cumsum(stays) - 1
        parents = np.where(above[stays] >= 0, number[above[stays]], -1)
        return LabelTree.from_parents(parents, self.members, number[node_of], len(self.members))
