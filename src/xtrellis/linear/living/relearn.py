"""Some classifiers of a trained tree are trained again; everything else keeps its bytes.

New weights go into the plain form of their block beside the others, which is packed again; a block of one byte a weight
keeps its scale if the new weights fit, so that the others keep their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..._native import linear as native
from ...arrays import Array, Int32, Int64, UInt8
from ...core import each, key, progress
from ...data import TrainingData
from ...index import LabelTree
from ...labels import Narrow
from ...store import IN_MEMORY, Scratch
from ..blocks import MAX_BLOCK, PlainBlock, block_offsets, pack_block
from ..packed import PackedTree, ranks_by_frequency
from ..routes import Routes
from ..segments import Segment, check_weights
from ..train import LOSSES

if TYPE_CHECKING:
    from ..model import LinearTree

PIECES = 32  # that the work of an update is kept in, should it be stopped


@dataclass(frozen=True, eq=False)
class Task:
    """Some classifiers of one block."""

    node: int
    block: int
    slots: Int64
    children: Int64  # their numbers within the node
    routes: Routes

    @property
    def size(self) -> int:
        """Grows with the time that it takes."""
        begin, end = self.routes.span(self.node)
        return (end - begin) * len(self.slots)

    def positives(self) -> tuple[Int64, Int32]:
        """Which of the classifiers each row of the node is for: as the kernel wants it."""
        begin, end = self.routes.span(self.node)
        offsets = self.routes.positive_offsets[begin : end + 1]
        children = self.routes.positives[offsets[0] : offsets[-1]]
        place = np.searchsorted(self.children, children)
        mine = self.children[np.minimum(place, len(self.children) - 1)] == children
        upto = np.concatenate([[0], np.cumsum(mine)])
        return upto[offsets - offsets[0]], place[mine].astype(np.int32)


class Relearner:
    """One tree, and the rows that it learns from."""

    def __init__(
        self, model: LinearTree, packed: PackedTree, data: TrainingData, narrow: Narrow, seed: int, scratch: Scratch
    ) -> None:
        self.model, self.packed, self.data, self.narrow = model, packed, data, narrow
        self.seed, self.scratch = seed, scratch

    def learned(self, tree: LabelTree, number: Int64, origin: Int64, tasks: Sequence[Task]) -> PackedTree:
        """The new weights among those that stay; `number` is the new one of each old slot, `origin` the old one of each
        node."""
        packed = self.packed
        blocks, old_blocks = block_offsets(tree), packed.blocks
        owner = np.repeat(np.arange(tree.n_nodes), np.diff(blocks))
        was = origin[owner]
        before = old_blocks[was] + np.arange(len(owner)) - blocks[owner]
        before[(was < 0) | (before >= old_blocks[was + 1])] = -1  # a new node, or a block that it did not need before
        biases = np.zeros(tree.n_slots, np.float32)
        self.number, self.origin, self.offsets = number, origin, tree.offsets
        stays = np.flatnonzero(number >= 0)
        biases[number[stays]] = packed.arrays["biases"][stays]
        made: dict[int, list[Array]] = {}
        total = sum(len(task.slots) for task in tasks)
        with progress.step("training classifiers", total=total, unit="classifiers") as advance:

            def done(task: Task, trained: list[Array]) -> None:
                *made[task.block], biases[task.slots] = trained
                advance(len(task.slots))

            for piece in _pieces(tasks, self.scratch):
                self._piece(piece, before, done)
        arrays = packed.arrays
        content = {name: arrays[name] for name in ("buckets", "bytes", "scales")}  # looked up once
        contents = [made[b] if b in made else _block(arrays, int(before[b]), content) for b in range(len(owner))]
        for i, block in enumerate(contents):
            block.append(biases if i == 0 else biases[:0])
        segments = [Segment.of_blocks(0, tree.n_nodes, contents)]
        return PackedTree.join(
            tree, segments, packed.n_features, transform=packed.transform, storage=packed.storage, merge=packed.merge,
            label_ranks=ranks_by_frequency(self.data.label_counts),
        )  # fmt: skip

    def _piece(self, piece: _Piece, before: Int64, done: Callable[[Task, list[Array]], None]) -> None:
        """Some blocks: trained now, or found where a stopped update left them."""
        kept = self.scratch.get(piece.name)
        if kept is not None:
            ends = np.cumsum([0, *(len(task.slots) for task in piece.tasks)])
            check_weights(kept, len(piece.tasks), int(ends[-1]), self.packed.bits, padding=0)
            for i, task in enumerate(piece.tasks):
                done(task, [*_block(kept, i, kept), kept["biases"][ends[i] : ends[i + 1]]])
            return
        found: dict[int, list[Array]] = {}

        def end(task: Task, trained: list[Array]) -> None:
            found[task.block] = list(trained)
            done(task, trained)

        each(lambda task: self._train(task, int(before[task.block])), piece.tasks, end, threads=self.model.threads)
        if self.scratch is not IN_MEMORY:
            blocks = [found[task.block] for task in piece.tasks]
            self.scratch.put(piece.name, Segment.of_blocks(0, len(blocks), blocks).arrays)

    def _train(self, task: Task, before: int) -> list[Array]:
        """The packed block with its new classifiers, and their biases."""
        X, settings, routes = self.narrow.X, self.model.solver(), task.routes
        begin, end = routes.span(task.node)
        offsets, positives = task.positives()
        weights = self.data.sample_weight
        features, starts, children, values, biases, _, _ = native.train(
            X.indptr, X.indices, X.data, X.shape[1], routes.rows[begin:end], offsets, positives,
            np.zeros(0, np.float32) if weights is None else weights,
            first=0, count=len(task.slots), bias=settings.bias, loss=LOSSES[settings.loss],
            cost_positive=settings.cost_positive, cost_negative=settings.cost_negative, tolerance=settings.tolerance,
            epochs=settings.epochs, threshold=settings.prune, max_weights=settings.max_weights,
            key=key(self.seed, "node", task.node),
        )  # fmt: skip
        places = (task.children % MAX_BLOCK).astype(np.uint8)
        block = self.narrow.named(features), starts, places[children], values
        packed, scale = self.packed, 0.0
        if before >= 0:
            gone = np.zeros(MAX_BLOCK, np.uint8)
            gone[places] = 1
            block = native.revise(*self._renumbered(task, before, gone), *block, gone)
            scale = float(packed.arrays["scales"][before]) if packed.storage == "int8" else 0.0
        return [*pack_block(block, packed.storage, packed.bits, scale), biases]

    def _renumbered(self, task: Task, before: int, gone: UInt8) -> PlainBlock:
        """The block as it was, its children numbered as they are now; those that have left count as `gone`."""
        features, starts, children, weights = self.packed.block(before)
        old, first = self.packed.tree.offsets, MAX_BLOCK * int(task.children[0] // MAX_BLOCK)
        was = int(self.origin[task.node])
        now = self.number[old[was] + first : old[was + 1]][:MAX_BLOCK] - self.offsets[task.node] - first
        if (now == np.arange(len(now))).all():
            return features, starts, children, weights
        left = int(np.flatnonzero(gone)[0])
        return features, starts, np.where(now < 0, left, now).astype(np.uint8)[children], weights


@dataclass(frozen=True, eq=False)
class _Piece:
    name: str
    tasks: list[Task]


def _pieces(tasks: Sequence[Task], scratch: Scratch) -> list[_Piece]:
    """The largest first; in one piece, unless what is done is to be kept on the way."""
    ordered = sorted(tasks, key=lambda task: (-task.size, task.block))
    if not ordered:
        return []
    if scratch is IN_MEMORY:
        return [_Piece("all", ordered)]
    upto = np.cumsum([max(1, task.size) for task in ordered])
    number = (PIECES * (upto - 1)) // int(upto[-1])
    cut = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(ordered)]
    return [_Piece(f"nodes{a}to{b}", ordered[a:b]) for a, b in pairwise(cut)]


def _block(arrays: Mapping[str, Array], number: int, content: Mapping[str, Array]) -> list[Array]:
    """The content of a block as it is."""
    buckets = slice(*arrays["bucket_offsets"][number : number + 2].tolist())
    inside = slice(*arrays["byte_offsets"][number : number + 2].tolist())
    return [content["buckets"][buckets], content["bytes"][inside], content["scales"][number : number + 1]]
