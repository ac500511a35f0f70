"""What training a linear tree will take, before it begins: memory, size of the model, classifiers, visits.

Counted where counting is cheap, sampled where it is not, and calibrated on real data where nothing else helps: after
pruning at 0.1 a label keeps about as many weights as its rows have different features, somewhat fewer for rare labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..arrays import Csr, Float64, Int64
from ..core import size_text, thread_count
from ..data import TrainingData
from ..index import Index, Overlap
from ..labels import SAMPLE_NONZEROS, FeatureCurve, LabelSpace, label_feature_count
from ..model import MANIFEST_BYTES, Estimate
from . import footprint
from .blocks import MAX_BLOCK, SPILLED, Outside, key_bits, scratch_bytes
from .segments import KEY_BITS, MAX_SEGMENT

KEPT = 0.6  # weights a classifier keeps, as a share of the features of its positive rows
USED = 0.6  # features a node keeps weights for, as a share of those that so many random rows would have
TOGETHER = 0.5  # alike labels share nodes: how much of the scatter of a random tree is left
PACKING = 1.5  # while arrays are joined, the largest of them is there twice
ENTRY = {"float32": 5, "float16": 3, "int8": 2}  # bytes of a weight with its child
SECONDS = 8e-9  # of one core for a feature of a row that visits a classifier; from 3e-9 to 15e-9 on real data
CHUNK = 1 << 20  # rows that are looked at together
FEATURE = 3.5  # bytes of a feature in a block, its share of a bucket included


@dataclass(frozen=True, kw_only=True)
class LinearEstimate(Estimate):
    """`model_bytes` is what is usual, `model_bytes_at_most` what no pruning would give."""

    model_bytes_at_most: int
    sampling_bytes: int  # to estimate all this
    fixed_bytes: int  # there while classifiers are trained: renumbered rows, arrays of each thread, trees
    placing_bytes: int  # label vectors, while the tree is built
    matching_bytes: int  # leading rows down the tree, placing labels in several clusters; no node is trained meanwhile
    routes_bytes: int
    entries_bytes: int  # weights of the nodes that are worked on at once, before they are sorted by feature
    scratch_bytes: int  # nodes that are worked on at once, with those weights
    largest_scratch_bytes: int  # the largest of them
    segment_bytes: int  # weights that are in memory even if finished ones go to disk
    weights_bytes: int  # weights while they wait and are packed
    outside_routes_bytes: int  # instead of `routes_bytes`, if the rows of large nodes lie in files
    outside_bytes: int  # the least, if label vectors and the rows of large nodes go to disk as well
    all_outside_bytes: int  # and if what the solver knows of each row goes there too

    @property
    def least_bytes(self) -> int:
        """The most that is in use at once if nodes wait for each other and finished weights go to disk."""
        training = self.routes_bytes + max(self.largest_scratch_bytes + self.segment_bytes, self.matching_bytes)
        return self.matrices_bytes + max(self.sampling_bytes, self.placing_bytes, self.fixed_bytes + training)

    def to_dict(self) -> dict[str, int]:
        return {**super().to_dict(), "least_bytes": self.least_bytes}

    def __str__(self) -> str:
        return f"{super().__str__()}, unpruned {size_text(self.model_bytes_at_most)} at most"


class Habits(Protocol):
    """What of a model's parameters matters for its size."""

    index: Index
    negatives: str
    negative_beam: int
    prune: float
    max_weights: int | None
    n_trees: int
    storage: str
    threads: int | None
    overlap: Overlap | None


