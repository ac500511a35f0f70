"""`PackedTree`: a label tree with its trained weights, packed by node for search.

A *block* holds the classifiers of up to 256 children of one node, by feature, in small buckets that a look-up finds
without searching (native/search/model.hpp draws them). Blocks lie in the order of the nodes, so they need no table of
contents but two lists of offsets. Everything is a plain array: a model is used as it lies on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._native import search as native
from ..arrays import Array, Float32, Float64, Int32, Int64
from ..core import StoreError, run
from ..index import LabelTree
from ..store import IN_MEMORY, Scratch, State, Storable
from .blocks import STORAGES, PlainBlock, block_offsets, key_bits, pack_block
from .segments import DTYPES, PADDING, Segment, check_weights

TRANSFORMS: dict[str, int] = {"l2-hinge": 0, "l3-hinge": 1, "sigmoid": 2}
MERGES: dict[str, int] = {"max": 1, "mean": 2}  # what a label scores that search finds in several places

# Places of a label that score less than this share of its best one do not count in a mean (native/search/answer.hpp).
FAINT = 1 / 2
BY_ID: Int32 = np.zeros(0, np.int32)  # no ranks: labels of equal scores are ordered by their ids
EVEN: Float32 = np.zeros(0, np.float32)  # no offsets: frequent and rare labels score alike
LAYOUT = 2  # of the bytes in a block (native/search/model.hpp); a model with another one would give wrong answers


def ranks_by_frequency(label_counts: Int64) -> Int32:
    """0 for the most frequent label; of equally frequent ones, the smaller id comes first."""
    ranks = np.empty(len(label_counts), np.int32)
    ranks[np.argsort(-label_counts, kind="stable")] = np.arange(len(ranks), dtype=np.int32)
    return ranks


class PackedTree(Storable):
    """A label tree and its weights, ready for search."""

    def __init__(
        self,
        tree: LabelTree,
        arrays: dict[str, Array],
        n_features: int,
        *,
        transform: str,
        storage: str,
        merge: str = "max",
        label_ranks: Int32 = BY_ID,
        label_offsets: Float32 = EVEN,
    ) -> None:
        self.tree, self.arrays, self.n_features, self.label_ranks = tree, arrays, n_features, label_ranks
        self.label_offsets = label_offsets  # of the logarithms of labels' scores; not stored
        self.transform, self.storage, self.merge = transform, storage, merge
        self.bits = key_bits(n_features)
        self.blocks = block_offsets(tree)
        check_weights(arrays, self.n_blocks, tree.n_slots, self.bits, padding=PADDING)
        self.native = native.Packed(
            offsets=tree.offsets,
            children=tree.children,
            block_offsets=self.blocks,
            storage=STORAGES[storage],
            bits=self.bits,
            transform=TRANSFORMS[transform],
            copies=MERGES[merge] if tree.has_copies else 0,
            most_copies=int(np.diff(tree.label_slots[0]).max()) if tree.has_copies else 1,
            label_ranks=label_ranks,
            label_offsets=label_offsets,
            **{name: arrays[name] for name in DTYPES},
        )

    @classmethod
    def pack(
        cls,
        tree: LabelTree,
        blocks: Sequence[PlainBlock],
        biases: Float32,
        n_features: int,
        *,
        transform: str = "l3-hinge",
        storage: str = "float32",
        merge: str = "max",
        label_ranks: Int32 = BY_ID,
        threads: int | None = None,
    ) -> PackedTree:
        """Pack plain blocks, given in the order of the nodes; `biases` has one per slot."""
        bits = key_bits(n_features)

        def pack_one(block: PlainBlock) -> list[Array]:
            return pack_block(block, storage, bits)

        packed = run(pack_one, blocks, threads=threads)
        for i, content in enumerate(packed):  # all slots' biases are known already: the first block brings them
            content.append(biases if i == 0 else biases[:0])
        segments = [Segment.of_blocks(0, tree.n_nodes, packed)]
        return cls.join(
            tree, segments, n_features, transform=transform, storage=storage, merge=merge, label_ranks=label_ranks
        )

    @classmethod
    def join(
        cls,
        tree: LabelTree,
        segments: Sequence[Segment],
        n_features: int,
        *,
        transform: str,
        storage: str,
        merge: str = "max",
        label_ranks: Int32 = BY_ID,
        scratch: Scratch = IN_MEMORY,
    ) -> PackedTree:
        """Join the segments of all nodes, in their order; they are emptied. `scratch` says where the arrays go."""
        arrays = Segment.join(segments, scratch, consume=True).arrays
        return cls(tree, arrays, n_features, transform=transform, storage=storage, merge=merge, label_ranks=label_ranks)

    def block(self, number: int) -> PlainBlock:
        """A block in plain form."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"block {number} is outside {self.n_blocks} blocks")
        return native.unpack(self.native, number)

    def segment(self, first: int, last: int) -> Segment:
        """The weights of some nodes, as they were when they were trained."""
        a, b = int(self.blocks[first]), int(self.blocks[last])
        slots = slice(int(self.tree.offsets[first]), int(self.tree.offsets[last]))
        arrays, out = self.arrays, {}
        for name, content in (("bucket_offsets", "buckets"), ("byte_offsets", "bytes")):
            offsets = arrays[name][a : b + 1]
            out[name], out[content] = offsets - offsets[0], arrays[content][offsets[0] : offsets[-1]]
        out["scales"], out["biases"] = arrays["scales"][a:b], arrays["biases"][slots]
        return Segment(first, last, {name: out[name] for name in DTYPES})

    def look_up(self, number: int, features: Int32) -> tuple[Int64, Int64, Float64]:
        """The weights of a block that belong to some features, as (place in `features`, child, weight)."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"block {number} is outside {self.n_blocks} blocks")
        return native.look_up(self.native, number, features)

    def stored_as(self, storage: str) -> PackedTree:
        """The same tree with its weights in another form: float32, float16 or int8."""
        blocks = [self.block(b) for b in range(self.n_blocks)]
        biases = np.asarray(self.arrays["biases"])
        return PackedTree.pack(
            self.tree, blocks, biases, self.n_features,
            transform=self.transform, storage=storage, merge=self.merge, label_ranks=self.label_ranks,
        ).weighed_by(self.label_offsets)  # fmt: skip

    def widened(self, n_features: int, threads: int | None = None) -> PackedTree:
        """The same tree for rows with more columns, on which nothing weighs yet."""
        if n_features == self.n_features:
            return self
        arrays, bits = self.arrays, key_bits(n_features)
        if bits != self.bits:  # ids are scattered over more numbers now
            one_byte = self.storage == "int8"

            def pack_one(number: int) -> list[Array]:
                scale = float(arrays["scales"][number]) if one_byte else 0.0
                return pack_block(self.block(number), self.storage, bits, scale)

            packed = run(pack_one, range(self.n_blocks), threads=threads)
            for i, content in enumerate(packed):
                content.append(arrays["biases"] if i == 0 else arrays["biases"][:0])
            arrays = Segment.join([Segment.of_blocks(0, self.tree.n_nodes, packed)], IN_MEMORY, consume=True).arrays
        return PackedTree(
            self.tree, arrays, n_features,
            transform=self.transform, storage=self.storage, merge=self.merge, label_ranks=self.label_ranks,
            label_offsets=self.label_offsets,
        )  # fmt: skip

    def scored_by(self, transform: str) -> PackedTree:
        """The same tree and weights; margins become scores in another way."""
        return PackedTree(
            self.tree, self.arrays, self.n_features,
            transform=transform, storage=self.storage, merge=self.merge, label_ranks=self.label_ranks,
            label_offsets=self.label_offsets,
        )  # fmt: skip

    def weighed_by(self, label_offsets: Float32) -> PackedTree:
        """The same tree and weights; these (0 or less) are added to the logarithms of labels' scores."""
        return PackedTree(
            self.tree, self.arrays, self.n_features, transform=self.transform, storage=self.storage,
            merge=self.merge, label_ranks=self.label_ranks, label_offsets=label_offsets,
        )  # fmt: skip

    @cached_property
    def places(self) -> native.Places:
        """Where labels sit, for kernels that look for some of them."""
        label_offsets, label_slots = self.tree.label_slots
        return native.Places(
            owner=self.tree.owner, node_slot=self.tree.node_slot, label_offsets=label_offsets, label_slots=label_slots
        )

    @property
    def n_blocks(self) -> int:
        """Blocks of all nodes."""
        return int(self.blocks[-1])

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays, the tree's not counted."""
        return sum(array.nbytes for array in self.arrays.values())

    def to_state(self) -> State:
        """For the store."""
        meta = {"n_features": self.n_features, "transform": self.transform, "storage": self.storage, "layout": LAYOUT}
        if self.tree.has_copies:
            meta["merge"] = self.merge
        ranks = {"label_ranks": self.label_ranks} if len(self.label_ranks) else {}
        return State(meta=meta, arrays={**self.arrays, **ranks}, parts={"tree": self.tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> PackedTree:
        """From the store."""
        tree, n_features = state.parts["tree"], state.meta["n_features"]
        transform, storage = state.meta["transform"], state.meta["storage"]
        merge = state.meta.get("merge", "max")
        if not isinstance(tree, LabelTree):
            raise StoreError("a PackedTree needs a part 'tree' that is a LabelTree")
        if not isinstance(n_features, int) or not 0 <= n_features < 2**31:
            raise StoreError(f"n_features must be a number from 0 to 2147483647; got {n_features!r}")
        if state.meta.get("layout") != LAYOUT:
            found = state.meta.get("layout")
            raise StoreError(f"the weights have layout {found!r}, this version reads {LAYOUT}: train the model again")
        choices = (("transform", transform, TRANSFORMS), ("storage", storage, STORAGES), ("merge", merge, MERGES))
        for name, value, known in choices:
            if not isinstance(value, str) or value not in known:
                raise StoreError(f"{name} must be one of {', '.join(known)}; got {value!r}")
        ranks = state.arrays.get("label_ranks", BY_ID)
        if ranks.dtype != np.int32 or ranks.shape not in ((0,), (tree.n_labels,)):
            raise StoreError(
                f"label_ranks must be {tree.n_labels} numbers of type int32; got {ranks.dtype} {ranks.shape}"
            )
        weights = {name: array for name, array in state.arrays.items() if name != "label_ranks"}
        return cls(tree, weights, n_features, transform=transform, storage=storage, merge=merge, label_ranks=ranks)
