"""A *block*: the classifiers of up to 256 children of one node, by feature; how it is cut for training and packed.

The solver works on groups of up to 32 children, whatever is beside them, and a group's random order depends only on the
number of its first child. So a wide block of a node with many rows can be cut at multiples of 32, its parts trained on
several threads and joined again, and is the same to the last bit. A node of so many rows that a group would keep one
worker for hours, the root of a hundred million rows, has groups of 4 wherever it is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._native import search as native
from ..arrays import Array, Float32, Int32, Int64, UInt8, UInt32, ranges
from ..index import LabelTree

MAX_BLOCK = 256  # children; a child's place in its block is one byte
GROUP = 32  # children; native/linear/train.cpp solves so many at once
LARGE = 1 << 20  # rows × children from which a block is worth the second copy of its rows
HUGE = 1 << 30  # rows × children from which on groups are small, though four of 4 take 1.7 times the work of one of 16
SMALL_GROUP = 4
SPILLED = 1 << 20  # bytes of an array from which on it may lie in a file
STORAGES: dict[str, int] = {"float32": 0, "float16": 1, "int8": 2}

# A block in plain form: features ascending, where each one's entries begin (and one end), children, weights.
PlainBlock = tuple[Int32, UInt32, UInt8, Float32]


def key_bits(n_features: int) -> int:
    """Bits of a scattered feature id."""
    return max(1, (n_features - 1).bit_length())


def block_offsets(tree: LabelTree) -> Int64:
    """Where the blocks of each node begin: a node has one for every 256 children."""
    counts = (np.diff(tree.offsets) + MAX_BLOCK - 1) // MAX_BLOCK
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def pack_block(block: PlainBlock, storage: str, bits: int, scale: float = 0.0) -> list[Array]:
    """The content of a packed block, all but the biases; `scale` is what a block of one byte a weight had before."""
    buckets, content, scale = native.pack(*block, storage=STORAGES[storage], bits=bits, scale=scale)
    return [buckets, content, np.array([scale], np.float32)]


def cut_block(first: int, count: int, n_rows: int, *, alone: bool = True) -> list[tuple[int, int]]:
    """The parts that a block is trained in, as (first child, how many); one, if it is small, or if there is enough to
    do beside it (it is not `alone`). Those of a huge one are groups of their own."""
    if n_rows * count >= HUGE:
        return groups(first, count, SMALL_GROUP)
    return groups(first, count) if alone and n_rows * count >= LARGE else [(first, count)]


def groups(first: int, count: int, width: int = GROUP) -> list[tuple[int, int]]:
    """Children that are solved together, as (first child, how many)."""
    return [(at, min(width, first + count - at)) for at in range(first, first + count, width)]


def join_block(parts: Sequence[PlainBlock], width: int = GROUP) -> PlainBlock:
    """The block, by feature again; a feature's children stay ascending, since the parts are, of `width` each."""
    kept = np.unique(np.concatenate([features for features, *_ in parts]))
    places = [np.searchsorted(kept, features) for features, *_ in parts]
    counts = np.zeros(len(kept), np.int64)
    for place, (_, starts, _, _) in zip(places, parts, strict=True):
        counts[place] += np.diff(starts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    children, weights = np.empty(starts[-1], np.uint8), np.empty(starts[-1], np.float32)
    # Part by part: a sort of all entries would take several times their memory.
    following = starts[:-1].copy()
    for i, (place, (_, begins, its_children, its_weights)) in enumerate(zip(places, parts, strict=True)):
        lengths = np.diff(begins).astype(np.int64)
        at = ranges(following[place], lengths)
        children[at], weights[at] = its_children + np.uint8(width * i), its_weights
        following[place] += lengths
    return kept, starts.astype(np.uint32), children, weights


class Outside(NamedTuple):
    """Bytes from which on arrays of a node lie in files (0: they do not): its rows, and what the solver knows of each
    row, which is looked at here and there and slow in a file. Of rows that do, so many bytes stay in memory."""

    rows: int = 0
    known: int = 0
    kept: int = 0


INSIDE = Outside()
EVERYTHING = Outside(SPILLED, SPILLED)


def scratch_bytes(rows: float, nonzeros: float, width: float, children: float, *, outside: Outside = INSIDE) -> float:
    """Bytes that training one block takes while it runs, by its rows, their non-zeros, the features they may have and
    its children: a copy of the rows (8 a non-zero), and a lane of weights a feature and of dual variables a row for
    each child of a group. The weights that are kept come on top; what lies in files does not count."""
    lanes = 4 * next((lanes for lanes in (4, 8, 16) if children <= lanes), GROUP)
    copied = 8 * nonzeros if not outside.rows or 4 * nonzeros < outside.rows else min(8 * nonzeros, outside.kept)
    known = (lanes * rows, 32 * rows, *2 * (8 * rows,), *4 * (4 * rows,))
    copied += sum(size for size in known if not outside.known or size < outside.known)
    return copied + (lanes + 24) * min(nonzeros, width)


def outside_for(rows: float, nonzeros: float, width: float, children: float, room: float) -> Outside:
    """The quickest way to train a block in so many bytes; the last one, if none is small enough."""
    ways = (INSIDE, Outside(SPILLED, kept=int(min(room, 8 * nonzeros)) // 2), EVERYTHING)
    return next((how for how in ways if scratch_bytes(rows, nonzeros, width, children, outside=how) <= room), ways[-1])
