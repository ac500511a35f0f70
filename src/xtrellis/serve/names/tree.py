"""The label tree as people walk through it: nodes, how many labels are below them, and which."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Int64
from ...index import LabelTree
from ...model import Model
from .labels import Labels

TYPICAL = 6  # labels that tell what a node is about
MOST_SHOWN = 500  # children of a node


def tree_of(model: Model) -> LabelTree | None:
    """The tree of a model, or of the first inside it that has one."""
    found: Any = getattr(model, "tree", None)
    if isinstance(found, LabelTree):
        return found
    return next((tree for inner in model.inner_models() if (tree := tree_of(inner)) is not None), None)


class TreeView:
    """A tree with the names of its labels."""

    def __init__(self, tree: LabelTree, labels: Labels) -> None:
        self.tree, self.labels = tree, labels

    @cached_property
    def sizes(self) -> Int64:
        """Places of labels below each node, from the last node up: parents have smaller numbers than children."""
        tree = self.tree
        sizes = np.bincount(tree.owner[tree.children < 0], minlength=tree.n_nodes).astype(np.int64)
        parents = self.parents
        for level in reversed(tree.levels()[1:]):
            np.add.at(sizes, parents[level], sizes[level])
        return sizes

    @cached_property
    def parents(self) -> Int64:
        """Of each node; -1 for the root."""
        slots = self.tree.node_slot
        return np.where(slots >= 0, self.tree.owner[np.maximum(slots, 0)], -1).astype(np.int64)

    def show(self, node: int) -> dict[str, Any]:
        """A node: the way to it, the nodes below it, and the labels that hang from it, frequent ones first."""
        tree = self.tree
        children = tree.children[tree.offsets[node] : tree.offsets[node + 1]]
        nodes, labels = children[children >= 0], ~children[children < 0]
        order = labels[np.argsort(-self.labels.counts[labels], kind="stable")]
        way, above = [], int(self.parents[node])
        while above >= 0:
            way.append(above)
            above = int(self.parents[above])
        return {
            **self._brief(node),
            "depth": int(tree.node_depths[node]),
            "way": [self._brief(above) for above in reversed(way)],
            "nodes": [self._brief(child) for child in nodes[:MOST_SHOWN].tolist()],
            "labels": [self.labels.describe(label) for label in order[:MOST_SHOWN].tolist()],
            "more": max(0, len(nodes) - MOST_SHOWN) + max(0, len(labels) - MOST_SHOWN),
        }

    def _brief(self, node: int) -> dict[str, Any]:
        below = self.tree.labels_below(node)
        top = below[np.argsort(-self.labels.counts[below], kind="stable")[:TYPICAL]]
        return {
            "node": node,
            "n_labels": int(self.sizes[node]),
            "typical": [self.labels.name(label) for label in top.tolist()],
        }
