"""Which rows each node is trained on: by the labels of the rows, by what search reaches, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._native import linear as native
from .._native import search as native_search
from ..arrays import Csr, Float32, Int32, Int64, join_parts, ranges, take_rows, transpose
from ..core import run, spans, thread_count
from ..index import LabelTree
from .blocks import STORAGES, block_offsets, key_bits
from .packed import BY_ID, EVEN, TRANSFORMS
from .segments import Segment

NEGATIVES = ("teacher", "matcher", "both")
CHUNK = 8192  # rows that share a walk over a level's nodes

_NOTHING = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True)
class Routes:
    """The rows of the nodes first .. last, and which children of their node they belong to."""

    first: int
    node_offsets: Int64  # rows of node first + v: rows[node_offsets[v] : node_offsets[v + 1]]
    rows: Int32
    positive_offsets: Int64  # aligned with rows
    positives: Int32  # children, numbered within their node

    @classmethod
    def of_nodes(
        cls, Y: Csr, tree: LabelTree, first: int, last: int, *, teacher: bool = True, reached: Beams | None = None
    ) -> Routes:
        """Routes of a run of nodes of one level; all rows visit the root.

        With `teacher`, a row visits the nodes above its labels; with `reached`, those that search holds; or both.
        """
        label_offsets, label_slots = tree.label_slots
        held_offsets, held_nodes = (reached.offsets, reached.nodes) if reached is not None else _NOTHING
        return cls(first, *native.route(
            Y.indptr, Y.indices, tree.offsets, tree.owner, tree.node_slot, label_offsets, label_slots,
            first=first, last=last, teacher=teacher, reached_offsets=held_offsets, reached_nodes=held_nodes,
        ))  # fmt: skip

    def span(self, node: int) -> tuple[int, int]:
        """Where the rows of a node lie."""
        return int(self.node_offsets[node - self.first]), int(self.node_offsets[node - self.first + 1])


class Visitors:
    """Which rows visit some nodes of a level, found by the rows of the labels below: a walk over all rows for every
    segment would grow with rows × labels."""

    def __init__(self, Y: Csr, tree: LabelTree) -> None:
        self._Y, self._tree = Y, tree
        by_label = transpose(Y)
        self._offsets, self._rows = by_label.indptr, by_label.indices
        self._nodes = self._labels = np.empty(0, np.int32)  # of the places below the level, by node

    def begin_level(self, first: int, last: int) -> None:
        """From now on nodes of first .. last, a whole level, are asked for."""
        tree = self._tree
        offsets, slots = tree.label_slots
        labels = np.repeat(np.arange(tree.n_labels, dtype=np.int32), np.diff(offsets))
        nodes = tree.owner[slots]
        while (below := np.flatnonzero(nodes >= last)).size:
            nodes[below] = tree.owner[tree.node_slot[nodes[below]]]
        there = np.flatnonzero(nodes >= first)
        order = there[np.argsort(nodes[there], kind="stable")]
        self._nodes, self._labels = nodes[order], labels[order]

    def routes(self, first: int, last: int) -> Routes:
        """As `Routes.of_nodes`, of nodes below the root."""
        begin, end = np.searchsorted(self._nodes, [first, last])
        labels = self._labels[begin:end]
        starts, counts = self._offsets[labels], self._offsets[labels + 1] - self._offsets[labels]
        rows = np.unique(self._rows[ranges(starts, counts)])
        found = Routes.of_nodes(take_rows(self._Y, rows), self._tree, first, last)
        return replace(found, rows=rows[found.rows])


@dataclass(frozen=True)
class Beams:
    """The nodes of one level that search holds for every training row, with the logarithms of their scores."""

    offsets: Int64
    nodes: Int32  # ascending within a row
    scores: Float32

    @classmethod
    def at_root(cls, n_rows: int) -> Beams:
        """Where every search begins."""
        return cls(np.arange(n_rows + 1), np.zeros(n_rows, np.int32), np.zeros(n_rows, np.float32))

    def descend(
        self,
        X: Csr,
        tree: LabelTree,
        level: Sequence[Segment],
        *,
        transform: str,
        storage: str,
        beam: int,
        threads: int | None,
    ) -> Beams:
        """The nodes held on the next level, by the trained classifiers of this one (all its segments)."""
        found = Segment.join(level)
        first, last = found.first, found.last
        slots = slice(int(tree.offsets[first]), int(tree.offsets[last]))
        blocks = block_offsets(tree)[first : last + 1]
        packed = native_search.Packed(
            offsets=tree.offsets[first : last + 1] - slots.start, children=tree.children[slots],
            block_offsets=blocks - blocks[0], copies=0, most_copies=1, label_ranks=BY_ID, label_offsets=EVEN,
            **found.arrays,
            storage=STORAGES[storage], bits=key_bits(int(X.shape[1])), transform=TRANSFORMS[transform],
        )  # fmt: skip
        n = int(X.shape[0])
        workers = thread_count(threads)
        pieces = spans(n, max(workers, -(-n // CHUNK)), at_least=64)

        def part(span: tuple[int, int]) -> tuple[Int64, Int32, Float32]:
            args = (X.indptr, X.indices, X.data, X.shape[1], *span)
            return native_search.reach(packed, first, *args, self.offsets, self.nodes, self.scores, beam)

        return Beams(*join_parts(run(part, pieces, threads=workers)))
