"""Label trees: what is a tree and what is not, depths, round trips, builders."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis import InputError, StoreError
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.index.balanced import BalancedTree
from xtrellis.index.flat import FlatTree
from xtrellis.index.tree import LabelTree
from xtrellis.labels.space import LabelSpace
from xtrellis.store.state import State


def space(n_labels=50, n=200, d=30, seed=0, threads=1):
    rng = np.random.default_rng(seed)
    X = as_features(sp.random_array((n, d), density=0.3, rng=rng, format="csr"))
    Y = as_labels((rng.random((n, n_labels)) < 0.1).astype(float))
    return LabelSpace(xt.TrainingData.of(X, Y), threads=threads)


def ragged():
    return LabelTree.from_parents([-1, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5, 4], [2, 2, 3, 3, 4, 0, 2], 6)


def test_depths_of_a_ragged_tree():
    tree = ragged()
    assert tree.n_nodes == 5
    assert tree.n_slots == 4 + 7
    assert tree.node_depths.tolist() == [0, 1, 1, 2, 2]
    assert tree.label_depths.tolist() == [2, 2, 3, 3, 2, 1]  # label 4 sits at depths 3 and 2: the nearer counts
    assert tree.depth == 3
    assert [level.tolist() for level in tree.levels()] == [[0], [1, 2], [3, 4]]
    assert tree.describe()["copies per label"] == round(7 / 6, 3)


def test_numbering_does_not_matter():
    renamed = [3, 0, 4, 1, 2]  # old node -> another number
    parents = np.full(5, -1)
    for old, parent in enumerate([-1, 0, 0, 1, 1]):
        parents[renamed[old]] = -1 if parent < 0 else renamed[parent]
    again = LabelTree.from_parents(parents, [0, 1, 2, 3, 4, 5, 4], [renamed[v] for v in (2, 2, 3, 3, 4, 0, 2)], 6)
    assert sorted(again.label_depths.tolist()) == sorted(ragged().label_depths.tolist())
    assert again.depth == 3


def test_round_trip_through_a_state():
    tree = ragged()
    assert LabelTree.from_state({}, tree.to_state()) == tree


@pytest.mark.parametrize(
    ("parents", "labels", "above", "message"),
    [
        ([-1, -1], [0], [0], "exactly one root"),
        ([-1, 2, 1], [0], [0], "ring"),
        ([-1, 7], [0], [0], "below 2"),
        ([-1], [0], [3], "from 0 to 0"),
        ([-1], [1], [0], "labels must be below 1"),
        ([-1, 0], [0], [0], "at least one child"),
        ([-1], [0, 0], [0, 0], "only once"),
        ([-1], [], [], "at least one child"),
    ],
)
def test_what_is_no_tree(parents, labels, above, message):
    with pytest.raises(InputError, match=message):
        LabelTree.from_parents(parents, labels, above, 1)


def test_every_label_needs_a_place():
    with pytest.raises(InputError, match="2 have none, the first is 1"):
        LabelTree.from_parents([-1], [0], [0], 3)


def test_offsets_whose_differences_wrap_are_refused():
    children = np.array([1, 2, ~0, ~1, ~2, ~3], np.int32)
    with pytest.raises(InputError, match="at least one child"):
        LabelTree(np.array([0, 2**62 + 1, -(2**62), 6]), children, 4)


@pytest.mark.parametrize("n", range(0, 6))
def test_a_damaged_state_is_refused(n):
    whole = ragged()
    arrays = {"offsets": whole.offsets.copy(), "children": whole.children.copy()}
    damage = [
        lambda: arrays["offsets"].__setitem__(1, 99),
        lambda: arrays["children"].__setitem__(0, 4),
        lambda: arrays["children"].__setitem__(-1, -100),
        lambda: arrays.__setitem__("offsets", arrays["offsets"].astype(np.int32)),
        lambda: arrays.__setitem__("children", arrays["children"].reshape(1, -1)),
        lambda: arrays.__setitem__("children", arrays["children"][:-1]),
    ]
    damage[n]()
    with pytest.raises(StoreError):
        LabelTree.from_state({}, State(meta={"n_labels": 6}, arrays=arrays))


@pytest.mark.parametrize(
    ("n_labels", "max_leaf", "arity"), [(50, 4, 2), (50, 4, 16), (7, 100, 16), (1, 1, 2), (65, 1, 4)]
)
def test_balanced_trees_are_balanced(n_labels, max_leaf, arity):
    tree = BalancedTree(max_leaf=max_leaf, arity=arity).build(space(n_labels), seed=0)
    assert np.ptp(tree.label_depths) <= (max_leaf == 1)  # a single label is a child itself and needs no node
    sizes = np.diff(tree.offsets)
    inner = tree.children[tree.offsets[:-1]] >= 0
    assert sizes[inner].max(initial=0) <= arity
    if max_leaf == 1:
        assert sizes.min() > 1 or n_labels == 1
        return
    assert sizes[~inner].max() <= max_leaf
    assert sizes[~inner].max() - sizes[~inner].min() <= 1


@pytest.mark.parametrize("threads", [2, 7])
def test_the_tree_does_not_depend_on_threads(threads):
    one = BalancedTree(max_leaf=5).build(space(200, threads=1), seed=3)
    assert BalancedTree(max_leaf=5).build(space(200, threads=threads), seed=3) == one
    assert BalancedTree(max_leaf=5).build(space(200), seed=4) != one


def test_flat_tree():
    tree = FlatTree().build(space(9), seed=0)
    assert tree.n_nodes == 1
    assert (~tree.children).tolist() == list(range(9))
