"""`LinearTree.updated`: where it trains, it trains what a training would; everything else keeps its bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis._native import linear as native
from xtrellis.arrays import is_right
from xtrellis.data import TrainingData
from xtrellis.linear.living import update
from xtrellis.linear.living.moves import rehoused
from xtrellis.linear.packed import PackedTree, ranks_by_frequency
from xtrellis.linear.train import Trainer

NOTHING = np.zeros(0, np.int64)


def world(n_rows: int = 600, n_labels: int = 60, n_features: int = 300) -> tuple[csr_array, csr_array]:
    data = xt.synthetic(n_rows=n_rows, n_labels=n_labels, n_features=n_features, seed=3)
    return csr_array(data.X), csr_array(data.Y)


def learned(model: xt.LinearTree, old: int, n_old_labels: int | None = None, **sizes: int) -> tuple:
    """(the model of the first rows, all data, the new rows)."""
    X, Y = world(**sizes)
    L = Y.shape[1] if n_old_labels is None else n_old_labels
    model.fit(X[:old], csr_array(Y[:old])[:, :L])
    return model, TrainingData.of(X, Y), np.arange(old, X.shape[0])


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("index", [xt.BalancedTree(arity=4, max_leaf=8), xt.FlatTree(), xt.InterpolatedTree()])
def test_all_trained_again_is_a_training_on_the_same_tree(monkeypatch, storage, index):
    model, data, fresh = learned(xt.LinearTree(index=index, storage=storage, threads=2), 400)
    monkeypatch.setattr(update, "STALE_ABOVE", -1.0)
    monkeypatch.setattr(update, "STALE", -1.0)  # everything has changed more than that
    found = model.updated(data, fresh, NOTHING).trees[0]
    unit = data.at_unit_length()
    trainer = Trainer(
        unit.X, unit.Y, found.tree, model.solver(), model.negative_rows(), storage=storage, seed=0, threads=1
    )
    twin = PackedTree.join(
        found.tree, trainer.train(), data.n_features, transform=model.transform, storage=storage,
        label_ranks=ranks_by_frequency(data.label_counts),
    )  # fmt: skip
    for name in ("buckets", "biases", "bucket_offsets", "byte_offsets"):
        np.testing.assert_array_equal(found.arrays[name], twin.arrays[name])
    if storage != "int8":  # a block whose weights have become smaller keeps its scale
        np.testing.assert_array_equal(found.arrays["bytes"], twin.arrays["bytes"])
    np.testing.assert_array_equal(found.label_ranks, twin.label_ranks)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_what_is_not_trained_keeps_its_bits(monkeypatch, storage):
    model, data, fresh = learned(xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), storage=storage), 560)
    monkeypatch.setattr(update, "STALE", 1e9)
    monkeypatch.setattr(update, "STALE_ABOVE", 1e9)
    told = np.array([7, 33])
    before, after = model.trees[0], model.updated(data, fresh, told).trees[0]
    assert before.tree == after.tree
    labels = ~before.tree.children
    trained = np.isin(labels, told) & (before.tree.children < 0)
    np.testing.assert_array_equal(before.arrays["biases"][~trained], after.arrays["biases"][~trained])
    for b in range(before.n_blocks):
        node = int(np.searchsorted(before.blocks, b, side="right")) - 1
        mine = trained[before.tree.offsets[node] : before.tree.offsets[node + 1]]
        old, new = _weights(before, b), _weights(after, b)
        assert {k: v for k, v in old.items() if not mine[k[1]]} == {k: v for k, v in new.items() if not mine[k[1]]}
        assert (old == new) == (not mine.any())


def _weights(tree: PackedTree, block: int) -> dict[tuple[int, int], float]:
    features, starts, children, weights = tree.block(block)
    feature = np.repeat(features, np.diff(starts)).tolist()
    return dict(zip(zip(feature, children.tolist(), strict=True), weights.tolist(), strict=True))


@pytest.mark.parametrize(
    "model",
    [
        xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), negatives="both"),
        xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), negatives="matcher", search="best-first", beam=None),
        xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), n_trees=3),
        xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), overlap=xt.Overlap(copies=2)),
        xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), loss="logistic", max_weights=20, bias=0.0),
        xt.LinearTree(index=xt.HuffmanTree()),
        xt.LinearTree(index=xt.FlatTree()),
    ],
    ids=["both", "matcher", "three trees", "overlap", "logistic", "huffman", "flat"],
)
def test_new_labels_get_places_and_are_found(model, tmp_path):
    model, data, fresh = learned(model.clone(), 300, n_old_labels=45)
    bytes_of = []
    for threads in (1, 2):
        model.threads = threads
        other = model.updated(data, fresh, NOTHING)
        other.save(tmp_path / str(threads))
        bytes_of.append({p.name: p.read_bytes() for p in (tmp_path / str(threads)).glob("*.safetensors")})
    assert bytes_of[0] == bytes_of[1]
    assert model.n_labels == 45
    assert other.n_labels == 60
    again = xt.load(tmp_path / "1")
    top, same = other.predict(data.X, 5), again.predict(data.X, 5)
    np.testing.assert_array_equal(top.labels, same.labels)
    np.testing.assert_array_equal(top.scores, same.scores)
    full = model.clone().fit(data.X, data.Y).predict(data.X, 5)
    hits = [xt.evaluate(data.Y, t, ["P@1"])["P@1"] for t in (top, full)]
    assert hits[0] > hits[1] - 15
    of_new = csr_array(data.Y)[:, 45:]
    found = [is_right(t.labels - 45, of_new).sum() for t in (top, full)]
    assert found[0] > 0.8 * found[1] > 0
    third = again.updated(data, NOTHING, NOTHING)  # nothing has come since: nothing is trained
    for a, b in zip(again.trees, third.trees, strict=True):
        for name in a.arrays:
            np.testing.assert_array_equal(a.arrays[name], b.arrays[name])


def test_a_node_may_come_to_need_another_block():
    model, data, fresh = learned(xt.LinearTree(index=xt.FlatTree()), 700, n_old_labels=250, n_rows=900, n_labels=300)
    assert model.trees[0].n_blocks == 1
    after = model.updated(data, fresh, NOTHING)
    assert after.trees[0].n_blocks == 2
    assert after.predict(data.X, 1).labels.max() >= 256


def test_wide_features_are_renumbered(monkeypatch):
    X, Y = world()
    wide = csr_array((X.data, X.indices * 7000, X.indptr), shape=(X.shape[0], X.shape[1] * 7000))
    found = []
    for matrix in (X, wide):
        model = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8)).fit(matrix[:300], Y[:300])
        found.append(model.updated(TrainingData.of(matrix, Y), np.arange(300, 600), NOTHING).predict(matrix, 5))
    np.testing.assert_array_equal(found[0].labels, found[1].labels)


@pytest.mark.parametrize("seed", range(6))
def test_a_block_is_revised_as_if_its_weights_were_a_table(seed):
    rng = np.random.default_rng(seed)

    def block(children: np.ndarray, share: float) -> np.ndarray:
        table = np.where(rng.random((40, 256)) < share, rng.normal(size=(40, 256)), 0).astype(np.float32)
        table[:, np.setdiff1d(np.arange(256), children)] = 0
        return table

    def plain(table: np.ndarray) -> tuple:
        features = np.flatnonzero(table.any(axis=1)).astype(np.int32)
        rows = [np.flatnonzero(table[f]) for f in features]
        starts = np.cumsum([0, *map(len, rows)]).astype(np.uint32)
        children = np.concatenate([*rows, np.zeros(0, int)]).astype(np.uint8)
        return features * 3, starts, children, table[table != 0]

    gone = (rng.random(256) < (0.0, 0.1, 0.5, 1.0, 0.3, 0.3)[seed]).astype(np.uint8)
    old = block(np.arange(256), 0.2 if seed != 4 else 0.0)
    new = block(np.flatnonzero(gone), 0.1 if seed != 5 else 0.0)
    expected = plain(np.where(gone > 0, new, old))
    for found, wanted in zip(native.revise(*plain(old), *plain(new), gone), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("seed", range(8))
def test_labels_move_and_slots_follow_them(seed):
    rng = np.random.default_rng(seed)
    n_labels, share = (40, 1500, 40, 40, 1500, 40, 900, 40)[seed], (0.0, 0.05, 0.3, 0.1, 0.001, 0.6, 0.0, 0.3)[seed]
    above = rng.integers(3, 7, n_labels)
    above[: 4 * (seed == 7)] = 1  # labels beside nodes
    tree = xt.LabelTree.from_parents([-1, 0, 0, 1, 1, 2, 2], np.arange(n_labels), above, n_labels)
    nodes = tree.owner[tree.label_slots[1]].astype(np.int64)
    moved = rng.random(n_labels) < share
    nodes = np.where(moved, rng.integers(3, 7, n_labels), nodes)
    labels = rng.permutation(n_labels)
    found = rehoused(tree, labels, nodes[labels])
    after, number = found.tree, found.number
    np.testing.assert_array_equal(found.origin, np.arange(tree.n_nodes))
    np.testing.assert_array_equal(after.owner[after.label_slots[1]], nodes)
    kept = number >= 0
    np.testing.assert_array_equal(after.children[number[kept]], tree.children[kept])
    np.testing.assert_array_equal(after.owner[number[kept]], tree.owner[kept])
    for node in range(tree.n_nodes):
        old, new = (slice(t.offsets[node], t.offsets[node + 1]) for t in (tree, after))
        place = number[old][number[old] >= 0] - new.start
        assert (np.diff(place) > 0).all()  # so weights of one feature stay in order
        if set(tree.children[old]) == set(after.children[new]):
            np.testing.assert_array_equal(place, np.arange(new.stop - new.start))
        elif max(old.stop - old.start, new.stop - new.start) > 256:  # nobody goes from block to block
            assert len(place) == 0
        else:  # something is trained, and the block packed again
            assert len(place) < new.stop - new.start


def test_a_label_whose_rows_have_changed_moves_to_the_labels_that_it_is_like():
    rng = np.random.default_rng(1)
    n, groups, each = 1200, 4, 6
    group = rng.integers(0, groups, n)
    X = np.zeros((n, 60), np.float32)
    for column in range(10):
        X[np.arange(n), group * 10 + column] = rng.random(n) < 0.6
    Y = np.zeros((n, groups * each + 1), np.float32)
    Y[np.arange(n), group * each + rng.integers(0, each, n)] = 1
    wanderer = groups * each
    Y[np.flatnonzero(group[:400] == 0)[:2], wanderer] = 1  # at first among those of one group
    Y[400 + np.flatnonzero(group[400:] == 2)[:60], wanderer] = 1  # then of another
    data = TrainingData.of(csr_array(X), csr_array(Y))
    model = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), threads=1).fit(X[:400], csr_array(Y[:400]))

    def others(tree: xt.LabelTree) -> set[int]:
        node = int(tree.owner[tree.label_slots[1][wanderer]])
        return {int(label) // each for label in tree.labels_below(node) if label != wanderer}

    assert 2 not in others(model.tree)
    after = model.updated(data, np.arange(400, n), NOTHING)
    assert others(after.tree) == {2}
    top = after.predict(csr_array(X[group == 2]), 7)
    assert (top.labels == wanderer).any(axis=1).mean() > 0.9


def test_groups_of_a_given_tree_keep_their_names_and_labels_stay_in_them():
    X, Y = world()
    names = [f"label {i}" for i in range(60)]
    given = {name: f"group {i // 10}" for i, name in enumerate(names[:50])}
    model = xt.LinearTree(index=xt.GivenTree(parents=given))
    model.fit(X[:400], csr_array(Y[:400])[:, :50], label_names=names[:50])
    after = model.updated(TrainingData.of(X, Y, label_names=names), np.arange(400, 600), NOTHING).tree
    assert after.n_labels == 60
    assert [after.name_of(v) for v in range(after.n_nodes)] == [model.tree.name_of(v) for v in range(after.n_nodes)]
    for label in range(50):
        assert after.name_of(int(after.owner[after.label_slots[1][label]])) == f"group {label // 10}"
