"""Training a tree's classifiers: rows go to nodes, every block of a node is one independent task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import progress
from .._native import linear as native
from ..index import LabelTree
from ..parallel import run
from ..rng import key
from ..types import Csr, Float32, Int32, Int64, UInt8, UInt32
from .packed import MAX_BLOCK

# A block as the solver returns it: in plain form, then biases, epochs and whether each group of classifiers converged.
TrainedBlock = tuple[Int32, UInt32, UInt8, Float32, Float32, Int32, UInt8]

LOSSES = {"squared-hinge": 0, "logistic": 1}


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
class Routes:
    """Which rows each node is trained on, and which of its children they belong to."""

    node_offsets: Int64  # rows of node v: rows[node_offsets[v] : node_offsets[v + 1]]
    rows: Int32
    positive_offsets: Int64  # aligned with rows
    positives: Int32  # children, numbered within their node

    @classmethod
    def by_labels(cls, Y: Csr, tree: LabelTree) -> Routes:
        """Teacher forcing: a row visits exactly the nodes above its labels (all rows visit the root)."""
        label_offsets, label_slots = tree.label_slots
        return cls(
            *native.route(Y.indptr, Y.indices, tree.offsets, tree.owner, tree.node_slot, label_offsets, label_slots)
        )


@dataclass(frozen=True)
class Task:
    """Some children of a node."""

    node: int
    first: int
    count: int
    work: int  # grows with the time it takes


def tasks_of(tree: LabelTree, routes: Routes) -> list[Task]:
    """Every block of every node, in the order of the nodes."""
    sizes, rows = np.diff(tree.offsets), np.diff(routes.node_offsets)
    out = []
    for node in range(tree.n_nodes):
        for first in range(0, int(sizes[node]), MAX_BLOCK):
            count = min(MAX_BLOCK, int(sizes[node]) - first)
            out.append(Task(node, first, count, int(rows[node]) * count))
    return out


def train_blocks(
    X: Csr, tree: LabelTree, routes: Routes, settings: SolverSettings, *, seed: int, threads: int | None
) -> list[TrainedBlock]:
    """All blocks, in the order of `tasks_of`; the result does not depend on the number of threads."""
    tasks = tasks_of(tree, routes)

    def train(task: Task) -> TrainedBlock:
        begin, end = routes.node_offsets[task.node], routes.node_offsets[task.node + 1]
        return native.train(
            X.indptr, X.indices, X.data, X.shape[1],
            routes.rows[begin:end], routes.positive_offsets[begin : end + 1], routes.positives,
            first=task.first, count=task.count, bias=settings.bias, loss=LOSSES[settings.loss],
            cost_positive=settings.cost_positive, cost_negative=settings.cost_negative,
            tolerance=settings.tolerance, epochs=settings.epochs,
            threshold=settings.prune, max_weights=settings.max_weights, key=key(seed, "node", task.node),
        )  # fmt: skip

    with progress.step("training classifiers", total=tree.n_slots, unit="classifiers") as advance:
        return run(train, tasks, threads=threads, size=lambda task: task.work, done=lambda i: advance(tasks[i].count))
