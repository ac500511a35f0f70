"""Huffman's tree: optimal, binary, a place for every label; expected depths."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis.index.huffman import HuffmanTree, huffman
from xtrellis.index.tree import LabelTree
from xtrellis.labels.frequency import code_frequency
from xtrellis.labels.space import LabelSpace


def least_depth(frequency):
    """Expected depth of the best binary code: the sum of all joined weights."""
    heap = [float(f) for f in frequency]
    heapq.heapify(heap)
    total = 0.0
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        total += both
        heapq.heappush(heap, both)
    return total


@given(st.lists(st.one_of(st.just(0.0), st.integers(1, 9).map(float), st.floats(1e-9, 1e9)), min_size=2, max_size=60))
@settings(max_examples=80)
def test_no_binary_tree_is_shallower(frequency):
    f = np.array(frequency)
    tree = huffman(f)
    assert (np.diff(tree.offsets) == 2).all()
    assert tree.n_nodes == len(f) - 1
    assert not tree.has_copies
    if f.any():
        assert tree.expected_depth(f) == pytest.approx(least_depth(f) / f.sum())
        p = f[f > 0] / f.sum()
        entropy = -(p * np.log2(p)).sum()
        assert entropy - 1e-9 <= tree.expected_depth(f) <= entropy + 1 + 1e-9


def test_more_frequent_labels_are_never_deeper():
    f = np.random.default_rng(0).zipf(1.5, 300).astype(float)
    depths = huffman(f).label_depths
    order = np.argsort(-f, kind="stable")
    assert (np.diff(depths[order])[np.diff(f[order]) < 0] >= 0).all()


def test_labels_without_rows_lie_evenly():
    tree = huffman(np.array([8.0, *[0.0] * 16]))
    assert tree.label_depths.tolist() == [1, *[5] * 16]


def test_few_labels():
    assert huffman(np.array([3.0])) == LabelTree([0, 1], [~0], 1)
    assert huffman(np.array([3.0, 1.0])).label_depths.tolist() == [1, 1]


def space(n_labels=30):
    rng = np.random.default_rng(1)
    Y = rng.random((100, n_labels)) < rng.random(n_labels) ** 3
    return LabelSpace(xt.TrainingData.of(rng.random((100, 5)), Y))


@pytest.mark.parametrize("kind", ["all", "marginal", "greedy", "soft"])
def test_build_uses_the_frequency_asked_for(kind):
    labels = space()
    assert HuffmanTree(frequency=kind).build(labels, seed=5) == huffman(code_frequency(labels.Y, kind))


def test_row_weights():
    labels = space()
    weights = np.linspace(0, 1, 100)
    tree = HuffmanTree(row_weights=weights).build(labels, seed=0)
    assert tree == huffman(code_frequency(labels.Y, row_weights=weights))
    with pytest.raises(xt.InputError, match="each of 100 rows; got shape"):
        HuffmanTree(row_weights=weights[1:]).build(labels, seed=0)
    for wrong in ([-1.0], "1,2", [np.nan], np.ones((2, 2)), ["a"]):
        with pytest.raises(xt.ParameterError, match="row_weights must be a list of at most"):
            HuffmanTree(row_weights=wrong)


def test_expected_depth_refuses_what_is_no_frequency():
    tree = huffman(np.ones(4))
    assert tree.expected_depth([1, 2, 3, 4]) == 2
    for wrong, message in (([1, 2], "each of 4 labels"), ([0] * 4, "above zero"), ([1, 1, 1, -1], "not negative")):
        with pytest.raises(xt.InputError, match=message):
            tree.expected_depth(wrong)
