"""`entangle`: labels with several meanings, made on purpose by fusing groups of them (Liu et al. 2021, §5.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .._native import cluster as native
from ..arrays import Csr, Int64, StringTable, as_integers, row_numbers
from ..core import InputError, choice, clear_calls, generator, integer, key, require
from ..data import Dataset, TrainingData, labels_from_pairs
from .space import LabelSpace

MODES = ("easy", "medium", "hard")
WIDE = 32  # medium: groups are drawn among so many times k similar labels


@clear_calls
def entangle(dataset: Dataset, k: int = 8, *, mode: str = "medium", seed: int = 0) -> tuple[Dataset, Int64]:
    """Fuse labels k by k: the data set with the fused labels, and for every old label the fused one it became.

    `easy` fuses similar labels (neighbours in balanced clusters), `medium` draws groups at random within balanced
    clusters of 32·k similar labels, `hard` among all. A fused label is named by its parts, `a + b`. `fuse` applies the
    map to further rows (a test part).
    """
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    integer(at_least=1)("k", k)
    choice(*MODES)("mode", mode)
    integer(at_least=0, at_most=2**63 - 1)("seed", seed)
    L = dataset.n_labels
    if mode != "hard" and dataset.X is None:
        raise InputError(
            f"entangle with mode={mode!r} needs features (X) to tell which labels are alike; use a Vectorizer"
        )
    dice = generator(seed, "entangle", mode, k)
    if mode == "hard":
        order = dice.permutation(L)
    else:
        labels = LabelSpace(TrainingData.of(dataset.X, dataset.Y), normalize_rows=True)
        order, cuts = _by_likeness(labels, max(1, k // 4) if mode == "easy" else WIDE * k, seed)
        if mode == "medium":
            for begin, end in pairwise(cuts.tolist()):
                order[begin:end] = dice.permutation(order[begin:end])
    fused = np.empty(L, np.int64)
    fused[order] = np.arange(L) // k
    return fuse(dataset, fused), fused


@clear_calls
def fuse(dataset: Dataset, fused: Int64) -> Dataset:
    """The data set with every label l replaced by `fused[l]`; a row that has several parts of one has it once."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    fused = as_integers(fused, "fused", "the new number of each label")
    if fused.shape != (dataset.n_labels,):
        raise InputError(f"the map must have an entry for each of {dataset.n_labels} labels; got shape {fused.shape}")
    n_fused = int(fused.max()) + 1 if len(fused) else 0
    if len(fused) and (fused.min() < 0 or n_fused > len(fused)):
        bad = fused.min() if fused.min() < 0 else fused.max()
        raise InputError(f"fused labels must be numbered from 0 to at most {len(fused) - 1}; got {bad}")
    names = None
    if dataset.label_names is not None:
        parts: list[list[str]] = [[] for _ in range(n_fused)]
        for label, target in enumerate(fused.tolist()):
            parts[target].append(dataset.label_names[label])
        names = StringTable.of([" + ".join(part) for part in parts])

    def turn(matrix: Csr) -> Csr:
        return labels_from_pairs(row_numbers(matrix), fused[matrix.indices], (matrix.shape[0], n_fused))

    excluded = None if dataset.excluded is None else turn(dataset.excluded)
    return replace(dataset, Y=turn(dataset.Y), label_names=names, excluded=excluded)


def _by_likeness(labels: LabelSpace, size: int, seed: int) -> tuple[Int64, Int64]:
    """Labels in an order that keeps similar ones together, and where the balanced clusters of about `size` begin."""
    vectors, L = labels.vectors, labels.n_labels
    members, cuts = np.arange(L, dtype=np.int32), np.array([0, L], np.int64)
    for level in range(max(0, round(math.log2(max(1.0, L / size))))):
        keys = np.array([key(seed, "entangle", level, i) for i in range(len(cuts) - 1)], np.uint64)
        native.split_balanced(
            vectors.indptr, vectors.indices, vectors.data, vectors.shape[1], members, cuts, keys,
            iterations=20, tolerance=1e-4, objectives=np.zeros(len(keys)),
        )  # fmt: skip
        halves = cuts[:-1] + (np.diff(cuts) + 1) // 2
        cuts = np.unique(np.append(np.column_stack([cuts[:-1], halves]).ravel(), cuts[-1]))
    return members.astype(np.int64), cuts
