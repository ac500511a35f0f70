"""What training a linear tree will take, before it begins: memory, size of the model, classifiers, visits.

Counted where counting is cheap, sampled where it is not, and calibrated on real data where nothing else helps: after
pruning at 0.1 a label keeps about as many weights as its rows have different features, somewhat fewer for rare labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..arrays import Float64, n_bytes_of
from ..core import size_text, thread_count
from ..data import TrainingData
from ..index import Index, Overlap
from ..labels import FeatureCurve, LabelSpace, label_feature_count
from ..model import Estimate
from .blocks import MAX_BLOCK, scratch_bytes
from .segments import MAX_SEGMENT

KEPT = 0.6  # weights a classifier keeps, as a share of the features of its positive rows
USED = 0.6  # features a node keeps weights for, as a share of those that so many random rows would have
TOGETHER = 0.5  # alike labels share nodes: how much of the scatter of a random tree is left
PACKING = 1.5  # while arrays are joined, the largest of them is there twice
ENTRY = {"float32": 5, "float16": 3, "int8": 2}  # bytes of a weight with its child
FEATURE = 3.5  # bytes of a feature in a block, its share of a bucket included


@dataclass(frozen=True, kw_only=True)
class LinearEstimate(Estimate):
    """`model_bytes` is what is usual, `model_bytes_at_most` what no pruning would give."""

    model_bytes_at_most: int
    placing_bytes: int  # label vectors, while the tree is built
    routes_bytes: int
    scratch_bytes: int  # nodes that are worked on at once
    largest_scratch_bytes: int  # the largest of them
    segment_bytes: int  # weights that are in memory even if finished ones go to disk
    weights_bytes: int  # weights while they wait and are packed

    @property
    def least_bytes(self) -> int:
        """The most that is in use at once if nodes wait for each other and finished weights go to disk."""
        training = self.routes_bytes + self.largest_scratch_bytes + self.segment_bytes
        return self.matrices_bytes + max(self.placing_bytes, training)

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
    labels_a_row, nonzeros_a_row = copies * np.diff(Y.indptr), X.nnz / max(1, n_rows)
    curve = FeatureCurve(X)
    label_features = label_feature_count(X, Y)
    kept_share = KEPT * (0.1 / habits.prune) ** 0.7 if habits.prune else math.inf

    visits, weights, weights_at_most, features = 0.0, 0.0, 0.0, 0.0
    scratch: list[tuple[float, int]] = []  # bytes of a node's block, how many of that size
    widest_level = 0.0
    slots_below = sum(level.labels for level in levels)
    n_slots = max(1, slots_below)  # places of labels: more than labels if some have copies
    for level in levels:
        share = slots_below / n_slots  # of the labels, here or further down
        slots_below -= level.labels
        here = _visits(labels_a_row * share, level.nodes, habits) if level is not levels[0] else float(n_rows)
        rows = here / level.nodes
        width = curve.distinct(rows * nonzeros_a_row)
        children = level.children / level.nodes
        below = _visits(labels_a_row * (slots_below / n_slots), level.inner, None) / max(1, level.inner)
        cap = min(width, habits.max_weights or math.inf)
        kept = min(cap, kept_share * curve.distinct(below * nonzeros_a_row)) * level.inner  # by clusters of labels
        kept += min(cap, kept_share * label_features / n_labels) * level.labels
        visits += here
        weights += kept
        weights_at_most += cap * level.children
        features += min(USED * width * level.nodes, kept) * max(1.0, children / MAX_BLOCK)
        blocks = max(1, math.ceil(children / MAX_BLOCK))
        entries = 24 * kept / level.children * min(children, MAX_BLOCK)  # collected before they are sorted by feature
        scratch.append((float(scratch_bytes(rows, rows * nonzeros_a_row, width)) + entries, level.nodes * blocks))
        widest_level = max(widest_level, here)

    entry = ENTRY[habits.storage]
    one_model = weights * entry + features * FEATURE
    at_most = weights_at_most * entry + features / USED * FEATURE
    waiting = sum(level.nodes for level in levels) * 1500  # small arrays as objects
    n_classifiers = sum(level.children for level in levels)
    segment = one_model * min(1.0, 2 * MAX_SEGMENT / n_classifiers)  # one begins before the last has ended
    threads = thread_count(habits.threads)
    beams = 16 * n_rows * habits.negative_beam if habits.negatives != "teacher" else 0
    if habits.overlap is not None:  # clusters held by rows, gathered over levels and sorted; labels × rows
        beams = max(beams, 64 * n_rows * habits.overlap.beam + 8 * int(Y.nnz))
    placing = int(_placing(data, label_features)) if habits.index.needs_vectors else 0
    routes = int(40 * widest_level + beams)
    scratched = int(_largest(scratch, threads) + 4 * n_features * threads)
    waiting_weights = int((habits.n_trees - 1 + PACKING) * one_model + waiting)
    return LinearEstimate(
        rows=n_rows,
        features=n_features,
        labels=n_labels,
        classifiers=n_classifiers * habits.n_trees,
        visits=int(visits) * habits.n_trees,
        matrices_bytes=n_bytes_of(X, Y, data.label_features),
        training_bytes=max(placing, routes + scratched + waiting_weights),
        model_bytes=int(one_model) * habits.n_trees,
        model_bytes_at_most=int(max(at_most, one_model)) * habits.n_trees,
        placing_bytes=placing,
        routes_bytes=routes,
        scratch_bytes=scratched,
        largest_scratch_bytes=int(max(size for size, _ in scratch) + 4 * n_features * threads),
        segment_bytes=int(PACKING * segment + waiting),
        weights_bytes=waiting_weights,
    )


def _visits(labels_a_row: Float64, n_nodes: int, habits: Habits | None) -> float:
    """Rows × nodes of a level: between one node a row (all its labels together) and what chance would scatter.

    `labels_a_row` counts the labels that are below the level, which need not be whole: of a part they are expected.
    """
    if not n_nodes:
        return 0.0
    labelled = float(np.minimum(labels_a_row, 1).sum())
    scattered = float((n_nodes * -np.expm1(labels_a_row * np.log1p(-1 / n_nodes))).sum()) if n_nodes > 1 else labelled
    teacher = labelled + TOGETHER * max(0.0, scattered - labelled)
    if habits is None or habits.negatives == "teacher":
        return teacher
    matcher = float(len(labels_a_row) * min(habits.negative_beam, n_nodes))
    return matcher if habits.negatives == "matcher" else min(teacher / 4 + matcher, len(labels_a_row) * n_nodes)


def _placing(data: TrainingData, label_features: float) -> float:
    """Labels × rows, and the labels' vectors, which are there twice while their parts are joined.

    Features of the labels' own are set beside them, and both are scaled: up to three of the whole.
    """
    vectors = 2 * 8 * label_features
    if data.label_features is not None:
        vectors = 3 * 8 * (label_features + int(data.label_features.nnz))
    return 24 * int(data.Y.nnz) + 16 * data.n_labels + vectors


def _largest(sizes: list[tuple[float, int]], count: int) -> float:
    """Sum of the `count` largest."""
    total = 0.0
    for size, there in sorted(sizes, reverse=True):
        taken = min(count, there)
        total += taken * size
        count -= taken
    return total
