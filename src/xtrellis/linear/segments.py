"""`Segment`: the finished weights of a run of nodes, as a few long arrays instead of thousands of short ones.

A level is one segment, or several if it is wide: what is packed, laid on disk and resumed. Where segments are cut
depends on the tree alone, and no weight depends on where they are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import StoreError
from ..index import LabelTree
from ..types import Array, Float32, Int32, UInt8, UInt32

MAX_BLOCK = 256  # a child's place in its block is one byte
MAX_SEGMENT = 1 << 13  # classifiers: small enough to spill and to lose, large enough to be few

# One trained block as the kernel returns it: features, starts, children, weights, biases, epochs, converged.
TrainedBlock = tuple[Int32, UInt32, UInt8, Float32, Float32, Int32, UInt8]

OFFSETS = {"feature_offsets": "features", "entry_offsets": "entry_children"}  # and what they count
CONTENT = {"features": 0, "starts": 1, "entry_children": 2, "values": 3, "biases": 4}  # and their place in a block
DTYPES = {"features": "i4", "starts": "u4", "entry_children": "u1", "values": "f4", "biases": "f4"}


def check_weights(arrays: Mapping[str, Array], n_blocks: int, n_slots: int) -> None:
    """What kernels rely on: O(blocks), so that opening a model reads next to nothing of it."""
    expected: dict[str, Any] = {
        "feature_offsets": np.int64, "entry_offsets": np.int64, "features": np.int32, "starts": np.uint32,
        "entry_children": np.uint8, "values": np.float32, "biases": np.float32,
    }  # fmt: skip
    for name, dtype in expected.items():
        array = arrays.get(name)
        if array is None or array.dtype != dtype or array.ndim != 1:
            raise StoreError(f"weights need an array {name!r} of {np.dtype(dtype)} with one dimension")
    for name, filled in OFFSETS.items():
        offsets = arrays[name]
        if len(offsets) != n_blocks + 1 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise StoreError(f"{name} must rise from 0 and have {n_blocks + 1} entries")
        if offsets[-1] != len(arrays[filled]):
            raise StoreError(f"{name} must end at {len(arrays[filled])}, the length of {filled}")
    for name, like in (("starts", "features"), ("values", "entry_children")):
        if len(arrays[name]) != len(arrays[like]):
            raise StoreError(f"{name} must be as long as {like}")
    if len(arrays["biases"]) != n_slots:
        raise StoreError(f"biases must have {n_slots} entries, one a slot of the tree")


class Room:
    """Where joined arrays go: into memory."""

    def make(self, name: str, length: int) -> Array:
        """An array to fill."""
        return np.empty(length, DTYPES[name])

    def settle(self, array: Array) -> None:
        """It is filled."""


IN_MEMORY = Room()


@dataclass(frozen=True)
class Segment:
    """The weights of nodes first .. last: arrays as in a `PackedTree`, offsets from 0."""

    first: int
    last: int
    arrays: dict[str, Array]

    @classmethod
    def pack(cls, first: int, last: int, blocks: list[list[Any]]) -> Segment:
        """Join trained blocks, given in the order of the nodes. Empties the blocks, so that they take no room twice."""
        arrays: dict[str, Array] = {}
        for name, content in OFFSETS.items():
            arrays[name] = np.cumsum([0, *(len(block[CONTENT[content]]) for block in blocks)], dtype=np.int64)
        for name, place in CONTENT.items():
            pieces = [block[place][: -1 if name == "starts" else None] for block in blocks]
            arrays[name] = np.concatenate(pieces) if pieces else IN_MEMORY.make(name, 0)
            for block in blocks:
                block[place] = None
        return cls(first, last, arrays)

    @classmethod
    def join(cls, segments: Sequence[Segment], room: Room = IN_MEMORY, *, consume: bool = False) -> Segment:
        """Neighbours as one. With `consume` they are emptied on the way: one array at a time lies in memory twice."""
        arrays: dict[str, Array] = {}
        for name in OFFSETS:
            shift = np.cumsum([0, *(int(s.arrays[name][-1]) for s in segments)])
            arrays[name] = np.concatenate(
                [[0], *(s.arrays[name][1:] + start for s, start in zip(segments, shift, strict=False))]
            ).astype(np.int64)
        for name in CONTENT:
            whole = room.make(name, sum(len(s.arrays[name]) for s in segments))
            at = 0
            for segment in segments:
                piece = segment.arrays.pop(name) if consume else segment.arrays[name]
                whole[at : at + len(piece)] = piece
                at += len(piece)
            room.settle(whole)
            arrays[name] = whole
        return cls(segments[0].first, segments[-1].last, arrays)

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())


def cuts(tree: LabelTree, largest: int = MAX_SEGMENT) -> list[list[tuple[int, int]]]:
    """For each level, the runs of nodes (first, last) that are segments: at most `largest` classifiers, or one node."""
    out: list[list[tuple[int, int]]] = []
    for level in tree.levels():
        first, end = int(level[0]), int(level[-1]) + 1
        runs = []
        while first < end:
            last = int(np.searchsorted(tree.offsets, tree.offsets[first] + largest, side="right")) - 1
            last = min(max(last, first + 1), end)
            runs.append((first, last))
            first = last
        out.append(runs)
    return out
