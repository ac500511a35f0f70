"""`PackedTree`: a label tree with its trained weights, packed by node for search.

A *block* holds the classifiers of up to 256 children of one node, by feature: a feature's entries are (child, weight)
pairs, the child one byte. Blocks lie in the order of the nodes, so they need no table of contents but two lists of
offsets. Everything is a plain array: a model is used as it lies on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._native import search as native
from ..errors import StoreError
from ..index import LabelTree
from ..store import State, Storable
from ..types import Array, Int64
from .segments import IN_MEMORY, MAX_BLOCK, Room, Segment, check_weights

TRANSFORMS = {"l2-hinge": 0, "l3-hinge": 1, "sigmoid": 2}


def block_offsets(tree: LabelTree) -> Int64:
    """Where the blocks of each node begin: a node has one for every 256 children."""
    counts = (np.diff(tree.offsets) + MAX_BLOCK - 1) // MAX_BLOCK
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class PackedTree(Storable):
    """A label tree and its weights, ready for search."""

    NAMES = ("feature_offsets", "entry_offsets", "features", "starts", "entry_children", "values", "biases")

    def __init__(self, tree: LabelTree, arrays: dict[str, Array], n_features: int, transform: str) -> None:
        self.tree, self.arrays, self.n_features, self.transform = tree, arrays, n_features, transform
        self.blocks = block_offsets(tree)
        check_weights(arrays, int(self.blocks[-1]), tree.n_slots)
        self.native = native.Packed(
            tree.offsets, tree.children, tree.n_labels, self.blocks,
            **{name: arrays[name] for name in self.NAMES},
            n_features=n_features, transform=TRANSFORMS[transform],
        )  # fmt: skip

    @classmethod
    def pack(
        cls,
        tree: LabelTree,
        segments: Sequence[Segment],
        n_features: int,
        transform: str,
        room: Room = IN_MEMORY,
    ) -> PackedTree:
        """Join the trained segments of all nodes, in their order; they are emptied. `room` says where it goes."""
        return cls(tree, Segment.join(segments, room, consume=True).arrays, n_features, transform)

    @property
    def n_weights(self) -> int:
        """Weights kept, biases not counted."""
        return len(self.arrays["values"])

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def to_state(self) -> State:
        """For the store."""
        meta = {"n_features": self.n_features, "transform": self.transform}
        return State(meta=meta, arrays=dict(self.arrays), parts={"tree": self.tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> PackedTree:
        """From the store."""
        tree, n_features, transform = state.parts["tree"], state.meta["n_features"], state.meta["transform"]
        if not isinstance(tree, LabelTree):
            raise StoreError("a PackedTree needs a part 'tree' that is a LabelTree")
        if not isinstance(n_features, int) or not 0 <= n_features < 2**31:
            raise StoreError(f"n_features must be a number from 0 to 2147483647; got {n_features!r}")
        if transform not in TRANSFORMS:
            raise StoreError(f"transform must be one of {', '.join(TRANSFORMS)}; got {transform!r}")
        return cls(tree, state.arrays, n_features, transform)
