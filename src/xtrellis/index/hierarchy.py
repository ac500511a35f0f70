"""From the edges of somebody's hierarchy to a `LabelTree`: checked, joined under one root, without idle nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Int64
from ..core import InputError
from .tree import LabelTree


@dataclass(frozen=True)
class Edges:
    """`child[e]` lies below `parent[e]` (-1: at the top). Nodes below n_labels are labels, the others groups."""

    child: Int64
    parent: Int64
    n_nodes: int
    show: Callable[[int], str]  # a node, for messages
    names: Sequence[str] | None = None  # what the nodes are called
    cure: str = "a tree has none"  # what to do about a ring


def grow(edges: Edges, n_labels: int, *, root_the_rest: bool) -> LabelTree:
    """The tree of a hierarchy; labels without an edge go below the root or are refused."""
    child, parent, n_nodes, show = edges.child, edges.parent, edges.n_nodes, edges.show
    wrong = np.flatnonzero((parent < -1) | (parent >= n_nodes))
    if len(wrong):
        raise InputError(
            f"the parent of {show(int(child[wrong[0]]))} must be a node from 0 to {n_nodes - 1}, or -1 for the top; "
            f"got {parent[wrong[0]]}"
        )
    is_inner = np.zeros(n_nodes, bool)
    is_inner[parent[parent >= 0]] = True
    mentioned = is_inner.copy()
    mentioned[child] = True
    lost = np.flatnonzero(~mentioned[:n_labels])
    if len(lost) and not root_the_rest:
        some = ", ".join(show(int(label)) for label in lost[:3])
        raise InputError(
            f"the hierarchy lacks {len(lost)} of {n_labels} labels: {some}{', …' if len(lost) > 3 else ''}; add them, "
            "or put them below the root with missing='root'"
        )
    root = n_nodes
    above = _parents_of_nodes(edges, is_inner, root)
    # Labels: below each of their parents; those with children below their own node; the lost ones below the root.
    place = (child < n_labels) & ~is_inner[child]
    own = np.flatnonzero(is_inner[:n_labels])
    labels = np.concatenate([child[place], own, lost])
    owners = np.concatenate([np.where(parent[place] < 0, root, parent[place]), own, np.full(len(lost), root)])
    _refuse_rings(above, root, edges)
    pairs = np.unique(np.column_stack([owners, labels]), axis=0)
    return _without_idle_nodes(above, pairs[:, 1], pairs[:, 0], root, n_labels, edges.names)


def _parents_of_nodes(edges: Edges, is_inner: np.ndarray, root: int) -> Int64:
    """The one parent of every inner node; nodes without an edge upwards lie below the root, which is the last."""
    upward = is_inner[edges.child]
    pairs = np.unique(np.column_stack([edges.child[upward], edges.parent[upward]]), axis=0)
    twice = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])
    if len(twice):
        node, first, second = pairs[twice[0], 0], pairs[twice[0], 1], pairs[twice[0] + 1, 1]
        at = " and ".join("the top" if p < 0 else edges.show(int(p)) for p in (first, second))
        raise InputError(
            f"{edges.show(int(node))} has children and lies below {at}; only labels without children may have several "
            "parents: keep one of them"
        )
    above = np.full(root + 1, root, np.int64)
    above[pairs[:, 0]] = np.where(pairs[:, 1] < 0, root, pairs[:, 1])
    above[root] = root
    return above


def _refuse_rings(above: Int64, root: int, edges: Edges) -> None:
    top = _ultimate(above)
    astray = np.flatnonzero(top != root)
    if len(astray):
        node = int(top[astray[0]])  # after so many steps up one is inside the ring
        ring = [node]
        while (node := int(above[node])) != ring[0]:
            ring.append(node)
        shown = " → ".join(edges.show(v) for v in [*ring[:4], *([] if len(ring) > 4 else ring[:1])])
        raise InputError(f"the hierarchy runs in a ring: {shown}{' → …' if len(ring) > 4 else ''}; {edges.cure}")


def _ultimate(above: Int64) -> Int64:
    """Where everybody is after more steps up than there are nodes (doubling: log₂ n rounds)."""
    for _ in range(len(above).bit_length() + 1):
        following = above[above]
        if np.array_equal(following, above):
            break
        above = following
    return above


def _without_idle_nodes(
    above: Int64, labels: Int64, owners: Int64, root: int, n_labels: int, names: Sequence[str] | None
) -> LabelTree:
    """Leaves out nodes without labels below them; a node with a single child gives way to it."""
    used = np.zeros(root + 1, bool)
    frontier = np.unique(owners)
    while len(frontier):
        used[frontier] = True
        frontier = np.unique(above[frontier])
        frontier = frontier[~used[frontier]]
    nodes = np.flatnonzero(used & (np.arange(root + 1) != root))
    counts = np.bincount(owners, minlength=root + 1) + np.bincount(above[nodes], minlength=root + 1)
    if counts[root] == 1 and len(nodes):  # one top, or several of which one is used: it can be the root itself
        while counts[root] == 1 and (below := nodes[above[nodes] == root]).size:
            root = int(below[0])
            above[root] = root
            nodes = nodes[nodes != root]
    idle = counts == 1
    idle[root] = False
    keeper = _ultimate(np.where(idle, above, np.arange(len(above))))  # the nearest node above that stays, or itself
    nodes = nodes[~idle[nodes]]
    number = np.full(len(above), -1, np.int64)
    number[root] = 0
    number[nodes] = np.arange(1, len(nodes) + 1)
    pairs = np.unique(np.column_stack([keeper[owners], labels]), axis=0)  # two places may have become one
    kept = [root, *nodes.tolist()]
    return LabelTree.from_parents(
        np.concatenate([[-1], number[keeper[above[nodes]]]]),
        pairs[:, 1],
        number[pairs[:, 0]],
        n_labels,
        # (The root that joins several tops has no name.)
        node_names=None if names is None else [names[node] if node < len(names) else "" for node in kept],
    )
