"""Sets of labels cut in two, level by level: here, or whole subtrees as tasks of an engine that runs them elsewhere.

The random key of a set depends on its level and its place there, so a subtree is the same wherever it is split.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Int32, Int64, Rows, spans_of_work, take_rows
from ..core import Engine, key, run
from ..store import row_files

SUBTREES = 4  # tasks for each worker: the levels above them are split by the driver
WORTH = 1 << 21  # entries of label vectors that are worth a task; of fewer there is one for each worker


class Splitting(NamedTuple):
    """How sets are split, and into how many levels."""

    seed: int
    bits: int
    iterations: int
    tolerance: float

    def halve(
        self, vectors: Csr | Rows, members: Int32, cuts: Int64, level: int, threads: int, *, first_place: int = 0
    ) -> Int64:
        """Split every segment of `members` in place; returns where the segments now begin."""
        places = range(first_place, first_place + len(cuts) - 1)
        keys = np.array([key(self.seed, "split", level, place) for place in places], np.uint64)
        objectives = np.zeros(len(keys))
        # Groups of segments with about the same work: labels with many features tend to lie together.
        upto = np.concatenate([[0], np.cumsum(np.diff(vectors.indptr)[members] + 1)])[cuts]
        files = row_files(vectors)

        def split(group: tuple[int, int]) -> None:
            first, last = group
            native.split_balanced(
                vectors.indptr, vectors.indices, vectors.data, vectors.shape[1],
                members, cuts[first : last + 1], keys[first:last],
                iterations=self.iterations, tolerance=self.tolerance,
                objectives=objectives[first:last], files=files,
            )  # fmt: skip

        run(split, spans_of_work(upto, 8 * threads), threads=threads)
        middles = cuts[:-1] + (np.diff(cuts) + 1) // 2
        return np.append(np.column_stack([cuts[:-1], middles]).ravel(), cuts[-1])


def subtrees_of(entries: int, workers: int) -> int:
    """How many sets, at least, are split elsewhere."""
    return int(np.clip(entries // WORTH, workers, SUBTREES * workers))


def split_subtree(vectors: Rows, level: int, place: int, how: Splitting) -> tuple[Int32, list[Int64]]:
    """A task: the labels of one set (rows of `vectors`) in leaf order, and where the sets of each level below begin."""
    members = np.arange(vectors.shape[0], dtype=np.int32)
    cuts = [np.array([0, len(members)], np.int64)]
    for below in range(level, how.bits):
        first = place << (below - level)
        cuts.append(how.halve(vectors, members, cuts[-1], below, 1, first_place=first))
    return members, cuts[1:]


class Subtree(NamedTuple):
    """A set that is split elsewhere: its labels are `members[begin:end]`."""

    level: int
    place: int
    begin: int
    end: int


def split_below(engine: Engine, vectors: Csr, members: Int32, cuts: Int64, level: int, how: Splitting) -> list[Int64]:
    """Split all sets of a level down to the leaves, each as a task; `members` are put in order, in place."""
    begins: list[list[Int64]] = [[] for _ in range(how.bits - level)]  # of the sets of each level below
    own: dict[Subtree, Int32] = {}

    def task(subtree: Subtree) -> tuple[Subtree, tuple[Rows, int, int, Splitting]]:
        labels = own[subtree] = np.sort(members[subtree.begin : subtree.end])
        some = take_rows(vectors, labels)
        rows = Rows(some.data, some.indices, some.indptr, (len(labels), int(vectors.shape[1])))
        return subtree, (rows, subtree.level, subtree.place, how)

    def done(subtree: Subtree, found: tuple[Int32, list[Int64]]) -> None:
        members[subtree.begin : subtree.end] = own.pop(subtree)[found[0]]
        for below, cut in enumerate(found[1], subtree.level - level):
            begins[below].append(cut[:-1] + subtree.begin)

    def split(subtree: Subtree) -> list[tuple[Subtree, tuple[Rows, int, int, Splitting]]]:
        above, place, begin, end = subtree
        if above + 1 >= how.bits:
            return []
        labels, halves = own.pop(subtree).copy(), np.array([0, end - begin], np.int64)
        halves = how.halve(vectors, labels, halves, above, 1, first_place=place)
        members[begin:end] = labels
        begins[above - level].append(halves[:-1] + begin)
        middle = begin + int(halves[1])
        return [
            task(Subtree(above + 1, 2 * place, begin, middle)),
            task(Subtree(above + 1, 2 * place + 1, middle, end)),
        ]

    subtrees = (Subtree(level, place, *ends) for place, ends in enumerate(pairwise(cuts.tolist())))
    engine.run(split_subtree, map(task, subtrees), done, split=split)
    return [np.append(np.sort(np.concatenate(some)), cuts[-1]) for some in begins]
