"""Made-up data of any size with the traits that matter: few frequent and many rare labels, and groups of alike labels.

The world is fixed by (n_labels, n_features, zipf, seed) and is never stored whole, except for two numbers a label:

- Labels sit in a hierarchy by their ids: 32 neighbours form a cluster, 32 clusters a field.
- Label frequencies follow a power law, p ∝ rank^-zipf, the ranks spread over the ids at random.
- Each label, cluster and field has a signature: a few features of its own, found by hashing.

A row draws a first label by p, and each further one from the first one's cluster or field, again by p (so p stays the
law of all labels); a repeat is drawn again from the field, then from all labels. Its features are drawn from the
signatures of its labels, their clusters and their fields; a share `noise` comes from a power-law background that says
nothing. Repeated features add up, and rows have length 1.

Rows are made in pages of fixed size, each from its own random key: row i is the same however many are asked for, and
`first_row` continues where another call ended, so that train and test come from one world.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...arrays import MAX_ID, Array, Csr, Int64, as_features, as_labels
from ...core import clear_calls, generator, integer, mix_words, number, progress
from ...core import key as rng_key
from ..dataset import Dataset

PAGE = 16_384  # rows; part of the data's definition
CLUSTER = FIELD = 32  # labels in a cluster, clusters in a field
IN_CLUSTER = 0.7  # chance that a further label is from the first one's cluster rather than its field
SIGNATURE = np.array([8, 16, 32])  # features of a label, a cluster, a field
LEVELS = np.array([0.5, 0.3, 0.2])  # how often a feature speaks of the label, its cluster, its field

UInt64 = NDArray[np.uint64]


class World(NamedTuple):
    """What all rows share."""

    n_labels: int
    n_features: int
    cumulative: NDArray[np.float64]  # Σ p up to and including each label, in the order of ids
    seed: int


@clear_calls
def synthetic(
    *,
    n_rows: int = 10_000,
    n_labels: int = 1_000,
    n_features: int = 20_000,
    labels_per_row: float = 3.0,
    features_per_row: int = 30,
    zipf: float = 1.0,
    noise: float = 0.3,
    seed: int = 0,
    first_row: int = 0,
) -> Dataset:
    """A data set of rows `first_row` … `first_row + n_rows - 1` of an endless one.

    `labels_per_row` and `features_per_row` are numbers of draws; repeats among them leave somewhat less.
    """
    blocks = synthetic_blocks(
        n_rows=n_rows, n_labels=n_labels, n_features=n_features, labels_per_row=labels_per_row,
        features_per_row=features_per_row, zipf=zipf, noise=noise, seed=seed, first_row=first_row,
    )  # fmt: skip
    xs, ys = [], []
    with progress.step("making synthetic rows", total=n_rows, unit="rows") as advance:
        for X, Y in blocks:
            xs.append(X)
            ys.append(Y)
            advance(int(X.shape[0]))
    return Dataset(X=as_features(_stack(xs, n_features)), Y=as_labels(_stack(ys, n_labels)), name="synthetic")


@clear_calls
def synthetic_blocks(
    *,
    n_rows: int = 10_000,
    n_labels: int = 1_000,
    n_features: int = 20_000,
    labels_per_row: float = 3.0,
    features_per_row: int = 30,
    zipf: float = 1.0,
    noise: float = 0.3,
    seed: int = 0,
    first_row: int = 0,
) -> Iterator[tuple[Csr, Csr]]:
    """The same rows as `synthetic`, as (X, Y) blocks of at most 16,384: memory does not grow with n_rows."""
    integer(at_least=0, at_most=2**63 - 1)("n_rows", n_rows)
    integer(at_least=0, at_most=2**63 - 1)("first_row", first_row)
    for name, value in (("n_labels", n_labels), ("n_features", n_features)):
        integer(at_least=1, at_most=MAX_ID)(name, value)
    integer(at_least=0, at_most=100_000)("features_per_row", features_per_row)
    number(at_least=1, at_most=10_000)("labels_per_row", labels_per_row)
    number(at_least=0)("zipf", zipf)
    number(at_least=0, at_most=1)("noise", noise)
    integer(at_most=2**63 - 1)("seed", seed)
    return _blocks(n_rows, n_labels, n_features, labels_per_row, features_per_row, zipf, noise, seed, first_row)


def _blocks(
    n_rows: int,
    n_labels: int,
    n_features: int,
    labels_per_row: float,
    features_per_row: int,
    zipf: float,
    noise: float,
    seed: int,
    first_row: int,
) -> Iterator[tuple[Csr, Csr]]:
    ranks = generator(seed, "ranks").permutation(n_labels) + 1.0
    cumulative = np.cumsum(ranks**-zipf)
    world = World(n_labels, n_features, cumulative / cumulative[-1], seed)
    end = first_row + n_rows
    for page in range(first_row // PAGE, -(-end // PAGE)):
        X, Y = _page(world, page, labels_per_row, features_per_row, noise)
        begin, stop = max(first_row - page * PAGE, 0), min(end - page * PAGE, PAGE)
        yield (X, Y) if (begin, stop) == (0, PAGE) else (X[begin:stop], Y[begin:stop])


def _page(world: World, page: int, labels_per_row: float, features_per_row: int, noise: float) -> tuple[Csr, Csr]:
    random = generator(world.seed, "page", page)
    counts = 1 + random.poisson(labels_per_row - 1, PAGE)
    starts = np.concatenate([[0], np.cumsum(counts)])
    labels = _draw_labels(world, random, counts, starts)

    rows = np.repeat(np.arange(PAGE), features_per_row)
    # Which of the row's labels a feature speaks of, and on which level.
    chosen = labels[starts[rows] + (random.random(len(rows)) * counts[rows]).astype(np.int64)]
    level = np.searchsorted(np.cumsum(LEVELS)[:2], random.random(len(rows)), side="right")
    node = chosen // np.array([1, CLUSTER, CLUSTER * FIELD])[level]
    which = (random.random(len(rows)) * SIGNATURE[level]).astype(np.int64)
    features = _signature(world, level, node, which)
    background = (world.n_features * random.random(len(rows)) ** 3).astype(np.int64)
    features = np.where(random.random(len(rows)) < noise, background, features)

    X = _matrix(rows, features, world.n_features)
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])) if features_per_row else np.ones(PAGE, np.float32)
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    Y = _matrix(np.repeat(np.arange(PAGE), counts), labels, world.n_labels)
    Y.data[:] = 1
    return X, Y


def _draw_labels(world: World, random: np.random.Generator, counts: Int64, starts: Int64) -> Int64:
    """The labels of each row, the leader first. Repeats are drawn again from wider groups, two times."""
    rows = np.repeat(np.arange(len(counts)), counts)
    everything = np.full(len(counts), world.n_labels)
    leaders = _draw_near(world, random, np.zeros(len(counts), np.int64), everything)[rows]
    size = np.where(random.random(len(rows)) < IN_CLUSTER, CLUSTER, CLUSTER * FIELD)
    labels = _draw_near(world, random, leaders, size)
    labels[starts[:-1]] = leaders[starts[:-1]]
    for wider in (CLUSTER * FIELD, world.n_labels):
        again = _repeats(rows, labels, world.n_labels)
        labels[again] = _draw_near(world, random, leaders[again], np.full(len(again), wider))
    return labels


def _draw_near(world: World, random: np.random.Generator, label: Int64, size: Int64) -> Int64:
    """One label by p from the group of `size` neighbouring ids that holds `label`."""
    begin = label // size * size
    end = np.minimum(begin + size, world.n_labels)
    # p within a group of neighbouring ids is a stretch of the cumulative sum: draw a point of it.
    low = np.where(begin > 0, world.cumulative[begin - 1], 0.0)
    point = low + random.random(len(label)) * (world.cumulative[end - 1] - low)
    drawn: Int64 = np.clip(np.searchsorted(world.cumulative, point, side="right"), begin, end - 1)
    return drawn


def _repeats(rows: Int64, labels: Int64, n_labels: int) -> Int64:
    """Where a label stands a second time in its row; a stable sort keeps the leader, which comes first."""
    keys = rows * n_labels + labels
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repeated: Int64 = order[1:][ordered[1:] == ordered[:-1]]
    return repeated


def _signature(world: World, level: Int64, node: Int64, which: Int64) -> Int64:
    """The `which`-th feature of a node: a hash of where it sits, so that no table is needed for millions of labels."""
    key = np.uint64(rng_key(world.seed, "signature"))
    state = mix_words(key ^ (level.astype(np.uint64) << np.uint64(60)) ^ node.astype(np.uint64))
    word = mix_words(state ^ which.astype(np.uint64))
    features: Int64 = ((word >> np.uint64(32)) * np.uint64(world.n_features) >> np.uint64(32)).astype(np.int64)
    return features


def _matrix(rows: Array, columns: Array, width: int) -> Csr:
    """Counts of (row, column) pairs in one page, sorted."""
    keys = np.sort(rows.astype(np.int64) * width + columns)
    new = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    counts = np.diff(np.append(new, len(keys)))
    kept = keys[new]
    indptr = np.searchsorted(kept, np.arange(PAGE + 1, dtype=np.int64) * width)
    return csr_array((counts.astype(np.float32), (kept % width).astype(np.int32), indptr), shape=(PAGE, width))


def _stack(blocks: list[Csr], width: int) -> Any:
    """Blocks under one another; scipy's vstack would go through more copies."""
    rows = sum(int(block.shape[0]) for block in blocks)
    data = [block.data for block in blocks] or [np.empty(0, np.float32)]
    indices = [block.indices.astype(np.int32, copy=False) for block in blocks] or [np.empty(0, np.int32)]
    lengths = [np.diff(block.indptr) for block in blocks]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]) if blocks else np.zeros(1, np.int64)
    return csr_array((np.concatenate(data), np.concatenate(indices), indptr.astype(np.int64)), shape=(rows, width))
