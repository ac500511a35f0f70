"""What a training will take, before it begins: memory, size of the model, classifiers, visits.

Counted where counting is cheap, sampled where it is not, and calibrated on real data where nothing else helps: after
pruning at 0.1 a label keeps about as many weights as its rows have different features, somewhat fewer for rare labels.
The memory of the interpreter and of whatever else the process holds is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import size_text
from ..index import Index, Overlap
from ..labels import LabelSpace
from ..parallel import thread_count
from ..types import Csr, Int32, Int64
from .segments import MAX_BLOCK, MAX_SEGMENT
from .shape import expected_shape, needs_vectors
from .training import scratch_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

Float64 = NDArray[np.float64]
SAMPLE = 256  # labels looked at
SAMPLE_NONZEROS = 1_000_000
KEPT = 0.6  # weights a classifier keeps, as a share of the features of its positive rows
USED = 0.6  # features a node keeps weights for, as a share of those that so many random rows would have
TOGETHER = 0.5  # alike labels share nodes: how much of the scatter of a random tree is left
PACKING = 1.5  # while arrays are joined, the largest of them is there twice
ENTRY = {"float32": 5, "float16": 3, "int8": 2}  # bytes of a weight with its child
PAIR = 40  # bytes of a candidate of a row, while candidates are turned from rows to labels
FEATURE = 3.5  # bytes of a feature in a block, its share of a bucket included


@dataclass(frozen=True)
class Estimate:
    """Bytes and counts; `model_bytes` is what is usual, `model_bytes_at_most` what no pruning would give."""

    rows: int
    features: int
    labels: int
    classifiers: int
    visits: int  # rows × nodes they are trained at
    model_bytes: int
    model_bytes_at_most: int
    matrices_bytes: int  # X and Y themselves, and the labels' own features
    placing_bytes: int  # label vectors, while the tree is built
    routes_bytes: int
    scratch_bytes: int  # nodes that are worked on at once
    largest_scratch_bytes: int  # the largest of them
    segment_bytes: int  # weights that are in memory even if finished ones go to disk
    weights_bytes: int  # weights while they wait and are packed

    @property
    def peak_bytes(self) -> int:
        """The most that is in use at once."""
        training = self.routes_bytes + self.scratch_bytes + self.weights_bytes
        return self.matrices_bytes + max(self.placing_bytes, training)

    @property
    def least_bytes(self) -> int:
        """The same if nodes wait for each other and finished weights go to disk."""
        training = self.routes_bytes + self.largest_scratch_bytes + self.segment_bytes
        return self.matrices_bytes + max(self.placing_bytes, training)

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {**asdict(self), "peak_bytes": self.peak_bytes, "least_bytes": self.least_bytes}

    def render(self) -> RenderableType:
        """A few lines for people."""
        from rich.text import Text

        return Text(str(self))

    def __str__(self) -> str:
        return (
            f"expected: {self.classifiers:,} classifiers, {self.visits:,} visits of rows to nodes; "
            f"memory about {size_text(self.peak_bytes)} (the data itself {size_text(self.matrices_bytes)}); "
            f"model about {size_text(self.model_bytes)}, unpruned {size_text(self.model_bytes_at_most)} at most"
        )


def together(members: Sequence[Estimate]) -> Estimate:
    """Of models that are trained one after another and kept."""
    sums = ("classifiers", "visits", "model_bytes", "model_bytes_at_most")
    values = {name: (sum if name in sums else max)(getattr(m, name) for m in members) for name in asdict(members[0])}
    before = np.cumsum([0, *(member.model_bytes for member in members)]).tolist()
    values["weights_bytes"] = max(there + member.weights_bytes for there, member in zip(before, members, strict=False))
    return Estimate(**values)


def with_ranker(base: Estimate, X: Csr, Y: Csr, candidates: int) -> Estimate:
    """Of a model and one more classifier a label, which is trained on the rows that have it as a candidate."""
    pairs = int(X.shape[0]) * min(candidates, int(Y.shape[1]))
    nonzeros = pairs * X.nnz / max(1, int(X.shape[0]) * int(Y.shape[1]))  # of a label's rows
    weights, at_most = int(8 * KEPT * _label_features(X, Y)), int(8 * _FeatureCurve(X).distinct(nonzeros) * Y.shape[1])
    return replace(
        base,
        classifiers=base.classifiers + int(Y.shape[1]),
        visits=base.visits + pairs,
        model_bytes=base.model_bytes + weights,
        model_bytes_at_most=base.model_bytes_at_most + max(weights, at_most),
        routes_bytes=max(base.routes_bytes, PAIR * pairs),
        weights_bytes=max(base.weights_bytes, base.model_bytes + 2 * weights),
    )


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


def estimate(X: Csr, Y: Csr, habits: Habits, own_features: Csr | None = None) -> Estimate:
    """From the data, the features that labels may have themselves, and the shape that the index will give its tree."""
    n_rows, n_features, n_labels = int(X.shape[0]), int(X.shape[1]), int(Y.shape[1])
    levels = expected_shape(habits.index, LabelSpace(X, Y))
    copies = 1
    if habits.overlap is not None and len(levels) > 1:
        copies = min(habits.overlap.copies, max(1, sum(level.nodes for level in levels if level.labels)))
        levels = [replace(level, labels=level.labels * copies) for level in levels]
    # Each place of a label is a classifier, and leads the label's rows to one more cluster.
    labels_a_row, nonzeros_a_row = copies * np.diff(Y.indptr), X.nnz / max(1, n_rows)
    curve = _FeatureCurve(X)
    label_features = _label_features(X, Y)
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
    return Estimate(
        rows=n_rows,
        features=n_features,
        labels=n_labels,
        classifiers=n_classifiers * habits.n_trees,
        visits=int(visits) * habits.n_trees,
        model_bytes=int(one_model) * habits.n_trees,
        model_bytes_at_most=int(max(at_most, one_model)) * habits.n_trees,
        matrices_bytes=sum(_bytes_of(matrix) for matrix in (X, Y, own_features) if matrix is not None),
        placing_bytes=int(_placing(Y, label_features, own_features)) if needs_vectors(habits.index) else 0,
        routes_bytes=int(40 * widest_level + beams),
        scratch_bytes=int(_largest(scratch, threads) + 4 * n_features * threads),
        largest_scratch_bytes=int(max(size for size, _ in scratch) + 4 * n_features * threads),
        segment_bytes=int(PACKING * segment + waiting),
        weights_bytes=int((habits.n_trees - 1 + PACKING) * one_model + waiting),
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


def _placing(Y: Csr, label_features: float, own_features: Csr | None) -> float:
    """Labels × rows, and the labels' vectors, which are there twice while their parts are joined.

    Features of the labels' own are set beside them, and both are scaled: up to three of the whole.
    """
    vectors = 2 * 8 * label_features
    if own_features is not None:
        vectors = 3 * 8 * (label_features + int(own_features.nnz))
    return 24 * int(Y.nnz) + 16 * int(Y.shape[1]) + vectors


def _label_features(X: Csr, Y: Csr) -> float:
    """Different features of each label's rows, summed over all labels; by a sample, denser among frequent ones."""
    counts = np.bincount(Y.indices, minlength=int(Y.shape[1]))
    used = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    if not len(used):
        return 0.0
    ranks = np.unique(np.geomspace(1, len(used), min(SAMPLE, len(used))).astype(np.int64))  # 1: the most frequent
    looked = used[len(used) - ranks]
    place = np.full(int(Y.shape[1]), -1)
    place[looked] = np.arange(len(looked))
    entries = np.flatnonzero(place[Y.indices] >= 0)
    rows = np.searchsorted(Y.indptr, entries, side="right") - 1
    order = np.argsort(place[Y.indices[entries]], kind="stable")
    rows, sizes = rows[order], counts[looked]
    found = [_distinct(X, rows[end - size : end]) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    return float(np.interp(np.log(np.arange(1, len(used) + 1)), np.log(ranks), found).sum())


def _distinct(X: Csr, rows: Int64) -> int:
    """Different features of some rows; a label of very many rows is looked at in part, which is nearly all."""
    if len(rows) > 20_000:
        rows = rows[:: len(rows) // 20_000 + 1]
    return len(np.unique(_columns(X, rows)))


def _columns(X: Csr, rows: Int64) -> Int32:
    """The feature ids of some rows, one row after another (SciPy would copy the whole matrix to unify its indices)."""
    counts = np.diff(X.indptr)[rows]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found: Int32 = X.indices[np.repeat(X.indptr[rows], counts) + inside]
    return found


class _FeatureCurve:
    """How many different features a set of rows has, by its number of non-zeros (as Heaps' law has it for words)."""

    def __init__(self, X: Csr) -> None:
        n_rows = int(X.shape[0])
        step = max(1, math.ceil(int(X.nnz) / SAMPLE_NONZEROS))
        # A walk with a fixed odd stride visits rows in an order without neighbours, the same every time.
        stride = next((s for s in range(int(n_rows * 0.618) | 1, n_rows + 2) if math.gcd(s, n_rows) == 1), 1)
        rows = (np.arange(0, n_rows, step) * stride) % max(1, n_rows)
        ids = _columns(X, rows)
        self.firsts = np.sort(np.unique(ids, return_index=True)[1])  # after how many non-zeros each feature is new
        self.sampled, self.width = len(ids), int(X.shape[1])

    def distinct(self, nonzeros: float) -> float:
        """Different features among so many non-zeros."""
        if nonzeros <= self.sampled:
            return float(np.searchsorted(self.firsts, nonzeros))
        if not self.sampled:
            return 0.0
        half = max(1, int(np.searchsorted(self.firsts, self.sampled / 2)))
        growth = math.log2(max(1.0, len(self.firsts) / half))  # exponent of the last doubling
        return float(min(self.width, len(self.firsts) * (nonzeros / self.sampled) ** growth))


def _largest(sizes: list[tuple[float, int]], count: int) -> float:
    """Sum of the `count` largest."""
    total = 0.0
    for size, there in sorted(sizes, reverse=True):
        taken = min(count, there)
        total += taken * size
        count -= taken
    return total


def _bytes_of(matrix: Csr) -> int:
    return int(matrix.indptr.nbytes + matrix.indices.nbytes + matrix.data.nbytes)
