"""Where new labels sit in a trained tree: in the clusters that most of their rows reach and that have room."""

from __future__ import annotations

import numpy as np

from ...arrays import Int64, ranges, take_rows
from ...data import TrainingData
from ...index import LabelTree, leaf_nodes
from ..overlap import match
from ..packed import PackedTree
from ..segments import cuts
from ..train import Negatives, SolverSettings, Trainer

ROOM = 1.5  # times the mean size that clusters may grow to, as with overlap
BEAM = 10  # clusters that a row is led to, when it is asked where a new label belongs


class Growth:
    """A tree, and rows some of which have labels that it does not know."""

    def __init__(
        self, packed: PackedTree, data: TrainingData, settings: SolverSettings, negatives: Negatives, *, copies: int,
        seed: int, threads: int | None,
    ) -> None:  # fmt: skip
        self.packed, self.data, self.settings, self.negatives = packed, data, settings, negatives
        self.copies, self.seed, self.threads = copies, seed, threads

    def tree(self) -> tuple[LabelTree, Int64]:
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
        return LabelTree(offsets, children, int(Y.shape[1]), node_names=old.node_names), number

    def _places(self, leaves: Int64, n_new: int) -> tuple[Int64, Int64]:
        """Pairs (new label, cluster)."""
        old = self.packed.tree
        Y, first = self.data.Y, old.n_labels
        rows = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(Y.indices >= first)])[Y.indptr]))
        X, Y = take_rows(self.data.X, rows), take_rows(Y, rows)
        guide = Trainer(
            X, Y, old, self.settings, self.negatives,
            storage=self.packed.storage, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        matcher = [self.packed.segment(*run) for level in cuts(old)[:-1] for run in level]
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
        usual = (int(sizes.sum()) + self.copies * n_new) / len(leaves)
        room = np.maximum(int(np.ceil(ROOM * usual)), int(sizes.max())) - sizes
        order = np.lexsort((cluster, -votes, label))
        begins = np.searchsorted(label[order], np.arange(n_new + 1))
        chosen: list[tuple[int, int]] = []
        frequent = np.argsort(-np.bincount(Y.indices, minlength=first + n_new)[first:], kind="stable")
        for one in frequent.tolist():  # frequent labels choose first: most rows go with them
            wishes = cluster[order[begins[one] : begins[one + 1]]]
            given = wishes[room[wishes] > 0][: self.copies]
            if not len(given):
                given = np.array([int(np.argmax(room))])
            room[given] -= 1
            chosen += [(one, int(c)) for c in given]
        given_pairs: Int64 = np.array(chosen, np.int64).reshape(-1, 2)
        return given_pairs[:, 0] + first, given_pairs[:, 1]
