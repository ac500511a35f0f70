"""Trees that grow in updates: clusters that have become too large are divided, labels with several places move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis.arrays import is_right
from xtrellis.data import TrainingData
from xtrellis.index import leaf_nodes
from xtrellis.linear.living import update
from xtrellis.linear.living.moves import rehoused, too_large
from xtrellis.linear.packed import PackedTree, ranks_by_frequency
from xtrellis.linear.train import Trainer

NOTHING = np.zeros(0, np.int64)


def grown(index: xt.BalancedTree, **params: object) -> tuple[xt.LinearTree, TrainingData, np.ndarray]:
    """A model of 40 labels, and rows with 60."""
    data = xt.synthetic(n_rows=900, n_labels=60, n_features=300, seed=3)
    X, Y = csr_array(data.X), csr_array(data.Y)
    early = np.flatnonzero(Y[:, 40:].sum(axis=1) == 0)
    late = np.setdiff1d(np.arange(900), early)
    order = np.concatenate([early, late])
    model = xt.LinearTree(index=index, **params).fit(X[early], csr_array(Y[early])[:, :40])
    return model, TrainingData.of(X[order], Y[order]), np.arange(len(early), 900)


@pytest.mark.parametrize("seed", range(6))
def test_slots_follow_when_clusters_are_divided(seed):
    rng = np.random.default_rng(seed)
    n_labels = (40, 900, 40, 60, 1500, 12)[seed]
    above = rng.integers(3, 7, n_labels)
    tree = xt.LabelTree.from_parents([-1, 0, 0, 1, 1, 2, 2], np.arange(n_labels), above, n_labels)
    nodes = tree.owner[tree.label_slots[1]].astype(np.int64)
    large = np.flatnonzero(rng.random(7) < 0.6)
    large = large[large >= 3]
    second = np.isin(nodes, large) & (rng.random(n_labels) < 0.5)
    found = rehoused(tree, np.arange(n_labels), nodes, second)
    after, number, origin = found.tree, found.number, found.origin
    assert after.n_nodes == tree.n_nodes + len(np.unique(nodes[second]))
    home = after.owner[after.label_slots[1]]
    np.testing.assert_array_equal(origin[home - second], nodes)  # the second half lies behind the first
    assert (origin[home[second]] == -1).all()
    old = origin[origin >= 0]
    np.testing.assert_array_equal(old, np.arange(tree.n_nodes))
    for node in np.flatnonzero(origin < 0):  # both have one parent
        assert after.owner[after.node_slot[node]] == after.owner[after.node_slot[node - 1]]
    kept = np.flatnonzero(number >= 0)
    np.testing.assert_array_equal(origin[after.owner[number[kept]]], tree.owner[kept])
    was, now = tree.children[kept], after.children[number[kept]]
    np.testing.assert_array_equal(np.where(now >= 0, origin[np.maximum(now, 0)], now), was)
    assert (np.diff(number[kept]) > 0).all()  # so weights of one feature stay in order


def test_only_clusters_with_rows_on_the_last_level_are_divided():
    tree = xt.LabelTree.from_parents([-1, 0, 0, 1, 1], np.arange(40), np.repeat([2, 3, 4, 1], 10), 40)
    nodes = tree.owner[tree.label_slots[1]].astype(np.int64)
    counts = np.ones(40, np.int64)
    assert too_large(tree, np.arange(40), nodes, 10, counts).tolist() == []
    assert too_large(tree, np.arange(40), nodes, 9, counts).tolist() == [3, 4]  # not those beside nodes or above
    counts[10:20] = 0
    assert too_large(tree, np.arange(40), nodes, 9, counts).tolist() == [4]


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("overlap", [None, xt.Overlap(copies=2, max_cluster_size=30)])
def test_clusters_stay_as_small_as_they_were_meant_to_be(monkeypatch, storage, overlap):
    model, data, fresh = grown(xt.BalancedTree(arity=4, max_leaf=8), storage=storage, overlap=overlap, threads=2)
    tree = model.tree
    assert (
        model.updated(data, NOTHING, NOTHING).tree.n_nodes == tree.n_nodes
    )  # with rows alone: a split divides nothing
    if overlap:
        model.set_params(index__max_leaf=5)  # labels that move have fewer places than others
    monkeypatch.setattr(update, "STALE_ABOVE", -1.0)
    monkeypatch.setattr(update, "STALE", -1.0)  # everything is trained: so it must be a training on that tree
    found = model.updated(data, fresh, NOTHING).trees[0]
    after = found.tree
    assert after.n_nodes > tree.n_nodes
    assert after.depth == tree.depth
    assert np.diff(after.offsets)[leaf_nodes(after)].max() <= (11 if overlap else 9)  # a tenth more than meant
    unit = data.at_unit_length()
    trainer = Trainer(unit.X, unit.Y, after, model.solver(), model.negative_rows(), storage=storage, seed=0, threads=1)
    twin = PackedTree.join(
        after, trainer.train(), data.n_features, transform=model.transform, storage=storage, merge=found.merge,
        label_ranks=ranks_by_frequency(data.label_counts),
    )  # fmt: skip
    for name in ("buckets", "biases", "bucket_offsets", "byte_offsets"):
        np.testing.assert_array_equal(found.arrays[name], twin.arrays[name])
    if storage != "int8":  # a block whose weights have become smaller keeps its scale
        np.testing.assert_array_equal(found.arrays["bytes"], twin.arrays["bytes"])


@pytest.mark.parametrize("overlap", [None, xt.Overlap(copies=3, max_cluster_size=30)])
def test_a_grown_tree_answers_like_one_that_was_trained(tmp_path, overlap):
    model, data, fresh = grown(xt.BalancedTree(arity=4, max_leaf=8), overlap=overlap, threads=1)
    full = model.clone().fit(data.X, data.Y)
    live = model.updated(data, fresh, NOTHING)
    same = model.set_params(threads=2).updated(data, fresh, NOTHING)
    live.save(tmp_path / "1")
    same.save(tmp_path / "2")
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
    right = [is_right(one.predict(data.X, 3).labels, data.Y).mean() for one in (live, full, model)]
    assert right[0] > 0.97 * right[1]
    loaded = xt.load(tmp_path / "1")
    np.testing.assert_array_equal(loaded.predict(data.X, 3).labels, live.predict(data.X, 3).labels)
    again = loaded.updated(data, NOTHING, NOTHING)  # nothing new: nothing to do
    assert again.tree == live.tree
    np.testing.assert_array_equal(again.predict(data.X, 3).scores, live.predict(data.X, 3).scores)


def test_other_trees_do_not_grow():
    for index in (xt.KMeansTree(k=4, max_leaf=8), xt.FlatTree()):
        model, data, fresh = grown(index)
        assert model.updated(data, fresh, NOTHING).tree.n_nodes == model.tree.n_nodes
    model, data, fresh = grown(xt.BalancedTree(arity=4, max_leaf=8), negatives="both")
    assert model.updated(data, fresh, NOTHING).tree.n_nodes == model.tree.n_nodes
