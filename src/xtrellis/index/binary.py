"""A binary tree of label sets while it grows: leaves may end up at any depth; then nodes are joined to wider ones."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from ..arrays import Float64, Int32, Int64
from .shape import level_depths
from .tree import LabelTree

JOINS: tuple[str, ...] = ("frequency", "levels")
Bool = NDArray[np.bool_]


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

    @classmethod
    def nested(cls, members: Int32, cuts: list[Int64], max_leaf: int) -> Binary:
        """From labels in leaf order and, for each level from the root down, where its sets (halves) begin."""
        tree = cls(len(members), max_leaf)
        tree.members = members
        for cut in cuts[1:]:
            tree.level += 1
            last = tree._first + np.arange(len(tree.parent) - tree._first)
            nodes = last[tree.end[last] - tree.begin[last] > 1]  # half of a single label is empty: no node
            begin = tree.begin[nodes]
            after = np.searchsorted(cut, begin, side="right")
            tree.split(nodes, cut[after] - begin)
        return tree

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

    def join(self, arity: int, how: str, frequency: Float64 | None = None) -> LabelTree:
        """A tree whose nodes have up to `arity` children; leaves stay whole, and a set of one label becomes that label.

        `how` is one of `JOINS`. With `arity` 2 they are alike: nothing is joined, and `frequency` is not needed.
        """
        if how == "levels" or frequency is None:
            return self._join_levels(arity)
        return self._join_by_frequency(arity, frequency)

    def _join_levels(self, arity: int) -> LabelTree:
        """Leave out whole levels of two, as `BalancedTree` does; a leaf hangs below the nearest level that stays."""
        kept = np.isin(self.depth, level_depths(int(self.depth.max()), arity))
        is_leaf = np.ones(len(self.parent), bool)
        is_leaf[self.parent[1:]] = False
        above = np.maximum(self.parent, 0)
        while not kept[above].all():
            above = np.where(kept[above], above, self.parent[above])
        above[0] = -1
        return self._tree(kept | is_leaf, is_leaf, above)

    def _join_by_frequency(self, arity: int, frequency: Float64) -> LabelTree:
        """From the root down, let frequent nodes be taken in by the one above them.

        A node takes in whichever of its children is asked for most often and has the two below it for its own, until
        it has `arity` of them.
        """
        n = len(self.parent)
        below = np.full(n, -1, np.int64)  # the first of a node's two children
        below[self.parent[1::2]] = np.arange(1, n, 2)
        first, above = below.tolist(), self.parent.tolist()
        upto = np.concatenate([[0.0], np.cumsum(frequency[self.members])])
        mass = (upto[self.end] - upto[self.begin]).tolist()
        stays = below < 0
        stays[0] = True
        tops = [0] if n > 1 else []
        while tops:
            top = node = tops.pop()
            inner: list[tuple[float, int]] = []  # children that are nodes themselves, the most frequent on top
            for _ in range(arity - 1):
                for child in (first[node], first[node] + 1):
                    above[child] = top
                    if first[child] >= 0:
                        heappush(inner, (-mass[child], child))
                if not inner:
                    break
                node = heappop(inner)[1]
            else:
                heappush(inner, (0.0, node))  # taken out, but there was no room for its children
            rest = [child for _, child in inner]
            stays[rest] = True
            tops += rest
        return self._tree(stays, below < 0, np.array(above))

    def _tree(self, stays: Bool, is_leaf: Bool, above: Int64) -> LabelTree:
        sizes = self.end - self.begin
        single = is_leaf & (sizes == 1) & (self.parent >= 0)
        stays = stays & ~single
        owner = np.where(single, above, np.arange(len(above)))
        leaves = np.flatnonzero(is_leaf)
        leaves = leaves[np.argsort(self.begin[leaves])]  # as their labels lie in `members`
        number = np.cumsum(stays) - 1
        parents = np.where(above[stays] >= 0, number[above[stays]], -1)
        labels_of = np.repeat(number[owner[leaves]], sizes[leaves])
        return LabelTree.from_parents(parents, self.members, labels_of, len(self.members))
