"""Taking pairs within limits, beside a plain version of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from xtrellis._native import cluster as native


def wishes(seed: int, n_labels: int, n_clusters: int):
    """Random pairs; many are worth the same."""
    dice = np.random.default_rng(seed)
    sizes = dice.integers(0, min(n_clusters, 9) + 1, n_labels)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [dice.choice(n_clusters, size, replace=False) for size in sizes]
    clusters = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int32)
    return offsets, clusters, dice.integers(-2, 4, len(clusters)).astype(np.float64)


@pytest.mark.parametrize("copies", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_what_each_label_wants(seed: int, copies: int):
    offsets, _, worth = wishes(seed, 40, 12)
    expected = []
    for a, b in pairwise(offsets):
        best = sorted((i for i in range(a, b) if worth[i] > 0), key=lambda i: (-worth[i], i))
        expected += best[:copies]
    assert native.wanted_pairs(offsets, worth, copies).tolist() == expected


@pytest.mark.parametrize(("copies", "least", "most"), [(1, 1, 1), (2, 3, 3), (3, 0, 4), (9, 1000, 1000)])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_taken_best_first(seed: int, copies: int, least: int, most: int):
    offsets, clusters, worth = wishes(seed, 40, 12)
    labels = np.repeat(np.arange(40), np.diff(offsets))
    rooms = np.random.default_rng(seed).integers(least, most + 1, 12)
    places, room, expected = [copies] * 40, rooms.tolist(), []
    for i in sorted(range(len(worth)), key=lambda i: (-worth[i], i)):
        if places[labels[i]] and room[clusters[i]]:
            places[labels[i]] -= 1
            room[clusters[i]] -= 1
            expected.append(i)
    assert native.take_pairs(offsets, clusters, worth, copies, rooms).tolist() == sorted(expected)


def test_no_labels_and_no_wishes():
    nothing = np.empty(0, np.float64)
    for n_labels in (0, 3):
        offsets = np.zeros(n_labels + 1, np.int64)
        assert len(native.wanted_pairs(offsets, nothing, 2)) == 0
        assert len(native.take_pairs(offsets, np.empty(0, np.int32), nothing, 2, np.ones(1, np.int64))) == 0
