"""Training a `SoftmaxNetwork`: which row visits which label when, and the team of threads that takes the steps.

The kernel (native/softmax/train.hpp) shares dimensions, not rows, between threads; all that is random is drawn here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from queue import Empty, SimpleQueue

import numpy as np

from .._native import softmax as native
from ..arrays import Csr, Float32, Int32, Int64, ranges
from ..core import TrainingError, generator, key, progress, run, thread_count
from ..index import LabelTree
from .network import WEIGHTINGS, SoftmaxNetwork, unit_offsets

PIECE = 4e8  # multiply-adds that are done between two looks at progress and Ctrl-C
SMALL = 2e7  # a training of fewer is not worth a second thread
PATIENCE = 60  # seconds that threads of a team wait for each other to begin


@dataclass(frozen=True)
class Descent:
    """How to train."""

    dim: int
    epochs: int
    learning_rate: float
    targets: str
    weighting: str
    bias: float
    batch_size: int
    seed: int
    asynchronous: bool = False  # threads share rows and write without waiting: other results every time


def visits_a_pass(Y: Csr, targets: str) -> int:
    """Pairs of a row and a label that are learned in one pass."""
    return int(np.count_nonzero(np.diff(Y.indptr))) if targets == "one" else int(Y.nnz)


def enough_epochs(Y: Csr, targets: str) -> int:
    """10 on data of any size; where rows are few, as many as make 50,000 visits, and 100 at most."""
    return min(100, max(10, math.ceil(50_000 / max(1, visits_a_pass(Y, targets)))))


def train(X: Csr, Y: Csr, tree: LabelTree, how: Descent, *, threads: int | None = None) -> SoftmaxNetwork:
    """A trained network. The same for any number of threads, unless `how` is asynchronous."""
    begins = unit_offsets(tree)
    n_visits = visits_a_pass(Y, how.targets)
    work = _work(X, Y, tree, n_visits) * how.dim
    members = thread_count(threads)
    if not how.asynchronous:
        members = min(members, native.shards(how.dim)) if work * how.epochs > SMALL else 1
    trainer = native.Trainer(
        X.indptr, X.indices, X.data, int(X.shape[1]),
        tree.offsets, tree.children, tree.owner, tree.node_slot, begins,
        units=int(begins[-1]), dim=how.dim, members=members, batch=how.batch_size, asynchronous=how.asynchronous,
        weighing=WEIGHTINGS[how.weighting], bias=how.bias, key=key(how.seed, "embeddings"),
    )  # fmt: skip
    pieces = max(1, round(work / PIECE))
    steps = max(1, how.epochs * n_visits)
    with progress.step("training", total=how.epochs * n_visits, unit="visits") as advance:
        for epoch, (rows, slots) in enumerate(visits(Y, tree, how)):
            for begin, end in pairwise([len(rows) * i // pieces for i in range(pieces + 1)]):
                first, last = (how.learning_rate * (1 - (epoch * n_visits + at) / steps) for at in (begin, end))
                _together(partial(_piece, trainer, rows[begin:end], slots[begin:end], first, last), members)
                advance(end - begin)
    embeddings = np.empty((int(X.shape[1]) + 1, how.dim), np.float32)
    units = np.empty((int(begins[-1]), how.dim), np.float32)
    trainer.collect(embeddings, units)
    if not (_finite(embeddings) and _finite(units)):
        raise TrainingError(
            f"with learning_rate={how.learning_rate} training went astray: vectors are not finite; use a lower one"
        )
    return SoftmaxNetwork(tree, embeddings, units, weighting=how.weighting, bias=how.bias)


def _piece(trainer: native.Trainer, rows: Int32, slots: Int32, first: float, last: float, member: int) -> None:
    trainer.run(member, rows, slots, first, last)


def _together(work: Callable[[int], None], members: int) -> None:
    """`work(m)` for all members at once, or for none: in the kernel they wait for each other. After Ctrl-C between the
    beginnings of two of them, the first shall not wait for one that never comes."""
    came, go, over = count(1), SimpleQueue[None](), False

    def member(m: int) -> None:
        if next(came) == members:
            go.put(None)
        limit = time.monotonic() + PATIENCE
        while not over:
            try:
                go.get(timeout=0.1)
            except Empty:
                if time.monotonic() < limit:
                    continue
                raise RuntimeError("training threads did not start together") from None
            go.put(None)  # for the next one
            return work(m)

    try:
        run(member, range(members), threads=members)
    except BaseException:
        over = True
        raise


def visits(Y: Csr, tree: LabelTree, how: Descent) -> Iterator[tuple[Int32, Int32]]:
    """For each epoch, rows in a random order and the slot that each should reach.

    With all targets, the labels of a row follow each other. A label in several places is sought in one of them.
    """
    counts: Int64 = np.diff(Y.indptr)
    labelled = np.flatnonzero(counts)
    label_offsets, label_slots = tree.label_slots
    places: Int64 = np.diff(label_offsets)
    for epoch in range(how.epochs):
        random = generator(how.seed, "epoch", epoch)
        rows = random.permutation(labelled)
        if how.targets == "one":
            at = Y.indptr[rows] + (random.random(len(rows)) * counts[rows]).astype(np.int64)
        else:
            sizes = counts[rows]
            at = ranges(Y.indptr[rows], sizes)
            rows = np.repeat(rows, sizes)
        labels = Y.indices[at]
        place = label_offsets[labels]
        if tree.has_copies:
            place = place + (random.random(len(labels)) * places[labels]).astype(np.int64)
        yield rows.astype(np.int32), label_slots[place]


def _work(X: Csr, Y: Csr, tree: LabelTree, n_visits: int) -> float:
    """Vectors that an epoch reads, roughly: each row's features and, for every visit, the units on a path."""
    arity = np.diff(tree.offsets)
    on_path = float(arity[tree.owner[tree.children < 0]].mean()) + float(tree.label_depths.mean())
    return 2.0 * int(X.nnz) + 3.0 * n_visits * on_path


def _finite(vectors: Float32) -> bool:
    return bool(np.isfinite(vectors.sum(axis=0, dtype=np.float64)).all())
