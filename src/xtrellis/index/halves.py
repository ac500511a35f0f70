"""Sets of labels cut in two, level by level: here, or whole subtrees as tasks of an engine that runs them elsewhere.

The random key of a set depends on its level and its place there, so a subtree is the same wherever it is split.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def split_below(engine: Engine, vectors: Csr, members: Int32, cuts: Int64, level: int, how: Splitting) -> list[Int64]:
    """Split all sets of a level down to the leaves, each as a task; `members` are put in order, in place."""
    found: list[list[Int64]] = [[] for _ in range(len(cuts) - 1)]
    own = [np.sort(members[begin:end]) for begin, end in pairwise(cuts.tolist())]

    def done(place: int, subtree: tuple[Int32, list[Int64]]) -> None:
        members[cuts[place] : cuts[place + 1]] = own[place][subtree[0]]
        found[place] = subtree[1]

    def subtrees() -> Iterator[tuple[int, tuple[Rows, int, int, Splitting]]]:
        for place, labels in enumerate(own):
            some = take_rows(vectors, labels)
            rows = Rows(some.data, some.indices, some.indptr, (len(labels), int(vectors.shape[1])))
            yield place, (rows, level, place, how)

    engine.run(split_subtree, subtrees(), done)
    return [
        np.append(np.concatenate([cut[i][:-1] + begin for cut, begin in zip(found, cuts, strict=False)]), cuts[-1])
        for i in range(how.bits - level)
    ]
