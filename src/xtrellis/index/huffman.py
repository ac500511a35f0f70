"""Huffman's tree: the binary tree of least expected depth under the labels' frequencies, whatever they mean."""

from __future__ import annotations

import numpy as np

from ..arrays import Float64
from ..core import choice, param
from ..labels import FREQUENCIES, LabelSpace
from .frequency import FrequencyIndex
from .shape import TreeLevel, levels_of
from .tree import LabelTree


class HuffmanTree(FrequencyIndex):
    """Every node has two children, every label a place of its own: the more frequent, the nearer to the root.

    Labels without rows lie deepest, as evenly as they can. What labels look like plays no part.
    """

    frequency: str = param(
        choice(*FREQUENCIES), "labels a row counts for: all of them, or as few as serve all rows", default="all"
    )

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """The same tree for any seed."""
        return huffman(self._frequency(labels, self.frequency))

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """Of the tree itself: it is quickly made."""
        return levels_of(self.build(labels, seed=0))

    @property
    def needs_vectors(self) -> bool:
        """What labels look like plays no part."""
        return False


def huffman(frequency: Float64) -> LabelTree:
    """Join the two rarest until one is left (Huffman 1952).

    Two queues, both ascending: labels, and joined nodes in the order in which they were made. O(L log L) for the sort.
    Of equals, labels come before nodes: that gives the least deep of the best trees.
    """
    n = len(frequency)
    if n == 1:
        return LabelTree([0, 1], [~0], 1)
    order = np.argsort(frequency, kind="stable")
    waiting = frequency[order].tolist()  # plain floats: a million steps of this loop take half a second
    joined: list[float] = []
    above = [0] * (2 * n - 2)  # the node above each label (in ascending order), then above each node but the root
    label = node = 0
    for made in range(n - 1):
        weight = 0.0
        for _ in range(2):
            if label < n and (node == made or waiting[label] <= joined[node]):
                above[label] = made
                weight += waiting[label]
                label += 1
            else:
                above[n + node] = made
                weight += joined[node]
                node += 1
        joined.append(weight)
    return LabelTree.from_parents([*above[n:], -1], order, above[:n], n)
