"""`Segment`: the finished weights of a run of nodes, as a few long arrays instead of thousands of short ones.

A level is one segment, or several if it is wide: what is joined, laid on disk and resumed. Where segments are cut
depends on the tree alone, and no weight depends on where they are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, join_parts
from ..core import StoreError
from ..index import LabelTree
from ..store import IN_MEMORY, Scratch

MAX_SEGMENT = 1 << 13  # classifiers: small enough to spill and to lose, large enough to be few
KEY_BITS = 16  # of a feature's key within its bucket, at most
PADDING = 16  # unused bytes at the end of a model's weights: keys and counts are read so many bytes at a time

DTYPES: Mapping[str, Any] = {
    "bucket_offsets": np.int64,  # blocks + 1
    "byte_offsets": np.int64,  # blocks + 1
    "buckets": np.uint32,
    "bytes": np.uint8,
    "scales": np.float32,  # one a block
    "biases": np.float32,  # one per slot
}
OFFSETS = {"bucket_offsets": "buckets", "byte_offsets": "bytes"}  # and what they count
CONTENT = ("buckets", "bytes", "scales", "biases")  # of one block, in this order


def check_weights(arrays: Mapping[str, Array], n_blocks: int, n_slots: int, bits: int, *, padding: int) -> None:
    """What kernels rely on: O(blocks), so that opening a model reads next to nothing of it."""
    for name, dtype in DTYPES.items():
        array = arrays.get(name)
        if array is None or array.dtype != dtype or array.ndim != 1:
            raise StoreError(f"weights need an array {name!r} of {np.dtype(dtype)} with one dimension")
    for name, length in (("bucket_offsets", len(arrays["buckets"])), ("byte_offsets", len(arrays["bytes"]) - padding)):
        offsets = arrays[name]
        if len(offsets) != n_blocks + 1 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise StoreError(f"{name} must rise from 0 and have {n_blocks + 1} entries")
        if offsets[-1] != length:
            raise StoreError(f"{name} must end at {length}; got {offsets[-1]}")
    buckets = np.diff(arrays["bucket_offsets"]) - 1
    fewest = 1 << max(0, bits - KEY_BITS)
    if ((buckets < fewest) | (buckets > 1 << bits) | (buckets & (buckets - 1) != 0)).any():
        raise StoreError(f"every block must have a power of two of buckets, at least {fewest}")
    if (np.diff(arrays["byte_offsets"]) >= 2**32).any():
        raise StoreError("a block must be smaller than 4 GiB")
    for name, length in (("scales", n_blocks), ("biases", n_slots)):
        if len(arrays[name]) != length:
            raise StoreError(f"{name} must have {length} entries")


@dataclass(frozen=True)
class Segment:
    """The weights of nodes first .. last: arrays as in a `PackedTree`, offsets from 0, without padding."""

    first: int
    last: int
    arrays: dict[str, Array]

    @classmethod
    def of_blocks(cls, first: int, last: int, blocks: list[list[Any]]) -> Segment:
        """From the content of each block, in the order of the nodes. Empties them, array by array."""
        arrays: dict[str, Array] = {}
        for name, content in OFFSETS.items():
            place = CONTENT.index(content)
            arrays[name] = np.cumsum([0, *(len(block[place]) for block in blocks)], dtype=np.int64)
        for place, name in enumerate(CONTENT):
            arrays[name] = np.concatenate([block[place] for block in blocks])
            for block in blocks:
                block[place] = None
        return cls(first, last, arrays)

    @classmethod
    def join(cls, segments: Sequence[Segment], scratch: Scratch = IN_MEMORY, *, consume: bool = False) -> Segment:
        """Neighbours as one, padded for search. With `consume` they are emptied on the way, array by array."""
        arrays: dict[str, Array] = {}
        for name in OFFSETS:
            (arrays[name],) = join_parts([(segment.arrays[name],) for segment in segments])
        for name in CONTENT:
            length = sum(len(s.arrays[name]) for s in segments)
            whole = scratch.empty(length + PADDING if name == "bytes" else length, DTYPES[name])
            whole[length:] = 0
            at = 0
            for segment in segments:
                # On disk, neither what was read nor what is written stays in memory longer than a segment.
                piece = segment.arrays.pop(name) if consume else segment.arrays[name]
                whole[at : at + len(piece)] = piece
                at += len(piece)
                scratch.settle(whole)
            arrays[name] = whole
        return cls(segments[0].first, segments[-1].last, arrays)


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
