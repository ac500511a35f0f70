"""Learning on: new labels get a place in a trained tree, and classifiers whose rows have changed are trained again.

A new label sits in the clusters that most of its rows reach (`growth`); labels whose rows have changed move to the
cluster whose labels they are most like, and clusters that have become too large are divided (`moves`). A classifier is
trained again, on all rows that reach its node, when the rows that have its child, or those of its node, have become a
quarter more or fewer since it was trained (`STALE`; above the labels a tenth, `STALE_ABOVE`); where labels are new, or
were told to be learned, always. All others keep their weights to the bit. So a classifier is trained as often as its
rows have grown by a quarter, not as often as somebody brings a few: over many small updates the work is that of a few
trainings.

Classifiers are trained from nothing. To move them instead from the weights that they have to those nearby that fit the
new rows (min ½‖w − w₀‖² + C·loss on these, the bias held) was tried, and lost: see docs/living.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, Csr, Int64, assemble, take_rows
from ...core import StoreError, key
from ...data import TrainingData
from ...index import BalancedTree, LabelTree, leaf_nodes
from ...labels import LabelSpace, Narrow, narrowed
from ...store import IN_MEMORY, Checkpoint, content_hash
from ..blocks import MAX_BLOCK, block_offsets
from ..packed import PackedTree
from ..routes import Beams, Routes
from .growth import Growth
from .moves import Rehoused, best_homes, best_places, divided, rehoused, too_large
from .relearn import Relearner, Task

if TYPE_CHECKING:
    from ..model import LinearTree

STALE = 0.25  # by what share the rows of a label's classifier may change before it is trained again
STALE_ABOVE = 0.1  # and those of a classifier above the labels: few, and all that is below them goes by what they say
SLACK = 1.1  # times the size that a cluster should have: larger ones are divided. One label that comes divides none

Seen = Array  # int32 2 × slots: rows that had the child, and rows of its node, when its classifier was trained


@dataclass(frozen=True)
class Learned:
    """A tree that has learned on."""

    packed: PackedTree
    seen: Seen
    trained: int  # classifiers


def update_trees(
    model: LinearTree,
    data: TrainingData,
    fresh: Int64,
    again: Int64,
    seen: Sequence[Seen],
    checkpoint: Path | None = None,
) -> list[Learned]:
    """Each tree of a model, taught by `data`: all rows. `fresh` ones are new; labels of `again` are trained anyway."""
    narrow = narrowed(data.X)
    out = []
    with ExitStack() as stack:
        saved = None
        if checkpoint is not None:
            told = {"model": content_hash(model), "fresh": _hashed(fresh), "again": _hashed(again)}
            saved = stack.enter_context(Checkpoint(checkpoint, {**model.made_from(data), **told}))
        for i, before in enumerate(model.trees):
            packed = before.widened(data.n_features, model.threads)
            seed = key(model.seed, "tree", i) if i else model.seed
            scratch = IN_MEMORY if saved is None else saved.scratch(f"tree{i}.", mapped=False)
            learner = Relearner(model, packed, data, narrow, seed, scratch)
            out.append(_Work(model, packed, data, seed).run(fresh, again, seen[i] if seen else None, learner))
    return out


def _hashed(numbers: Int64) -> str:
    return hashlib.blake2b(np.ascontiguousarray(numbers, np.int64).tobytes(), digest_size=16).hexdigest()


def check_seen(arrays: dict[str, Array], sizes: Sequence[int]) -> tuple[Seen, ...]:
    """What a stored model says of its classifiers' rows; empty if it has never learned on."""
    if not arrays:
        return ()
    if set(arrays) != {f"seen{i}" for i in range(len(sizes))}:
        raise StoreError("a LinearTree holds one array 'seen' for each tree, or none")
    for i, size in enumerate(sizes):
        found = arrays[f"seen{i}"]
        if found.dtype != np.int32 or found.shape != (2, size) or (found.size and int(found.min()) < 0):
            raise StoreError(f"seen{i} must be int32, 2 × {size}, none below 0; got {found.dtype} {found.shape}")
    return tuple(arrays[f"seen{i}"] for i in range(len(sizes)))


