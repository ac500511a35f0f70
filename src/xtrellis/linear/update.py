"""Learning on: new labels get a place in a trained tree, and classifiers whose rows have changed are trained again.

A new label sits in the clusters that most of its rows reach. A classifier is trained again, on all rows that reach its
node, when the rows that have its child, or those of its node, have become a quarter more or fewer since it was trained
(`STALE`); where labels are new, or were told to be learned, always. All others keep their weights to the bit. So a
classifier is trained as often as its rows have grown by a quarter, not as often as somebody brings a few: over many
small updates the work is that of a few trainings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native import linear as native
from .._native import search as native_search
from ..arrays import Array, Csr, Int32, Int64, assemble, ranges, take_rows
from ..core import StoreError, each, key, progress
from ..data import TrainingData
from ..index import LabelTree, leaf_nodes
from ..labels import Narrow, narrowed
from .blocks import MAX_BLOCK, STORAGES, PlainBlock, block_offsets
from .overlap import match
from .packed import PackedTree, ranks_by_frequency
from .routes import Beams, Routes
from .segments import DTYPES, Segment, cuts
from .train import LOSSES, Trainer

if TYPE_CHECKING:
    from .model import LinearTree

STALE = 0.25  # by what share a classifier's rows may change before it is trained again
ROOM = 1.5  # times the mean size that clusters may grow to, as with overlap
BEAM = 10  # clusters that a row is led to, when it is asked where a new label belongs

Seen = Array  # int32 2 × slots: rows that had the child, and rows of its node, when its classifier was trained


@dataclass(frozen=True)
class Learned:
    """A tree that has learned on."""

    packed: PackedTree
    seen: Seen
    trained: int  # classifiers


def update_trees(
    model: LinearTree, data: TrainingData, fresh: Int64, again: Int64, seen: Sequence[Seen]
) -> list[Learned]:
    """Each tree of a model, taught by `data`: all rows. `fresh` ones are new; labels of `again` are trained anyway."""
    narrow = narrowed(data.X)
    out = []
    for i, packed in enumerate(model.trees):
        seed = key(model.seed, "tree", i) if i else model.seed
        work = _Work(model, packed, data, narrow, seed)
        out.append(work.run(fresh, again, seen[i] if seen else None))
    return out


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

    def __init__(self, model: LinearTree, packed: PackedTree, data: TrainingData, narrow: Narrow, seed: int) -> None:
        self.model, self.packed, self.data, self.narrow, self.seed = model, packed, data, narrow, seed

    def run(self, fresh: Int64, again: Int64, seen: Seen | None) -> Learned:
        old = self.packed.tree
        if seen is None:  # the first update since the training: all other rows were there
            before = np.setdiff1d(np.arange(self.data.n_rows), fresh)
            X, Y = take_rows(self.data.X, before), take_rows(self.data.Y, before)
            some = Y.indices < old.n_labels
            Y = _with_columns(Y, some, old.n_labels)
            seen = np.concatenate([_counted(old, r, first) for first, r in self._routes(old, X, Y)], axis=1)
        tree, number = self._grown(fresh, again)
        then = np.zeros((2, tree.n_slots), np.int32)
        then[:, number] = seen
        now = np.empty_like(then)
        tasks: list[_Task] = []
        slot = 0
        for first, routes in self._routes(tree, self.data.X, self.data.Y):
            counted = _counted(tree, routes, first)
            span = slice(slot, slot + counted.shape[1])
            now[:, span], slot = counted, span.stop
            tasks += self._tasks(tree, routes, first, self._stale(tree, then[:, span], counted, span.start, again))
        trained = np.concatenate([task.slots for task in tasks]) if tasks else np.zeros(0, np.int64)
        then[:, trained] = now[:, trained]
        return Learned(self._packed(tree, number, tasks), then, len(trained))

    # ── where new labels sit ────────────────────────────────────────────────────────────────────────────────────────

    def _grown(self, fresh: Int64, again: Int64) -> tuple[LabelTree, Int64]:
        """The tree with places for new labels, and the new number of each old slot."""
        old, Y = self.packed.tree, self.data.Y
        n_new = int(Y.shape[1]) - old.n_labels
        if n_new == 0:
            return old, np.arange(old.n_slots)
        leaves = leaf_nodes(old)
        labels, clusters = self._places(leaves, n_new)
        added = np.bincount(leaves[clusters], minlength=old.n_nodes)
        offsets = old.offsets + np.concatenate([[0], np.cumsum(added)])
        number = np.arange(old.n_slots) + (offsets[:-1] - old.offsets[:-1])[old.owner]
        children = np.empty(int(offsets[-1]), np.int32)
        children[number] = old.children
        order = np.lexsort((labels, leaves[clusters]))
        nodes = np.flatnonzero(added)
        at = ranges(offsets[nodes + 1] - added[nodes], added[nodes])
        children[at] = ~labels[order]
        return LabelTree(offsets, children, int(Y.shape[1])), number

    def _places(self, leaves: Int64, n_new: int) -> tuple[Int64, Int64]:
        """Pairs (new label, cluster): the clusters that most of its rows reach and that have room."""
        old, model = self.packed.tree, self.model
        Y, first = self.data.Y, old.n_labels
        copies = 1 if model.overlap is None else model.overlap.copies
        rows = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(Y.indices >= first)])[Y.indptr]))
        X, Y = take_rows(self.data.X, rows), take_rows(Y, rows)
        guide = Trainer(
            X, Y, old, model.solver(), model.negative_rows(),
            storage=self.packed.storage, seed=self.seed, threads=model.threads,
        )  # fmt: skip
        levels = cuts(old)
        matcher = [_segment(self.packed, *run) for level in levels[:-1] for run in level]
        found = match(guide, matcher, X, BEAM)
        label = Y.indices.astype(np.int64) - first
        kept = label >= 0
        of_row, label = np.repeat(np.arange(len(rows)), np.diff(Y.indptr))[kept], label[kept]
        counts = np.diff(found.offsets)[of_row]
        at = ranges(found.offsets[of_row], counts)
        pairs = np.repeat(label, counts) * len(leaves) + found.clusters[at]
        pairs, place = np.unique(pairs, return_inverse=True)
        votes = np.bincount(place, found.weights[at].astype(np.float64), minlength=len(pairs))
        label, cluster = pairs // len(leaves), pairs % len(leaves)
        sizes = np.bincount(np.searchsorted(leaves, old.owner[old.label_slots[1]]), minlength=len(leaves))
        usual = (int(sizes.sum()) + copies * n_new) / len(leaves)
        room = np.maximum(int(np.ceil(ROOM * usual)), int(sizes.max())) - sizes
        order = np.lexsort((cluster, -votes, label))
        begins = np.searchsorted(label[order], np.arange(n_new + 1))
        chosen: list[tuple[int, int]] = []
        frequent = np.argsort(-np.bincount(Y.indices, minlength=first + n_new)[first:], kind="stable")
        for one in frequent.tolist():  # frequent labels choose first: most rows go with them
            wishes = cluster[order[begins[one] : begins[one + 1]]]
            given = wishes[room[wishes] > 0][:copies]
            if not len(given):
                given = np.array([int(np.argmax(room))])
            room[given] -= 1
            chosen += [(one, int(c)) for c in given]
        given_pairs: Int64 = np.array(chosen, np.int64).reshape(-1, 2)
        return given_pairs[:, 0] + first, given_pairs[:, 1]

    # ── which classifiers are trained ───────────────────────────────────────────────────────────────────────────────

    def _routes(self, tree: LabelTree, X: Csr, Y: Csr) -> Any:
        """(first node, the rows of its nodes) of each level. Search leads rows by the classifiers as they were."""
        scheme = self.model.negatives
        reached = None if scheme == "teacher" else Beams.at_root(int(X.shape[0]))
        for level in tree.levels():
            first, last = int(level[0]), int(level[-1]) + 1
            yield first, Routes.of_nodes(Y, tree, first, last, teacher=scheme != "matcher", reached=reached)
            if reached is not None and last < tree.n_nodes:
                how = self.model.negative_rows()
                reached = reached.descend(
                    X, self.packed.tree, [_segment(self.packed, first, last)],
                    transform=how.transform, storage=self.packed.storage, beam=how.beam, threads=self.model.threads,
                )  # fmt: skip

    @staticmethod
    def _stale(tree: LabelTree, then: Seen, now: Seen, first: int, again: Int64) -> Array:
        """True for slots (from the number `first` on) whose classifiers are to be trained."""
        children = tree.children[first : first + now.shape[1]]
        moved = np.abs(now.astype(np.int64) - then) > STALE * then
        always = (then[1] == 0) & (now[1] > 0)
        if len(again):
            always |= np.isin(~children, again) & (children < 0)
        return np.asarray(moved.any(axis=0) | always)

    def _tasks(self, tree: LabelTree, routes: Routes, first: int, stale: Array) -> list[_Task]:
        begin = int(tree.offsets[first])
        slots = begin + np.flatnonzero(stale)
        node, child = tree.owner[slots].astype(np.int64), slots - tree.offsets[tree.owner[slots]]
        block = block_offsets(tree)[node] + child // MAX_BLOCK
        cut = np.flatnonzero(np.append(True, block[1:] != block[:-1])) if len(slots) else np.zeros(0, np.int64)
        ends = np.append(cut[1:], len(slots))[: len(cut)]
        return [
            _Task(int(node[a]), int(block[a]), slots[a:b], child[a:b], routes)
            for a, b in zip(cut.tolist(), ends.tolist(), strict=True)
        ]

    # ── training and packing ────────────────────────────────────────────────────────────────────────────────────────

    def _packed(self, tree: LabelTree, number: Int64, tasks: Sequence[_Task]) -> PackedTree:
        """The new weights among those that stay; a block in which nothing changed keeps its bytes."""
        packed = self.packed
        blocks, old_blocks = block_offsets(tree), packed.blocks
        owner = np.repeat(np.arange(tree.n_nodes), np.diff(blocks))
        before = old_blocks[owner] + np.arange(len(owner)) - blocks[owner]
        before[before >= old_blocks[owner + 1]] = -1  # a node's new block, which it did not need before
        biases = np.zeros(tree.n_slots, np.float32)
        biases[number] = packed.arrays["biases"]
        made: dict[int, list[Array]] = {}
        total = sum(len(task.slots) for task in tasks)
        with progress.step("training classifiers", total=total, unit="classifiers") as advance:

            def done(task: _Task, trained: tuple[list[Array], Array]) -> None:
                made[task.block], biases[task.slots] = trained
                advance(len(task.slots))

            ordered = sorted(tasks, key=lambda task: -task.size)
            each(lambda task: self._train(task, int(before[task.block])), ordered, done, threads=self.model.threads)
        content = {name: packed.arrays[name] for name in ("buckets", "bytes", "scales")}
        contents = [made[b] if b in made else _block(packed, int(before[b]), content) for b in range(len(owner))]
        for i, block in enumerate(contents):
            block.append(biases if i == 0 else biases[:0])
        segments = [Segment.of_blocks(0, tree.n_nodes, contents)]
        return PackedTree.join(
            tree, segments, packed.n_features, transform=packed.transform, storage=packed.storage, merge=packed.merge,
            label_ranks=ranks_by_frequency(self.data.label_counts),
        )  # fmt: skip

    def _train(self, task: _Task, before: int) -> tuple[list[Array], Array]:
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
        new = self.narrow.named(features), starts, places[children], values
        packed = self.packed
        scale = float(packed.arrays["scales"][before]) if before >= 0 and packed.storage == "int8" else 0.0
        block = new if before < 0 else _replaced(packed.block(before), places, new)
        buckets, content, scale = native_search.pack(
            *block, storage=STORAGES[packed.storage], bits=packed.bits, scale=scale
        )
        return [buckets, content, np.array([scale], np.float32)], biases


@dataclass(frozen=True, eq=False)
class _Task:
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


def _with_columns(Y: Csr, some: Array, n_labels: int) -> Csr:
    """Some of the entries, in a matrix of so many columns."""
    offsets = np.concatenate([[0], np.cumsum(some)])[Y.indptr]
    return assemble(Y.data[some], Y.indices[some], offsets, (int(Y.shape[0]), n_labels))


def _counted(tree: LabelTree, routes: Routes, first: int) -> Seen:
    """2 × slots of a level: rows that have the child, rows of its node."""
    n_nodes = len(routes.node_offsets) - 1
    begin, sizes = int(tree.offsets[first]), np.diff(tree.offsets[first : first + n_nodes + 1])
    rows = np.diff(routes.node_offsets)
    of_row = np.repeat(np.arange(n_nodes), rows)
    of_positive = np.repeat(of_row, np.diff(routes.positive_offsets))
    slots = tree.offsets[first + of_positive] - begin + routes.positives
    total = int(sizes.sum())
    return np.stack([np.bincount(slots, minlength=total), np.repeat(rows, sizes)]).astype(np.int32)


def _segment(packed: PackedTree, first: int, last: int) -> Segment:
    """The weights of some nodes, as they were when they were trained."""
    a, b = int(packed.blocks[first]), int(packed.blocks[last])
    slots = slice(int(packed.tree.offsets[first]), int(packed.tree.offsets[last]))
    arrays, out = packed.arrays, {}
    for name, content in (("bucket_offsets", "buckets"), ("byte_offsets", "bytes")):
        offsets = arrays[name][a : b + 1]
        out[name], out[content] = offsets - offsets[0], arrays[content][offsets[0] : offsets[-1]]
    out["scales"], out["biases"] = arrays["scales"][a:b], arrays["biases"][slots]
    return Segment(first, last, {name: out[name] for name in DTYPES})


def _block(packed: PackedTree, number: int, content: dict[str, Array]) -> list[Array]:
    """The content of a block as it is."""
    buckets = slice(*packed.arrays["bucket_offsets"][number : number + 2].tolist())
    inside = slice(*packed.arrays["byte_offsets"][number : number + 2].tolist())
    return [content["buckets"][buckets], content["bytes"][inside], content["scales"][number : number + 1]]


def _replaced(block: PlainBlock, children: Array, new: PlainBlock) -> PlainBlock:
    """A block in which some children have other weights."""
    features, starts, places, weights = block
    gone = np.zeros(MAX_BLOCK, bool)
    gone[children] = True
    stay = ~gone[places]
    feature = np.concatenate([np.repeat(features, np.diff(starts))[stay], np.repeat(new[0], np.diff(new[1]))])
    place, value = np.concatenate([places[stay], new[2]]), np.concatenate([weights[stay], new[3]])
    order = np.lexsort((place, feature))
    feature = feature[order]
    kept = np.flatnonzero(np.append(True, feature[1:] != feature[:-1])) if len(feature) else np.zeros(0, np.int64)
    ends = np.append(kept, len(feature)).astype(np.uint32)
    return feature[kept].astype(np.int32), ends, place[order].astype(np.uint8), value[order].astype(np.float32)
