"""Balanced trees: recursive spherical 2-means with equal halves, collapsed to a wider arity (XR-Linear, Parabel)."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..arrays import Csr, Int32, Int64
from ..core import current, integer, key, number, param, progress, thread_count
from ..labels import LabelSpace
from .base import LEAST_GAIN, Index
from .halves import Splitting, split_below, subtrees_of
from .shape import TreeLevel, balanced_levels, level_depths
from .tree import LabelTree


class BalancedTree(Index):
    """Every leaf holds the same number of labels, give or take one, and lies at the same depth.

    With `max_leaf=1` there are no leaves: labels themselves are the children, at two neighbouring depths.
    """

    arity: int = param(
        integer(at_least=2), "children of an inner node at most; levels of two are joined, so 10 gives 8", default=16
    )
    max_leaf: int = param(integer(at_least=1), "labels in a leaf cluster at most", default=100)
    iterations: int = param(integer(at_least=1), "rounds of 2-means per split at most", default=20)
    tolerance: float = param(number(at_least=0), "mean gain in similarity below which a split is done", default=1e-4)

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """Split until the leaves are small enough."""
        members, cuts = self.halves(labels, seed=seed)
        return nested(members, [cuts[depth] for depth in level_depths(len(cuts) - 1, self.arity)], labels.n_labels)

    def halves(self, labels: LabelSpace, *, seed: int) -> tuple[Int32, list[Int64]]:
        """Labels in leaf order and, for each level of two from the root down, where its sets begin."""
        n_labels = labels.n_labels
        bits = max(0, math.ceil(math.log2(n_labels / self.max_leaf)))
        members = np.arange(n_labels, dtype=np.int32)
        cuts: list[Int64] = [np.array([0, n_labels], np.int64)]
        engine = current()
        far = engine if engine is not None and engine.far else None
        enough = subtrees_of(int(labels.vectors.nnz), far.workers) if far is not None else 0
        how = Splitting(seed, bits, self.iterations, max(self.tolerance, LEAST_GAIN))
        with progress.step("clustering labels", total=bits, unit="levels") as advance:
            for level in range(bits):
                if far is not None and 1 << level >= enough:
                    cuts += split_below(far, labels.vectors, members, cuts[-1], level, how)
                    advance(bits - level)
                    break
                cuts.append(how.halve(labels.vectors, members, cuts[-1], level, labels.threads))
                advance(1)
        return members, cuts

    def divide(self, vectors: Csr, members: Int32, cuts: Int64, *, seed: int, threads: int | None) -> Int64:
        """Clusters that have grown too large, each cut in two as in `build`: `members` are put in order, in place;
        returns where the halves begin."""
        how = Splitting(key(seed, "divide"), 1, self.iterations, max(self.tolerance, LEAST_GAIN))
        return how.halve(vectors, members, cuts, 0, thread_count(threads))

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """Known but for a label here and there."""
        return balanced_levels(labels.n_labels, self.arity, self.max_leaf)


def nested(members: Int32, cuts: list[Int64], n_labels: int) -> LabelTree:
    """A tree from labels in leaf order and, for each level from the root down, where its nodes begin."""
    cuts = [np.unique(cut) for cut in cuts]  # half of a single label is empty: no node
    first = np.cumsum([0, *(len(cut) - 1 for cut in cuts)])  # number of each level's first node
    parents = [np.array([-1])]
    for depth, (above, here) in enumerate(pairwise(cuts)):
        parents.append(first[depth] + np.searchsorted(above, here[:-1], side="right") - 1)
    leaf = first[len(cuts) - 1] + np.searchsorted(cuts[-1], np.arange(len(members)), side="right") - 1
    parent = np.concatenate(parents)
    stays = np.concatenate([np.diff(cut) > 1 for cut in cuts])  # one label needs no node of its own
    stays[0] = True
    if not stays.all():
        for _ in cuts:
            leaf = np.where(stays[leaf], leaf, parent[leaf])
        number = np.cumsum(stays) - 1
        parent, leaf = np.where(parent < 0, -1, number[parent])[stays], number[leaf]
    return LabelTree.from_parents(parent, members, leaf, n_labels)