class _Work:
    """One tree."""

    def __init__(self, model: LinearTree, packed: PackedTree, data: TrainingData, seed: int) -> None:
        self.model, self.packed, self.data, self.seed = model, packed, data, seed
        self.copies = 1 if model.overlap is None else model.overlap.copies

    def run(self, fresh: Int64, again: Int64, seen: Seen | None, learner: Relearner) -> Learned:
        model, old = self.model, self.packed.tree
        if seen is None:  # the first update since the training: all other rows were there
            before = np.setdiff1d(np.arange(self.data.n_rows), fresh)
            X, Y = take_rows(self.data.X, before), take_rows(self.data.Y, before)
            Y = _with_columns(Y, Y.indices < old.n_labels, old.n_labels)
            seen = np.concatenate([_counted(old, r, first) for first, r in self._routes(old, X, Y)], axis=1)
        growth = Growth(
            self.packed, self.data, model.solver(), model.negative_rows(), copies=self.copies, seed=self.seed,
            threads=model.threads,
        )  # fmt: skip
        tree, number = growth.tree()
        moved = self._moved(tree, self._restless(seen), learner.narrow, divide=len(fresh) > 0)
        tree, number, origin = moved.tree, moved.number[number], moved.origin
        then = np.zeros((2, tree.n_slots), np.int32)
        then[:, number[number >= 0]] = seen[:, number >= 0]
        tasks: list[Task] = []
        slot = 0
        for first, routes in self._routes(tree, self.data.X, self.data.Y):
            counted = _counted(tree, routes, first)
            span = slice(slot, slot + counted.shape[1])
            slot = span.stop
            stale = _stale(tree, then[:, span], counted, span.start, again)
            tasks += _tasks(tree, routes, span.start, stale)
            then[:, span.start + np.flatnonzero(stale)] = counted[:, stale]
        return Learned(learner.learned(tree, number, origin, tasks), then, sum(len(task.slots) for task in tasks))

    def _restless(self, seen: Seen) -> Int64:
        """Labels that may move: those that are trained again for their own rows, and new ones. None where the tree was
        not made by what labels look like."""
        model, old = self.model, self.packed.tree
        if model.negatives == "matcher" or not model.index.needs_vectors:
            return np.zeros(0, np.int64)
        had = np.zeros(self.data.n_labels, np.int64)
        offsets, slots = old.label_slots
        had[: old.n_labels] = np.maximum.reduceat(seen[0, slots], offsets[:-1])
        return np.flatnonzero(np.abs(self.data.label_counts - had) > STALE * had)

    def _moved(self, tree: LabelTree, restless: Int64, narrow: Narrow, *, divide: bool) -> Rehoused:
        """The tree with these labels where they are at home by now, and with clusters divided that are too large: when
        rows have come, not when labels alone were changed."""
        model, index = self.model, self.model.index
        space = LabelSpace(self.data, normalize_rows=model.normalize_label_rows, threads=model.threads, narrow=narrow)
        offsets, slots = tree.label_slots
        labels, nodes = np.repeat(np.arange(tree.n_labels), np.diff(offsets)), tree.owner[slots].astype(np.int64)
        if len(restless) and self.copies > 1:
            labels, nodes = best_places(tree, space.vectors, restless, (self.copies + 1) // 2)
        elif len(restless):
            nodes = leaf_nodes(tree)[best_homes(tree, space.vectors, restless)]
        second = None
        if divide and isinstance(index, BalancedTree) and model.negatives == "teacher":
            limit = math.ceil(SLACK * index.max_leaf * self.copies)
            large = too_large(tree, labels, nodes, limit, self.data.label_counts)
            if len(large):
                second = divided(index, space.vectors, labels, nodes, large, seed=self.seed, threads=model.threads)
        if not len(restless) and second is None:
            return Rehoused(tree, np.arange(tree.n_slots), np.arange(tree.n_nodes))
        return rehoused(tree, labels, nodes, second)

    def _routes(self, tree: LabelTree, X: Csr, Y: Csr) -> Iterator[tuple[int, Routes]]:
        """(first node, the rows of its nodes) of each level. Search leads rows by the classifiers as they were."""
        scheme = self.model.negatives
        reached = None if scheme == "teacher" else Beams.at_root(int(X.shape[0]))
        for level in tree.levels():
            first, last = int(level[0]), int(level[-1]) + 1
            yield first, Routes.of_nodes(Y, tree, first, last, teacher=scheme != "matcher", reached=reached)
            if reached is not None and last < tree.n_nodes:
                how = self.model.negative_rows()
                reached = reached.descend(
                    X, self.packed.tree, [self.packed.segment(first, last)],
                    transform=how.transform, storage=self.packed.storage, beam=how.beam, threads=self.model.threads,
                )  # fmt: skip


def _stale(tree: LabelTree, then: Seen, now: Seen, first: int, again: Int64) -> Array:
    """True for slots (from the number `first` on) whose classifiers are to be trained."""
    children = tree.children[first : first + now.shape[1]]
    moved = np.abs(now.astype(np.int64) - then) > np.where(children < 0, STALE, STALE_ABOVE) * then
    always = (then[1] == 0) & (now[1] > 0)
    if len(again):
        always |= np.isin(~children, again) & (children < 0)
    return np.asarray(moved.any(axis=0) | always)


def _tasks(tree: LabelTree, routes: Routes, begin: int, stale: Array) -> list[Task]:
    """Stale slots of a level, which begins at the slot `begin`, by their blocks."""
    slots = begin + np.flatnonzero(stale)
    node, child = tree.owner[slots].astype(np.int64), slots - tree.offsets[tree.owner[slots]]
    block = block_offsets(tree)[node] + child // MAX_BLOCK
    cut = np.flatnonzero(np.append(True, block[1:] != block[:-1])) if len(slots) else np.zeros(0, np.int64)
    ends = np.append(cut[1:], len(slots))[: len(cut)]
    return [
        Task(int(node[a]), int(block[a]), slots[a:b], child[a:b], routes)
        for a, b in zip(cut.tolist(), ends.tolist(), strict=True)
    ]


def _with_columns(Y: Csr, some: Array, n_labels: int) -> Csr:
    """Some of the entries, in a matrix of so many columns."""
    offsets = np.concatenate([[0], np.cumsum(some)])[Y.indptr]
    return assemble(Y.data[some], Y.indices[some], offsets, (int(Y.shape[0]), n_labels))


def _counted(tree: LabelTree, routes: Routes, first: int) -> Seen:
    """2 × slots of a level: rows that have the child, rows of its node."""
    n_nodes = len(routes.node_offsets) - 1
    begin, sizes = int(tree.offsets[first]), np.diff(tree.offsets[first : first + n_nodes + 1])
    rows = np.diff(routes.node_offsets)
    base = np.repeat(tree.offsets[first : first + n_nodes] - begin, rows)
    slots = np.repeat(base, np.diff(routes.positive_offsets)) + routes.positives
    total = int(sizes.sum())
    return np.stack([np.bincount(slots, minlength=total), np.repeat(rows, sizes)]).astype(np.int32)
