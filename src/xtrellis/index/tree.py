"""`LabelTree`: where every label sits. Immutable, checked, five arrays at most; leaves may lie at any depth.

Nodes are numbered in breadth-first order, the root is 0. The children of node v are the *slots*
`offsets[v] .. offsets[v+1]`; a slot holds a node (`children[slot] ≥ 0`) or a label (`~children[slot]`). Every slot has
one classifier, so a node with labels among its children is simply scored like any other. A label may sit in several
slots (overlapping clusters); a node has exactly one parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import MAX_ID, Array, Int32, Int64, StringTable, as_integers, as_numbers, ranges
from ..core import InputError, StoreError, clear_calls, integer, shown
from ..store import State, Storable


@clear_calls
class LabelTree(Storable):
    """A rooted tree over labels."""

    def __init__(self, offsets: Any, children: Any, n_labels: int, *, node_names: StringTable | None = None) -> None:
        self.offsets: Int64 = as_integers(offsets, "a tree's offsets")
        self.children: Int32 = as_integers(children, "a tree's children", dtype=np.int32)
        given: Any = n_labels
        if isinstance(given, bool) or not isinstance(given, Integral):
            raise InputError(f"n_labels must be an integer; got {shown(n_labels)}")
        self.n_labels = int(n_labels)
        self.node_names = node_names
        """What the nodes are called, where a hierarchy was given: names, or the ids of a vocabulary; "" is no name."""
        self._validate()

    @classmethod
    def from_parents(
        cls,
        node_parents: Any,
        labels: Any,
        label_parents: Any,
        n_labels: int,
        *,
        node_names: Sequence[str] | None = None,
    ) -> LabelTree:
        """From any numbering of nodes: `node_parents[v]` (-1 for the root) and pairs (label, the node above it).

        Children of a node keep the order of their old numbers: nodes first, then labels.
        """
        parents = as_integers(node_parents, "node_parents", "the parent of each node")
        labels, label_parents = as_integers(labels, "labels"), as_integers(label_parents, "label_parents")
        n_nodes = len(parents)
        if len(labels) != len(label_parents):
            raise InputError(f"every label needs a parent; got {len(labels)} labels and {len(label_parents)} parents")
        if len(labels) and (labels.min() < 0 or labels.max() > MAX_ID):
            raise InputError(f"labels must be numbers from 0; got {labels.min() if labels.min() < 0 else labels.max()}")
        roots = np.flatnonzero(parents == -1)
        if len(roots) != 1:
            raise InputError(f"a tree needs exactly one root (parent -1); got {len(roots)}")
        if (parents < -1).any() or (parents >= n_nodes).any():
            raise InputError(f"parents must be node numbers below {n_nodes}, or -1 for the root")
        if len(label_parents) and (label_parents.min() < 0 or label_parents.max() >= n_nodes):
            raise InputError(f"every label's parent must be a node number from 0 to {n_nodes - 1}")
        by_parent = np.argsort(parents, kind="stable")[1:]  # without the root
        begin = np.searchsorted(parents[by_parent], np.arange(n_nodes + 1))
        number = np.full(n_nodes, -1, np.int64)  # old -> breadth-first
        level, placed = roots, 0
        while len(level):
            number[level] = np.arange(placed, placed + len(level))
            placed += len(level)
            counts = begin[level + 1] - begin[level]
            level = by_parent[ranges(begin[level], counts)]
        if placed != n_nodes:
            raise InputError(
                f"{n_nodes - placed} of {n_nodes} nodes do not hang below the root: their parents form a ring"
            )
        # Slots: child nodes of each node, then its labels.
        owner = np.concatenate([number[parents[by_parent]], number[label_parents]])
        child = np.concatenate([number[by_parent], ~labels])
        tie = np.concatenate([number[by_parent], n_nodes + labels])
        order = np.lexsort((tie, owner))
        offsets = np.searchsorted(owner[order], np.arange(n_nodes + 1))
        names = None if node_names is None else [node_names[old] for old in np.argsort(number).tolist()]
        return cls(offsets, child[order], n_labels, node_names=None if names is None else StringTable.of(names))

    def _validate(self) -> None:
        offsets, children, n_nodes = self.offsets, self.children, self.n_nodes
        if self.node_names is not None and len(self.node_names) != n_nodes:
            raise InputError(f"a tree's node_names must be one for each of {n_nodes} nodes; got {len(self.node_names)}")
        if self.n_labels < 1:
            raise InputError(f"a tree needs at least one label; got {self.n_labels}")
        if n_nodes < 1 or offsets[0] != 0 or offsets[-1] != len(children):
            raise InputError("a tree's offsets must rise from 0 to the number of its slots")
        if (offsets[1:] <= offsets[:-1]).any():  # compared, not subtracted: differences of hostile offsets wrap
            raise InputError("every node of a tree needs at least one child")
        nodes = children[children >= 0]
        if not np.array_equal(nodes, np.arange(1, n_nodes)):
            raise InputError("a tree's nodes must be numbered in breadth-first order, each with exactly one parent")
        if (self.owner[children >= 0] >= nodes).any():
            raise InputError("a tree's node must come after its parent")
        labels = ~children[children < 0]
        if len(labels) and labels.max() >= self.n_labels:
            raise InputError(f"a tree's labels must be below {self.n_labels}; got {labels.max()}")
        # Nothing of the size of n_labels is made before there are as many places: the number may come from a file.
        there = np.unique(labels) if len(labels) < self.n_labels else np.flatnonzero(np.bincount(labels))
        if len(there) < self.n_labels:
            gaps = np.flatnonzero(there != np.arange(len(there)))
            raise InputError(
                f"every label needs a place in the tree; {self.n_labels - len(there)} have none, the first is "
                f"{gaps[0] if len(gaps) else len(there)}"
            )
        owners = self.owner[children < 0]
        if ((owners[1:] == owners[:-1]) & (labels[1:] <= labels[:-1])).any():
            raise InputError(
                "the labels of a node must ascend; a label may sit in several nodes, but only once in each"
            )

    @property
    def n_nodes(self) -> int:
        """Inner nodes, the root included (labels are not nodes)."""
        return len(self.offsets) - 1

    @property
    def n_slots(self) -> int:
        """Classifiers that a model over this tree has: one a child."""
        return len(self.children)

    @property
    def has_copies(self) -> bool:
        """True if some label sits in several places."""
        return self.n_slots - (self.n_nodes - 1) > self.n_labels

    @cached_property
    def owner(self) -> Int32:
        """The node that each slot belongs to."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def node_slot(self) -> Int32:
        """The slot that leads to each node; -1 for the root."""
        out = np.full(self.n_nodes, -1, np.int32)
        inner = np.flatnonzero(self.children >= 0)
        out[self.children[inner]] = inner
        return out

    @cached_property
    def label_slots(self) -> tuple[Int64, Int32]:
        """Slots of each label, as (offsets, slots)."""
        slots = np.flatnonzero(self.children < 0).astype(np.int32)
        labels = ~self.children[slots]
        order = np.argsort(labels, kind="stable")
        offsets = np.zeros(self.n_labels + 1, np.int64)
        np.cumsum(np.bincount(labels, minlength=self.n_labels), out=offsets[1:])
        return offsets, slots[order]

    @cached_property
    def node_depths(self) -> Int32:
        """Edges from the root to each node."""
        parents = self.owner[self.node_slot[1:]]
        depths = np.zeros(self.n_nodes, np.int32)
        # Breadth-first numbers: the children of a level's nodes are the next level, without gaps.
        first, last = 0, 1
        while last < self.n_nodes:
            first, last = last, int(np.searchsorted(parents, last)) + 1
            depths[first:last] = depths[first - 1] + 1
        return depths

    @cached_property
    def label_depths(self) -> Int32:
        """Edges from the root to each label; of several places, the nearest."""
        offsets, slots = self.label_slots
        depths = self.node_depths[self.owner[slots]] + 1
        return np.minimum.reduceat(depths, offsets[:-1]).astype(np.int32)

    @property
    def depth(self) -> int:
        """Edges from the root to the deepest label."""
        return int(self.node_depths.max()) + 1

    def expected_depth(self, frequency: Any) -> float:
        """Mean depth of a label drawn with these frequencies (one number ≥ 0 a label, in any unit)."""
        weights = as_numbers(frequency, "frequency", f"one number for each of {self.n_labels} labels")
        if weights.shape != (self.n_labels,):
            raise InputError(
                f"frequency must be one number for each of {self.n_labels} labels; got shape {weights.shape}"
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise InputError("frequency must be finite, not negative, and above zero for some label")
        weights = weights / weights.max()
        return float(weights @ self.label_depths / weights.sum())

    def labels_below(self, node: int) -> Int64:
        """Every label below a node, once. Numbers are breadth-first, so each level below it is one stretch of nodes."""
        integer(at_least=0, at_most=self.n_nodes - 1)("node", node)
        found, first, last = [], int(node), int(node) + 1
        while first < last:
            children = self.children[self.offsets[first] : self.offsets[last]]
            nodes = children[children >= 0]
            found.append(~children[children < 0])
            first, last = (int(nodes[0]), int(nodes[-1]) + 1) if len(nodes) else (0, 0)
        return np.unique(np.concatenate(found)).astype(np.int64)

    def name_of(self, node: int) -> str | None:
        """What a node is called, if somebody has named it."""
        return (self.node_names[node] or None) if self.node_names is not None else None

    def levels(self) -> list[Int32]:
        """Node numbers by depth."""
        edges = np.searchsorted(self.node_depths, np.arange(self.depth + 1))
        return [np.arange(a, b, dtype=np.int32) for a, b in pairwise(edges.tolist())]

    def describe(self) -> dict[str, Any]:
        """How big and deep the tree is."""
        _, slots = self.label_slots
        sizes = np.diff(self.offsets)
        holds_labels = np.unique(self.owner[slots])
        return {
            "labels": self.n_labels,
            "nodes": self.n_nodes,
            "depth": self.depth,
            "mean label depth": round(float(self.label_depths.mean()), 3),
            "largest node": int(sizes.max()),
            "leaf clusters": len(holds_labels),
            "copies per label": round(len(slots) / self.n_labels, 3),
        }

    def __repr__(self) -> str:
        return f"LabelTree(labels={self.n_labels}, nodes={self.n_nodes}, depth={self.depth})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        same = self.n_labels == other.n_labels
        return same and np.array_equal(self.offsets, other.offsets) and np.array_equal(self.children, other.children)

    __hash__ = None  # type: ignore[assignment]

    def to_state(self) -> State:
        """For the store."""
        named = {} if self.node_names is None else self.node_names.to_arrays("node_names")
        arrays: dict[str, Array] = {"offsets": self.offsets, "children": self.children, **named}
        return State(meta={"n_labels": self.n_labels}, arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> LabelTree:
        """From the store; everything is checked again."""
        offsets, children = state.arrays["offsets"], state.arrays["children"]
        if offsets.dtype != np.int64 or children.dtype != np.int32 or offsets.ndim != 1 or children.ndim != 1:
            raise StoreError("a tree's offsets must be int64 and its children int32, both of one dimension")
        n_labels = state.meta.get("n_labels")
        if not isinstance(n_labels, int) or isinstance(n_labels, bool):
            raise StoreError(f"n_labels must be an integer; got {n_labels!r:.80}")
        named = "node_names.offsets" in state.arrays
        try:
            names = StringTable.from_arrays(state.arrays, "node_names") if named else None
            return cls(offsets, children, n_labels, node_names=names)
        except InputError as error:
            raise StoreError(f"the label tree is damaged: {error}") from None
