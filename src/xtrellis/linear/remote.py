"""Blocks trained by an engine that runs tasks elsewhere: what travels, and what comes back.

What all tasks of a tree need is shared once: the rows of X (or where their data folder is, of which a task reads just
the rows that reach its nodes) and the solver's settings. What the nodes of a segment need, the numbers of their rows,
is shared once a segment. A task names some blocks. Its answer depends on nothing else, so tasks may end in any order,
be lost and run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._native import linear as native
from ..arrays import Array, Float32, Int32, Int64, Rows, UInt8
from ..core import Engine, key
from ..data import FarRows, all_rows, near_rows, rows_in_files
from ..store import row_files
from .blocks import INSIDE, Outside, pack_block
from .memory import spilling

if TYPE_CHECKING:
    from .train import BlockTask, SegmentWork, SolverSettings, Trainer

LOSSES: dict[str, int] = {"squared-hinge": 0, "logistic": 1}
LEAST = 1 << 20  # rows × children that are worth a task
TASKS = 3  # a worker and segment, at most: the next segment's begin before the last of them ends

Trained = tuple[list[Array], Int32, UInt8]  # a block, the epochs of its classifiers, and which were solved


@dataclass(frozen=True)
class Shared:
    """What every block of a tree needs."""

    X: FarRows
    columns: Int32 | None  # what the features of X were called before they were renumbered
    row_weights: Float32
    settings: SolverSettings
    storage: str
    bits: int
    seed: int
    files: Int64 | None = None  # that rows are read from, if they shall not be looked at through mapped pages


@dataclass(frozen=True)
class BlockOrder:
    """A block, or a part of one: some children of a node; its rows are those from `begin` to `end` of the segment's."""

    node: int
    begin: int
    end: int
    first: int
    count: int
    is_part: bool
    outside: Outside = INSIDE  # what of it shall lie in files where it is trained


def solve(shared: Shared, routes: tuple[Int32, Int64, Int32], order: BlockOrder, X: Rows | None = None) -> Trained:
    """Train and pack a block; a part of one stays plain."""
    settings = shared.settings
    rows, offsets, positives = routes[0][order.begin : order.end], routes[1][order.begin : order.end + 1], routes[2]
    weights = shared.row_weights
    if X is None:
        X = all_rows(shared.X)
    if X is None:
        X = near_rows(shared.X, rows)
        weights = weights[rows] if len(weights) else weights
        rows = np.arange(len(rows), dtype=np.int32)
    features, starts, children, values, biases, epochs, converged = native.train(
        X.indptr, X.indices, X.data, X.shape[1], rows, offsets, positives, weights,
        first=order.first, count=order.count, bias=settings.bias, loss=LOSSES[settings.loss],
        cost_positive=settings.cost_positive, cost_negative=settings.cost_negative,
        tolerance=settings.tolerance, epochs=settings.epochs, threshold=settings.prune,
        max_weights=settings.max_weights, key=key(shared.seed, "node", order.node), files=shared.files,
    )  # fmt: skip
    if shared.columns is not None:
        features = shared.columns[features]
    if order.is_part:
        return [features, starts, children, values, biases], epochs, converged
    # Packed where it was trained: packing is spread like training, and the plain form goes at once.
    packed = pack_block((features, starts, children, values), shared.storage, shared.bits)
    return [*packed, biases], epochs, converged


def solve_all(shared: Shared, routes: tuple[Int32, Int64, Int32], orders: Sequence[BlockOrder]) -> Bundle:
    """A task."""
    X = all_rows(shared.X)
    return Bundle.of([
        solve_outside(shared, routes, order) if order.outside.rows else solve(shared, routes, order, X)
        for order in orders
    ])  # fmt: skip


def solve_outside(shared: Shared, routes: tuple[Int32, Int64, Int32], order: BlockOrder) -> Trained:
    """The same with less memory: the node's rows, and perhaps what the solver knows of each, lie in files meanwhile."""
    X = rows_in_files(shared.X)
    with spilling(order.outside):
        return solve(replace(shared, files=row_files(X)), routes, order, X)


class Bundle(NamedTuple):
    """Blocks on their way: to pack and unpack thousands of short arrays would take longer than the way."""

    shapes: list[tuple[int, list[tuple[str, int]]]]  # arrays of a block; of all that it has: type and length
    joined: dict[str, Array]  # by type, one behind the other

    @classmethod
    def of(cls, blocks: Sequence[Trained]) -> Bundle:
        arrays = [[*block, epochs, converged] for block, epochs, converged in blocks]
        by_type: dict[str, list[Array]] = {}
        for array in chain.from_iterable(arrays):
            by_type.setdefault(array.dtype.str, []).append(array)
        shapes = [(len(some) - 2, [(array.dtype.str, len(array)) for array in some]) for some in arrays]
        return cls(shapes, {name: np.concatenate(some) for name, some in by_type.items()})

    def blocks(self) -> Iterator[Trained]:
        """Parts of the joined arrays, not copies."""
        at = dict.fromkeys(self.joined, 0)
        for count, shape in self.shapes:
            found = []
            for name, length in shape:
                found.append(self.joined[name][at[name] : at[name] + length])
                at[name] += length
            yield found[:count], found[count], found[count + 1]


class Remote:
    """The tasks of one run of a `Trainer`, for an engine."""

    def __init__(self, trainer: Trainer, engine: Engine, shared: Shared) -> None:
        self._trainer, self._engine = trainer, engine
        self._shared = engine.share(shared)
        self._routes: dict[SegmentWork, Any] = {}

    def run(self, tasks: Iterator[BlockTask], done: Any) -> None:
        """`done(task, trained)` of every block."""

        def ended(some: tuple[BlockTask, ...], trained: Bundle) -> None:
            for task, block in zip(some, trained.blocks(), strict=True):
                done(task, block)
                if task.work.routes is None:
                    self._routes.pop(task.work, None)

        def split(some: tuple[BlockTask, ...]) -> list[tuple[tuple[BlockTask, ...], tuple[Any, ...]]]:
            half = len(some) // 2
            if half:
                return [self._task(some[:half]), self._task(some[half:])]
            return [self._task((task,)) for task in some[0].less()]

        self._engine.run(solve_all, self._grouped(tasks), ended, split=split)

    def _grouped(self, tasks: Iterator[BlockTask]) -> Iterator[tuple[tuple[BlockTask, ...], tuple[Any, ...]]]:
        """Blocks of a segment together, as long as they are little work."""
        some: list[BlockTask] = []
        size = 0
        for task in tasks:
            enough = max(LEAST, task.work.size // (TASKS * self._engine.workers))
            if some and (some[0].work is not task.work or size + task.size > enough):
                yield self._task(tuple(some))
                some, size = [], 0
            some.append(task)
            size += task.size
        if some:
            yield self._task(tuple(some))

    def _task(self, some: tuple[BlockTask, ...]) -> tuple[tuple[BlockTask, ...], tuple[Any, ...]]:
        work = some[0].work
        if work not in self._routes:
            routes = work.routes
            if routes is None:
                raise RuntimeError("a task must not begin after its segment has ended")
            self._routes[work] = self._engine.share((routes.rows, routes.positive_offsets, routes.positives))
        return some, (self._shared, self._routes[work], [self._trainer.order(task) for task in some])