def estimate(data: TrainingData, habits: Habits) -> LinearEstimate:
    """From the data and the shape that the index will give its tree."""
    X, Y, n_rows, n_features, n_labels = data.X, data.Y, data.n_rows, data.n_features, data.n_labels
    levels = habits.index.expected_levels(LabelSpace(data))
    copies = 1
    if habits.overlap is not None and len(levels) > 1:
        copies = min(habits.overlap.copies, max(1, sum(level.nodes for level in levels if level.labels)))
        levels = [replace(level, labels=level.labels * copies) for level in levels]
    # Each place of a label is a classifier, and leads the label's rows to one more cluster.
    labels_a_row, nonzeros_a_row = _LabelsARow.of(Y, copies), X.nnz / max(1, n_rows)
    curve = FeatureCurve(X)
    label_features = label_feature_count(X, Y)
    kept_share = KEPT * (0.1 / habits.prune) ** 0.7 if habits.prune else math.inf

    weights, weights_at_most, features = 0.0, 0.0, 0.0
    visits: list[float] = []  # of each level
    level_bytes: list[float] = []
    widths: list[float] = []
    scratch: list[tuple[float, int]] = []  # bytes of a node's block, how many of that size
    most_entries, n_blocks = 0.0, 0
    remaining = [0.0, 0.0]  # of the largest node, if its rows lie in files; if what is known of each row does too
    threads, entry = thread_count(habits.threads), ENTRY[habits.storage]
    slots_below = sum(level.labels for level in levels)
    n_slots = max(1, slots_below)  # places of labels: more than labels if some have copies
    work = 0.0
    for level in levels:
        share = slots_below / n_slots  # of the labels, here or further down
        slots_below -= level.labels
        here = _visits(labels_a_row.part(share), level.nodes, habits) if level is not levels[0] else float(n_rows)
        rows = here / level.nodes
        width = curve.distinct(rows * nonzeros_a_row)
        children = level.children / level.nodes
        below = _visits(labels_a_row.part(slots_below / n_slots), level.inner, None) / max(1, level.inner)
        cap = min(width, habits.max_weights or math.inf)
        kept = min(cap, kept_share * curve.distinct(below * nonzeros_a_row)) * level.inner  # by clusters of labels
        kept += min(cap, kept_share * label_features / n_labels) * level.labels
        used = min(USED * width * level.nodes, kept) * max(1.0, children / MAX_BLOCK)
        blocks = max(1, math.ceil(children / MAX_BLOCK))
        # Collected before they are sorted by feature; in parts, then joined.
        entries = 24 * kept / level.children * min(children, MAX_BLOCK)
        tasks = level.nodes * blocks * footprint.parts_of_block(children, rows, threads)
        own = float(scratch_bytes(rows, rows * nonzeros_a_row, width, children))
        scratch.append((own + entries, tasks))
        for i, outside in enumerate((Outside(SPILLED), Outside(SPILLED, SPILLED))):
            left = scratch_bytes(rows, rows * nonzeros_a_row, width, children, outside=outside)
            remaining[i] = max(remaining[i], left + entries)
        most_entries = max(most_entries, entries)
        n_blocks += level.nodes * blocks
        weights += kept
        weights_at_most += cap * level.children
        features += used
        work += here * children * nonzeros_a_row
        visits.append(here)
        widths.append(width)
        level_bytes.append(kept * entry + used * FEATURE)

    n_classifiers = sum(level.children for level in levels)
    buckets = n_blocks * (4 << max(0, key_bits(n_features) - KEY_BITS))  # the fewest that a block has
    one_model = weights * entry + features * FEATURE + buckets
    at_most = weights_at_most * entry + features / USED * FEATURE + buckets
    on_disk = footprint.beside_weights(n_classifiers, n_labels, n_blocks) + MANIFEST_BYTES
    waiting = sum(level.nodes for level in levels) * 1500  # small arrays as objects
    # One segment begins before the last has ended, and is joined from its blocks.
    a_segment = max(
        size * min(1.0, MAX_SEGMENT / level.children) for size, level in zip(level_bytes, levels, strict=True)
    )
    space = footprint.Space.of(X, curve.distinct(int(X.nnz)))
    maps = 4 * space.length * (threads if threads > 1 else 2)  # the calling thread keeps that of clustering
    fixed = space.narrow_bytes + maps + 40 * n_classifiers * habits.n_trees
    placing = placing_outside = 0.0
    if habits.index.needs_vectors:
        placing = space.narrow_bytes + footprint.placing(data, habits.index, label_features, space, threads)
        outside_too = footprint.placing_outside(data, habits.index, label_features, space, threads)
        placing_outside = min(placing, space.narrow_bytes + outside_too)
    routes = footprint.routing(levels, visits, n_slots)
    routes_outside = min(routes, footprint.LOOKED_AT + 4 * n_slots)
    beams = [habits.negative_beam] if habits.negatives != "teacher" else []
    matching = 0.0
    if habits.overlap is not None and len(levels) > 1:
        beams.append(habits.overlap.beam)
        clusters = sum(level.nodes for level in levels if level.labels)
        led = footprint.matching(levels, n_rows, habits.overlap.beam)
        placed = footprint.overlapping(data.label_counts, n_rows, clusters, habits.overlap.beam)
        copies_kept, copying = footprint.folded(data, min(habits.overlap.folds, n_rows))
        matching = sum(level_bytes[:-1]) + max(led, placed, copying)
        fixed += copies_kept
        fixed += footprint.folding(X, Y, habits.overlap.folds, space)
    for beam in beams:
        for level, size, width in zip(levels[:-1], level_bytes, widths, strict=False):
            led = footprint.descending(X, level, size, width, beam, threads)
            matching = max(matching, sum(level_bytes[:-1]) + led)
        held = 8 * n_rows * min(beam, max(level.nodes for level in levels))
        routes, routes_outside = routes + held, routes_outside + held
    sampling = 30 * min(int(X.nnz), 2 * SAMPLE_NONZEROS)
    scratched, largest = _largest(scratch, threads), max(size for size, _ in scratch)
    a_segment = int(min(3 * a_segment, PACKING * one_model) + waiting)
    outsides = [fixed + routes_outside + max(left + a_segment, matching) for left in remaining]
    waiting_weights = (habits.n_trees - 1 + PACKING) * one_model + waiting
    before = (habits.n_trees - 1) * one_model
    training = fixed + routes + max(scratched + waiting_weights, matching + before)
    return LinearEstimate(
        rows=n_rows,
        features=n_features,
        labels=n_labels,
        classifiers=n_classifiers * habits.n_trees,
        visits=int(sum(visits)) * habits.n_trees,
        seconds=max(1, round(work * SECONDS * habits.n_trees)),
        matrices_bytes=data.n_bytes,
        training_bytes=int(max(sampling, placing, training)),
        model_bytes=int(one_model + on_disk) * habits.n_trees,
        model_bytes_at_most=int(max(at_most, one_model) + on_disk) * habits.n_trees,
        sampling_bytes=sampling,
        fixed_bytes=int(fixed),
        placing_bytes=int(placing),
        matching_bytes=int(matching),
        routes_bytes=int(routes),
        entries_bytes=int(most_entries * threads),
        scratch_bytes=int(scratched),
        largest_scratch_bytes=int(largest),
        segment_bytes=a_segment,
        weights_bytes=int(waiting_weights),
        outside_routes_bytes=int(routes_outside),
        outside_bytes=data.n_bytes + int(max(sampling, placing_outside, outsides[0])),
        all_outside_bytes=data.n_bytes + int(max(sampling, placing_outside, outsides[1])),
    )


