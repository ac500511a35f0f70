"""What the phases of a training take beside the classifiers: numbers of bytes that `estimate` adds up.

Everything that grows with the data is counted, at the moment when most of it is there: copies while arrays are joined,
and arrays as long as the feature space, which every thread has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Csr, Int64, n_bytes_of
from ..data import TrainingData
from ..index import Index, TreeLevel
from ..labels import is_wide
from .blocks import GROUP, HUGE, LARGE, MAX_BLOCK, SMALL_GROUP, key_bits
from .routes import CHUNK
from .segments import MAX_SEGMENT

TABLED = 10  # native/search/reach.cpp: a table is made for so many (as a power of two) columns a row
MOST_DENSE = 4 << 24  # bytes of a block that search lays out dense, at most (native/search/margins.hpp)
LOOKED_AT = 16 << 20  # bytes of arrays that walks over files make, some rows at a time
CANDIDATES = 64  # clusters of a label that overlapping looks at


class Space(NamedTuple):
    """The features: how many different ones occur, and how long an array over all of them is on a thread."""

    occurring: float
    length: float
    narrow_bytes: float  # of rows that are renumbered, because far more columns are announced than occur

    @classmethod
    def of(cls, X: Csr, occurring: float) -> Space:
        """As `fit` will have them."""
        if is_wide(X):
            return cls(occurring, occurring, 4 * int(X.nnz) + 4 * occurring)
        return cls(occurring, int(X.shape[1]), 0)


def beside_weights(n_classifiers: int, n_labels: int, n_blocks: int) -> int:
    """A tree on disk without its weights: biases and children, ranks of labels, offsets of blocks, heads of files."""
    return 8 * n_classifiers + 4 * n_labels + 40 * n_blocks + 1000


def placing(data: TrainingData, index: Index, label_features: float, space: Space, threads: int) -> float:
    """Building trees: labels × rows; the labels' vectors, made in parts that are joined; then clustered.

    Features of the labels' own are set beside them, and both are scaled: up to three of the whole.
    """
    pairs, entries, width = int(data.Y.nnz), label_features, space.occurring
    making = max(24 * pairs, 13 * entries) + 5 * space.length * threads
    if data.label_features is not None:
        entries += int(data.label_features.nnz)
        width += int(data.label_features.shape[1])
        making = max(making, 3 * 8 * entries)
    clustering = 8 * entries + index.clustering_bytes(data.n_labels, entries, width, threads)
    return 12 * pairs + 16 * data.n_labels + max(making, clustering + 4 * space.length * threads)


def placing_outside(data: TrainingData, index: Index, label_features: float, space: Space, threads: int) -> float:
    """The same with labels × rows and the vectors in files: what is left is as long as the labels or the features, and
    the vectors of as many labels as there are threads."""
    width = space.occurring
    if data.label_features is not None:
        width += int(data.label_features.shape[1])
    making = 5 * space.length * threads + min(24 * width * threads, 13 * label_features)
    clustering = index.clustering_bytes(data.n_labels, 0, width, threads) + 4 * space.length * threads
    return 40 * data.n_labels + min(LOOKED_AT, 40 * int(data.Y.nnz)) + max(making, clustering)


def routing(levels: Sequence[TreeLevel], visits: Sequence[float], n_slots: int) -> float:
    """Rows of a segment's nodes, while they are sorted; those of the segment before are still in use."""
    here = (count * min(1.0, 1.5 * MAX_SEGMENT / level.children) for level, count in zip(levels, visits, strict=True))
    return 64 * max(here) + 4 * n_slots


def descending(X: Csr, level: TreeLevel, level_bytes: float, width: float, beam: int, threads: int) -> float:
    """Leading rows from a level to the next: its weights in one piece, and on every thread a chunk of rows with their
    candidates, a table of the features and an open block."""
    n_rows, bits = int(X.shape[0]), key_bits(int(X.shape[1]))
    children = level.children / level.nodes
    held, found = min(beam, level.nodes), min(beam, level.inner)
    rows = min(CHUNK, n_rows)
    table = 8 << bits if rows << TABLED >= 1 << bits else 0
    lanes = min(128, -(-children // 16) * 16)
    candidates = 2 * 8 * min(held * children, 4 * beam + 2 * MAX_BLOCK) + 24
    a_thread = (
        table + min(MOST_DENSE, 4 * lanes * width) + rows * (candidates + 16 * held + 4 * int(X.nnz) / max(1, n_rows))
    )
    workers = min(threads, -(-n_rows // rows))
    return level_bytes + workers * a_thread + n_rows * (8 * held + 24 * found + 16)


def matching(levels: Sequence[TreeLevel], n_rows: int, beam: int) -> float:
    """The clusters that rows are led to, gathered over all levels and sorted by row."""
    return float(64 * n_rows * sum(min(beam, level.nodes) for level in levels))


def folded(data: TrainingData, folds: int) -> tuple[float, float]:
    """Rows of all folds but one, in a copy of their own (renumbered: in another), and the most while it is made."""
    if folds <= 1:
        return 0.0, 0.0
    nonzeros, pairs = int(data.X.nnz), int(data.Y.nnz)
    kept = (8 * nonzeros * (2 if is_wide(data.X) else 1) + 8 * pairs + 24 * data.n_rows) * (1 - 1 / folds)
    return kept, kept + 24 * max(nonzeros, pairs)


def overlapping(label_counts: Int64, n_rows: int, n_clusters: int, beam: int) -> float:
    """Placing labels in clusters: labels × rows, and the clusters that each would like to sit in, with their prices."""
    wishes = float(np.minimum(label_counts * min(beam, n_clusters), min(CANDIDATES, n_clusters)).sum())
    return 20 * float(label_counts.sum()) + 8 * n_rows * min(beam, n_clusters) + 64 * wishes + 64 * len(label_counts)


def folding(X: Csr, Y: Csr, folds: int, space: Space) -> float:
    """Copies of the rows that the classifiers of one fold are trained on, or, once these are gone, of those led."""
    return (folds - 1) / folds * (n_bytes_of(X, Y) + space.narrow_bytes)


def parts_of_block(children: float, rows: float, threads: int) -> int:
    """How many tasks a block of a node with so many children and rows is trained in (`cut_block`)."""
    count = min(children, MAX_BLOCK)
    if rows * count >= HUGE:
        return max(1, round(-(-count // SMALL_GROUP)))
    if threads > 1 and children <= threads * MAX_BLOCK and rows * count >= LARGE:
        return max(1, round(-(-count // GROUP)))
    return 1
