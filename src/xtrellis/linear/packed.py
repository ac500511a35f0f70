"""`PackedTree`: a label tree with its trained weights, packed by node for search.

A *block* holds the classifiers of up to 256 children of one node, by feature, in small buckets that a look-up finds
without searching (native/search/model.hpp draws them). Blocks lie in the order of the nodes, so they need no table of
contents but two lists of offsets. Everything is a plain array: a model is used as it lies on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._native import search as native
from ..errors import StoreError
from ..index import LabelTree
from ..parallel import run
from ..store import State, Storable
from ..types import Array, Float32, Int32, Int64, UInt8, UInt32

MAX_BLOCK = 256
KEY_BITS = 16  # a feature's key within its bucket
PADDING = 16  # unused bytes at the end: keys are read so many bytes at a time
TRANSFORMS = {"l2-hinge": 0, "l3-hinge": 1, "sigmoid": 2}
STORAGES = {"float32": 0, "float16": 1, "int8": 2}

# A block in plain form: features ascending, where each one's entries begin (and one end), children, weights.
PlainBlock = tuple[Int32, UInt32, UInt8, Float32]


def block_offsets(tree: LabelTree) -> Int64:
    """Where the blocks of each node begin: a node has one for every 256 children."""
    counts = (np.diff(tree.offsets) + MAX_BLOCK - 1) // MAX_BLOCK
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class PackedTree(Storable):
    """A label tree and its weights, ready for search."""

    DTYPES: Mapping[str, Any] = {
        "bucket_offsets": np.int64,  # blocks + 1
        "byte_offsets": np.int64,  # blocks + 1
        "buckets": np.uint32,
        "bytes": np.uint8,
        "scales": np.float32,  # one a block
        "biases": np.float32,  # one a slot
    }

    def __init__(
        self, tree: LabelTree, arrays: dict[str, Array], n_features: int, *, transform: str, storage: str
    ) -> None:
        self.tree, self.arrays, self.n_features = tree, arrays, n_features
        self.transform, self.storage = transform, storage
        self.bits = max(1, (n_features - 1).bit_length())
        self.blocks = block_offsets(tree)
        self._check()
        self.native = native.Packed(
            offsets=tree.offsets,
            children=tree.children,
            labels=tree.n_labels,
            copies=tree.has_copies,
            block_offsets=self.blocks,
            storage=STORAGES[storage],
            bits=self.bits,
            transform=TRANSFORMS[transform],
            **{name: arrays[name] for name in self.DTYPES},
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
        threads: int | None = None,
    ) -> PackedTree:
        """Pack plain blocks, given in the order of the nodes; `biases` has one a slot."""
        bits = max(1, (n_features - 1).bit_length())

        def pack_one(block: PlainBlock) -> tuple[UInt32, UInt8, float]:
            return native.pack(*block, storage=STORAGES[storage], bits=bits)

        packed = run(pack_one, blocks, threads=threads)
        arrays: dict[str, Array] = {
            "bucket_offsets": np.cumsum([0, *(len(p[0]) for p in packed)], dtype=np.int64),
            "byte_offsets": np.cumsum([0, *(len(p[1]) for p in packed)], dtype=np.int64),
            "buckets": np.concatenate([p[0] for p in packed]),
            "bytes": np.concatenate([*(p[1] for p in packed), np.zeros(PADDING, np.uint8)]),
            "scales": np.array([p[2] for p in packed], np.float32),
            "biases": biases,
        }
        return cls(tree, arrays, n_features, transform=transform, storage=storage)

    def block(self, number: int) -> PlainBlock:
        """A block in plain form."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"block {number} is outside {self.n_blocks} blocks")
        return native.unpack(self.native, number)

    def stored_as(self, storage: str) -> PackedTree:
        """The same tree with its weights in another form: float32, float16 or int8."""
        blocks = [self.block(b) for b in range(self.n_blocks)]
        biases = np.asarray(self.arrays["biases"])
        return PackedTree.pack(self.tree, blocks, biases, self.n_features, transform=self.transform, storage=storage)

    def _check(self) -> None:
        """What kernels rely on: O(blocks), so that opening a model reads next to nothing of it."""
        for name, dtype in self.DTYPES.items():
            array = self.arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise StoreError(f"weights need an array {name!r} of {np.dtype(dtype)} with one dimension")
        for name, length in (
            ("bucket_offsets", len(self.arrays["buckets"])),
            ("byte_offsets", len(self.arrays["bytes"]) - PADDING),
        ):
            offsets = self.arrays[name]
            if len(offsets) != self.n_blocks + 1 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
                raise StoreError(f"{name} must rise from 0 and have {self.n_blocks + 1} entries")
            if offsets[-1] != length:
                raise StoreError(f"{name} must end at {length}; got {offsets[-1]}")
        buckets = np.diff(self.arrays["bucket_offsets"]) - 1
        fewest = 1 << max(0, self.bits - KEY_BITS)
        if ((buckets < fewest) | (buckets > 1 << self.bits) | (buckets & (buckets - 1) != 0)).any():
            raise StoreError(f"every block must have a power of two of buckets, at least {fewest}")
        if (np.diff(self.arrays["byte_offsets"]) >= 2**32).any():
            raise StoreError("a block must be smaller than 4 GiB")
        for name, length in (("scales", self.n_blocks), ("biases", self.tree.n_slots)):
            if len(self.arrays[name]) != length:
                raise StoreError(f"{name} must have {length} entries")

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
        meta = {"n_features": self.n_features, "transform": self.transform, "storage": self.storage}
        return State(meta=meta, arrays=dict(self.arrays), parts={"tree": self.tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> PackedTree:
        """From the store."""
        tree, n_features = state.parts["tree"], state.meta["n_features"]
        transform, storage = state.meta["transform"], state.meta["storage"]
        if not isinstance(tree, LabelTree):
            raise StoreError("a PackedTree needs a part 'tree' that is a LabelTree")
        if not isinstance(n_features, int) or not 0 <= n_features < 2**31:
            raise StoreError(f"n_features must be a number from 0 to 2147483647; got {n_features!r}")
        for name, value, known in (("transform", transform, TRANSFORMS), ("storage", storage, STORAGES)):
            if value not in known:
                raise StoreError(f"{name} must be one of {', '.join(known)}; got {value!r}")
        return cls(tree, state.arrays, n_features, transform=transform, storage=storage)
