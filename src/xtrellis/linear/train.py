"""Training a tree's classifiers: rows go to nodes, every block of a node is one independent task.

Nodes are worked on level by level, the largest of a segment first. Under teacher forcing levels overlap: while one
thread is busy with the root, others are already below it. With matcher-aware negatives a level's rows are known only
when the level above is trained, so levels wait for each other. A segment is packed as soon as its last block is done.
A wide node with many rows, often the root, would keep one thread long after the others: its blocks are trained in
parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array, Csr, Float32, Int64, Rows, take_rows
from ..core import current, each, progress, thread_count
from ..data import far_rows
from ..index import LabelTree
from ..labels import Narrow
from ..store import IN_MEMORY, Scratch, row_files
from .blocks import (
    EVERYTHING,
    INSIDE,
    MAX_BLOCK,
    Outside,
    cut_block,
    groups,
    join_block,
    key_bits,
    outside_for,
    pack_block,
    scratch_bytes,
)
from .convergence import Convergence
from .memory import give_back
from .remote import LOSSES, BlockOrder, Remote, Shared, Trained, solve
from .routes import Beams, Routes, Visitors
from .segments import Segment, check_weights, cuts

MANY = 4  # segments of a level from which on their rows are found by labels
CHUNK = 1 << 19  # rows that are looked at together
FREED = 32 << 20  # bytes that the allocator may keep of ended tasks

__all__ = ["LOSSES", "Negatives", "SolverSettings", "Trainer"]


@dataclass(frozen=True)
class SolverSettings:
    """What the native solver needs to know."""

    loss: str
    cost_positive: float
    cost_negative: float
    tolerance: float
    epochs: int
    bias: float
    prune: float
    max_weights: int  # 0: no limit


@dataclass(frozen=True)
class Negatives:
    """Which rows a node is trained on: `teacher`, `matcher` or `both`; the rest is how the matcher searches."""

    scheme: str
    beam: int
    transform: str


@dataclass(eq=False)
class SegmentWork:
    """A segment under way."""

    first: int
    last: int
    level: int
    routes: Routes | None
    blocks: list[list[Any]] = field(default_factory=list)
    parts: dict[int, dict[int, list[Array]]] = field(default_factory=dict)  # of blocks not yet whole, by place
    missing: int = 0  # blocks
    size: int = 0  # of all its tasks


@dataclass(frozen=True, eq=False)
class BlockTask:
    """Some children of a node."""

    work: SegmentWork
    place: int  # of the block in its segment
    node: int
    first: int
    count: int
    size: int  # grows with the time it takes
    room: int  # bytes it needs while it runs
    part: int = 0  # of so many that the block is trained in
    parts: int = 1
    outside: Outside = INSIDE  # where it is trained elsewhere: what of it lies in files there

    def less(self) -> list[BlockTask]:
        """What gives the same in less memory: parts, and of a part one that has its rows in files."""
        cut = groups(self.first, self.count) if self.parts == 1 else []
        if len(cut) > 1:
            return [
                replace(self, first=at, count=some, size=self.size * some // self.count, part=i, parts=len(cut))
                for i, (at, some) in enumerate(cut)
            ]
        return [] if self.outside == EVERYTHING else [replace(self, outside=EVERYTHING)]


class Trainer:
    """Trains one tree. What it gives does not depend on threads, on `room`, or on what the scratch already held."""

    def __init__(
        self,
        X: Csr,
        Y: Csr,
        tree: LabelTree,
        settings: SolverSettings,
        negatives: Negatives,
        *,
        storage: str,
        seed: int,
        threads: int | None = None,
        room: float = math.inf,
        outside: Outside = INSIDE,
        read_files: bool = False,
        narrow: Narrow | None = None,
        scratch: Scratch = IN_MEMORY,
        convergence: Convergence | None = None,
        row_weights: Float32 | None = None,
    ) -> None:
        self.X, self.Y, self.tree, self.settings, self.negatives = X, Y, tree, settings, negatives
        self.storage, self.seed, self.threads, self.room, self.scratch = storage, seed, threads, room, scratch
        self._narrow = narrow or Narrow(X, None)  # what classifiers are trained on; search looks at X itself
        self._row_weights = np.zeros(0, np.float32) if row_weights is None else row_weights
        self._bits = key_bits(int(X.shape[1]))
        self._outside = outside
        self._files = row_files(self._narrow.X) if read_files else None  # of rows that are read, not mapped
        self.levels = cuts(tree)
        self._finished: dict[int, Segment] = {}
        self._only_nodes = False
        self._freed = 0  # bytes that ended tasks had, since the last were given back
        self.convergence = Convergence() if convergence is None else convergence

    def on_rows(self, rows: Int64) -> Trainer:
        """One for the same tree that is taught by some of the rows only."""
        X = take_rows(self.X, rows)
        narrow = Narrow(X if self._narrow.X is self.X else take_rows(self._narrow.X, rows), self._narrow.columns)
        return Trainer(
            X, take_rows(self.Y, rows), self.tree, self.settings, self.negatives,
            storage=self.storage, seed=self.seed, threads=self.threads, room=self.room,
            outside=self._outside, read_files=self._files is not None, narrow=narrow,
            row_weights=self._row_weights[rows] if len(self._row_weights) else None,
            scratch=self.scratch, convergence=self.convergence,
        )  # fmt: skip

    def train(self, known: Sequence[Segment] = ()) -> list[Segment]:
        """All segments, in the order of the nodes; `known` ones are taken as they are."""
        self._finished = {segment.first: segment for segment in known}
        return self._levels(len(self.levels))

    def train_matcher(self) -> list[Segment]:
        """The segments of all levels but the last, with classifiers for nodes only: enough to lead rows to clusters."""
        self._only_nodes = True
        return self._levels(len(self.levels) - 1)

    def _levels(self, count: int) -> list[Segment]:
        every = range(count)
        total = int(self.tree.offsets[self.levels[count - 1][-1][1]]) if count else 0
        with progress.step("training classifiers", total=total, unit="classifiers") as advance:
            if self.negatives.scheme == "teacher":
                self._run(every, None, advance)
            else:
                reached = Beams.at_root(int(self.X.shape[0]))
                for level in every:
                    self._run([level], reached, advance)
                    if level + 1 < count:
                        reached = self._descend(reached, level)
        return [self._finished[first] for runs in self.levels[:count] for first, _ in runs]

    def _descend(self, reached: Beams, level: int) -> Beams:
        trained = [self._finished[first] for first, _ in self.levels[level]]
        how = self.negatives
        return reached.descend(
            self.X, self.tree, trained,
            transform=how.transform, storage=self.storage, beam=how.beam, threads=self.threads,
        )  # fmt: skip

    def _run(self, levels: Sequence[int], reached: Beams | None, advance: progress.Advance) -> None:
        def done(task: BlockTask, trained: Trained) -> None:
            block, epochs, converged = trained
            self.convergence.add(epochs, converged, first=task.first == 0)
            self._keep(task, block)
            self._freed += task.room
            if math.isfinite(self.room) and self._freed > FREED:
                give_back()
                self._freed = 0
            advance(task.count)

        engine = current()
        if engine is not None and engine.far:
            Remote(self, engine, self._shared(far=True)).run(self._tasks(levels, reached, advance), done)
            return
        each(
            self._train, self._tasks(levels, reached, advance), done,
            threads=self.threads, room=lambda task: task.room, limit=self.room,
        )  # fmt: skip

    def _tasks(self, levels: Sequence[int], reached: Beams | None, advance: progress.Advance) -> Iterator[BlockTask]:
        """Drawn one by one: a segment's rows are routed only when its first task is about to begin."""
        visitors = None
        by_labels = reached is None and math.isinf(self.room)  # it takes memory of its own
        for level in levels:
            many = by_labels and len(self.levels[level]) >= MANY
            if many:
                visitors = visitors or Visitors(self.Y, self.tree)
                visitors.begin_level(self.levels[level][0][0], self.levels[level][-1][1])
            for first, last in self.levels[level]:
                if first in self._finished:
                    advance(int(self.tree.offsets[last] - self.tree.offsets[first]))
                    continue
                stored = self.scratch.get(_name(first, last))
                if stored is not None:
                    self._check(first, last, stored)
                    self._finished[first] = Segment(first, last, stored)
                    advance(int(self.tree.offsets[last] - self.tree.offsets[first]))
                    continue
                if many and visitors is not None:
                    routes = visitors.routes(first, last)
                else:
                    routes = Routes.of_nodes(
                        self.Y, self.tree, first, last, teacher=self.negatives.scheme != "matcher", reached=reached
                    )
                work = SegmentWork(first, last, level, routes)
                tasks = self._blocks(work, routes)
                work.size = sum(task.size for task in tasks)
                yield from sorted(tasks, key=lambda task: -task.size)

    def _check(self, first: int, last: int, stored: dict[str, Array]) -> None:
        """What comes from a disk is looked at before kernels trust it."""
        sizes = np.diff(self.tree.offsets[first : last + 1])
        n_blocks = int((-(-sizes // MAX_BLOCK)).sum())
        check_weights(stored, n_blocks, int(sizes.sum()), self._bits, padding=0)

    def _blocks(self, work: SegmentWork, routes: Routes) -> list[BlockTask]:
        """Every block of every node of a segment, in the order of the nodes."""
        sizes = np.diff(self.tree.offsets[work.first : work.last + 1]).tolist()
        rows = np.diff(routes.node_offsets)
        engine = current()
        far = engine if engine is not None and engine.far else None
        threads = far.workers if far is not None else thread_count(self.threads)
        there = math.inf if far is None else far.room
        most, needed, outside = int(self._narrow.X.shape[1]), [0] * len(sizes), [INSIDE] * len(sizes)
        if math.isfinite(self.room) or math.isfinite(there):
            nodes = list(zip(rows.tolist(), self._nonzeros(routes).tolist(), sizes, strict=True))
            needed = [int(scratch_bytes(n, entries, most, size, outside=self._outside)) for n, entries, size in nodes]
            outside = [outside_for(n, entries, most, size, there) for n, entries, size in nodes]
        tasks: list[BlockTask] = []
        for i, (size, n_rows) in enumerate(zip(sizes, rows.tolist(), strict=True)):
            alone = size <= threads * MAX_BLOCK  # the node's blocks would leave threads without work
            for first in range(0, size, MAX_BLOCK):
                count = min(MAX_BLOCK, size - first)
                parts = cut_block(first, count, n_rows, alone=threads > 1 and alone)
                node, place, wanted = work.first + i, work.missing, needed[i]
                tasks += (
                    BlockTask(work, place, node, at, some, n_rows * some, wanted, part, len(parts), outside[i])
                    for part, (at, some) in enumerate(parts)
                )
                work.missing += 1
        work.blocks = [[] for _ in range(work.missing)]
        return tasks

    def _nonzeros(self, routes: Routes) -> Int64:
        """Of the rows of each node; some rows at a time, since there may be more of them than memory."""
        offsets, indptr = routes.node_offsets, self.X.indptr
        out = np.zeros(len(offsets) - 1, np.int64)
        for first in range(0, len(routes.rows), CHUNK):
            rows = routes.rows[first : first + CHUNK]
            upto = np.concatenate([[0], np.cumsum(indptr[rows + 1] - indptr[rows])])
            out += np.diff(upto[np.clip(offsets - first, 0, len(rows))])
        return out

    def order(self, task: BlockTask) -> BlockOrder:
        """What a task is to do, in plain numbers."""
        routes = task.work.routes
        if routes is None:
            raise RuntimeError("a task must not begin after its segment has ended")
        begin, end = routes.span(task.node)
        if self._only_nodes and not self._leads_on(task):
            end = begin  # no rows: classifiers without weights
        return BlockOrder(task.node, begin, end, task.first, task.count, task.parts > 1, task.outside)

    def _train(self, task: BlockTask) -> Trained:
        """The packed block (of a part: plain); of each classifier, how many epochs it took and if it was solved."""
        order, routes = self.order(task), task.work.routes
        if routes is None:
            raise RuntimeError("a task must not begin after its segment has ended")
        return solve(self._shared(far=False), (routes.rows, routes.positive_offsets, routes.positives), order)

    def _shared(self, *, far: bool) -> Shared:
        """What all blocks need; far away the rows may be read from where they lie."""
        X = self._narrow.X
        rows = far_rows(X) if far else Rows(X.data, X.indices, X.indptr, (int(X.shape[0]), int(X.shape[1])))
        files = None if far else self._files
        return Shared(
            rows, self._narrow.columns, self._row_weights, self.settings, self.storage, self._bits, self.seed, files
        )

    def _joined(self, parts: list[list[Array]]) -> list[Array]:
        """A block from its parts; all but the last have as many children as the first."""
        plain = [(features, starts, children, weights) for features, starts, children, weights, _ in parts]
        whole = join_block(plain, len(parts[0][-1]))
        return [*pack_block(whole, self.storage, self._bits), np.concatenate([biases for *_, biases in parts])]

    def _leads_on(self, task: BlockTask) -> bool:
        slot = int(self.tree.offsets[task.node]) + task.first
        return bool((self.tree.children[slot : slot + task.count] >= 0).any())

    def _keep(self, task: BlockTask, block: list[Array]) -> None:
        work = task.work
        if task.parts > 1:
            there = work.parts.setdefault(task.place, {})
            there[task.part] = block
            if len(there) < task.parts:
                return
            block = self._joined([there[i] for i in range(task.parts)])
            del work.parts[task.place]
        work.blocks[task.place] = block
        work.missing -= 1
        if work.missing:
            return
        work.routes = None  # a segment's rows and blocks go as soon as nobody needs them
        segment = Segment.of_blocks(work.first, work.last, work.blocks)
        work.blocks = []
        kept = self.scratch.put(_name(work.first, work.last), segment.arrays)
        self._finished[work.first] = Segment(work.first, work.last, kept)
        if math.isfinite(self.room):
            del segment
            give_back()
        if work.last == self.levels[work.level][-1][1]:
            progress.note(f"trained level {work.level + 1} of {len(self.levels)}")


def _name(first: int, last: int) -> str:
    return f"nodes{first}to{last}"
