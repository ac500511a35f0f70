"""Trees of unbalanced clusters: sizes, depths, awkward labels, threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis import KMeansTree
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.index import kmeans
from xtrellis.labels.space import LabelSpace


def space(n_labels=300, n=600, d=40, seed=0, threads=1, density=0.02, features=None):
    rng = np.random.default_rng(seed)
    X = as_features(sp.random_array((n, d), density=0.2, rng=rng, format="csr"))
    Y = as_labels((rng.random((n, n_labels)) < density).astype(float))
    return LabelSpace(xt.TrainingData.of(X, Y, label_features=features), threads=threads)


def leaf_sizes(tree):
    """Labels of each node that has no nodes below it."""
    inner = np.unique(tree.owner[tree.children >= 0])
    return np.delete(np.diff(tree.offsets), inner)


@pytest.mark.parametrize(("k", "depth", "max_leaf"), [(5, 1, 3), (5, 3, 3), (10, 2, 10), (100, 3, 100), (2, 12, 1)])
def test_sizes_and_depths(k, depth, max_leaf):
    tree = KMeansTree(k=k, depth=depth, max_leaf=max_leaf).build(space(), seed=1)
    assert tree.depth <= depth + 1
    assert tree.describe()["copies per label"] == 1
    sizes = np.diff(tree.offsets)
    inner = np.unique(tree.owner[tree.children >= 0])
    assert sizes[inner].max() <= k
    assert sizes.min() >= 2  # a single label needs no node
    deepest = tree.node_depths == depth
    assert (sizes[~deepest & ~np.isin(np.arange(tree.n_nodes), inner)] <= max(max_leaf, k)).all()


def test_few_labels_are_one_leaf():
    assert KMeansTree(max_leaf=10).build(space(10), seed=0).n_nodes == 1
    assert KMeansTree(max_leaf=1).build(space(1), seed=0).n_nodes == 1
    assert KMeansTree(k=100, max_leaf=5).build(space(20), seed=0).n_slots == 20


@pytest.mark.parametrize("threads", [2, 7])
def test_the_tree_does_not_depend_on_threads(threads, monkeypatch):
    one = KMeansTree(k=8, max_leaf=5).build(space(threads=1), seed=3)
    assert KMeansTree(k=8, max_leaf=5).build(space(threads=threads), seed=3) == one
    monkeypatch.setattr(kmeans, "LARGE", 20_000)  # some sets are now shared between threads, others not
    assert KMeansTree(k=8, max_leaf=5).build(space(threads=threads), seed=3) == one
    assert KMeansTree(k=8, max_leaf=5).build(space(threads=threads), seed=4) != one


def test_labels_without_rows_get_a_branch_of_their_own():
    rng = np.random.default_rng(0)
    X = as_features(rng.random((200, 20)))
    Y = (rng.random((200, 100)) < 0.05).astype(float)
    Y[:, 50:] = 0
    Y[:, :50][rng.integers(200, size=50), np.arange(50)] = 1
    tree = KMeansTree(k=5, max_leaf=4, depth=4).build(LabelSpace(xt.TrainingData.of(X, Y), threads=1), seed=0)
    roots = {}
    for label in range(100):
        offsets, slots = tree.label_slots
        node = tree.owner[slots[offsets[label]]]
        while tree.node_depths[node] > 1:
            node = tree.owner[tree.node_slot[node]]
        roots.setdefault(int(node), set()).add(label)
    assert set(range(50, 100)) in roots.values()
    assert leaf_sizes(tree).max() <= 5


@pytest.mark.parametrize("n_labels", [30, 5000])
def test_labels_that_nothing_tells_apart_are_dealt_out(n_labels):
    X = as_features(np.ones((4, 3)))
    alike = LabelSpace(xt.TrainingData.of(X, np.ones((4, n_labels))), threads=1)
    nothing = LabelSpace(xt.TrainingData.of(np.zeros((4, 3)), np.zeros((4, n_labels))), threads=1)
    for labels in (alike, nothing):
        tree = KMeansTree(k=10, max_leaf=20, depth=5).build(labels, seed=0)
        assert leaf_sizes(tree).max() <= 20
        assert leaf_sizes(tree).min() >= 10
        assert tree.depth <= 4


def test_depth_bounds_even_what_cannot_be_told_apart():
    X = as_features(np.ones((4, 3)))
    tree = KMeansTree(k=3, max_leaf=2, depth=2).build(
        LabelSpace(xt.TrainingData.of(X, np.ones((4, 90))), threads=1), seed=0
    )
    assert tree.depth == 3
    assert leaf_sizes(tree).tolist() == [10] * 9


def test_label_features_place_labels_that_have_no_rows():
    features = np.zeros((100, 4))
    features[np.arange(100), np.arange(100) % 4] = 1
    X = as_features(np.zeros((5, 3)))
    tree = KMeansTree(k=4, max_leaf=30, depth=1).build(
        LabelSpace(xt.TrainingData.of(X, np.zeros((5, 100)), label_features=features), threads=1), seed=2
    )
    for node in range(1, tree.n_nodes):
        below = ~tree.children[tree.offsets[node] : tree.offsets[node + 1]]
        assert len(set((below % 4).tolist())) == 1


def test_wrong_parameters_are_refused():
    with pytest.raises(xt.ParameterError, match="k must be an integer ≥ 2"):
        KMeansTree(k=1)
    with pytest.raises(xt.ParameterError, match="depth must be"):
        KMeansTree(depth=0)


def test_the_preset_learns(tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 150)) < 3 / 150).astype(np.float32)
    X = sp.csr_array(((Y @ rng.random((150, 60))) * (rng.random((400, 60)) < 0.5)).astype(np.float32))
    model = xt.preset("bonsai", index__k=6, index__max_leaf=8, index__depth=2, seed=1).fit(X, Y)
    assert len(set(model.tree.label_depths.tolist())) > 1
    top = model.predict(X, k=5)
    assert xt.evaluate(sp.csr_array(Y), top, metrics=["P@1"])["P@1"] > 60
    model.save(tmp_path / "model")
    again = xt.load(tmp_path / "model")
    assert again.tree == model.tree
    np.testing.assert_array_equal(again.predict(X, k=5).scores, top.scores)