class _LabelsARow(NamedTuple):
    """How many rows have how many labels: few different numbers, however many rows there are."""

    labels: Float64
    rows: Int64

    @classmethod
    def of(cls, Y: Csr, copies: int) -> _LabelsARow:
        rows = np.zeros(0, np.int64)
        for first in range(0, int(Y.shape[0]), CHUNK):
            counts = np.bincount(np.diff(Y.indptr[first : first + CHUNK + 1]), minlength=len(rows))
            counts[: len(rows)] += rows
            rows = counts
        labels = np.flatnonzero(rows)
        return cls(copies * labels.astype(np.float64), rows[labels])

    def part(self, share: float) -> _LabelsARow:
        """Of each label so much."""
        return self._replace(labels=self.labels * share)

    def sum(self, of_row: Float64) -> float:
        """Over all rows."""
        return float((of_row * self.rows).sum())


def _visits(labels_a_row: _LabelsARow, n_nodes: int, habits: Habits | None) -> float:
    """Rows × nodes of a level: between one node a row (all its labels together) and what chance would scatter.

    `labels_a_row` counts the labels that are below the level, which need not be whole: of a part they are expected.
    """
    if not n_nodes:
        return 0.0
    labels, n_rows = labels_a_row.labels, int(labels_a_row.rows.sum())
    labelled = labels_a_row.sum(np.minimum(labels, 1))
    scattered = labels_a_row.sum(n_nodes * -np.expm1(labels * np.log1p(-1 / n_nodes))) if n_nodes > 1 else labelled
    teacher = labelled + TOGETHER * max(0.0, scattered - labelled)
    if habits is None or habits.negatives == "teacher":
        return teacher
    matcher = float(n_rows * min(habits.negative_beam, n_nodes))
    return matcher if habits.negatives == "matcher" else min(teacher / 4 + matcher, n_rows * n_nodes)


def _largest(sizes: list[tuple[float, int]], count: int) -> float:
    """Sum of the `count` largest."""
    total = 0.0
    for size, there in sorted(sizes, reverse=True):
        taken = min(count, there)
        total += taken * size
        count -= taken
    return total
