"""Interpolated trees: their ends (balanced, Fano), depths, arities, awkward labels, threads, models over them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis import BalancedTree, InterpolatedTree
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.index.huffman import huffman
from xtrellis.labels.frequency import code_frequency
from xtrellis.labels.space import LabelSpace


def space(n_labels=300, n=800, d=40, seed=0, threads=1, power=1.0):
    """Labels with frequencies that fall like a power of their rank; some have no rows."""
    rng = np.random.default_rng(seed)
    X = as_features(sp.random_array((n, d), density=0.2, rng=rng, format="csr"))
    rates = 0.5 / (1 + rng.permutation(n_labels)) ** power
    Y = as_labels((rng.random((n, n_labels)) < rates).astype(float))
    return LabelSpace(xt.TrainingData.of(X, Y), threads=threads)


@pytest.mark.parametrize("n_labels", [1, 2, 99, 201, 500])
@pytest.mark.parametrize(("arity", "max_leaf"), [(2, 1), (2, 100), (16, 7), (16, 1), (8, 20), (10, 1)])
def test_without_a_tradeoff_it_is_the_balanced_tree(n_labels, arity, max_leaf):
    labels = space(n_labels)
    balanced = BalancedTree(arity=arity, max_leaf=max_leaf).build(labels, seed=3)
    index = InterpolatedTree(tradeoff=0, arity=arity, max_leaf=max_leaf, join="levels")
    assert index.build(labels, seed=3) == balanced
    if arity == 2:  # nothing is joined, so it does not matter how
        assert index.set_params(join="frequency").build(labels, seed=3) == balanced


def clusters(tree):
    """The sets of labels below every node."""
    below = [set() for _ in range(tree.n_nodes)]
    for node in range(tree.n_nodes - 1, -1, -1):
        for child in tree.children[tree.offsets[node] : tree.offsets[node + 1]].tolist():
            below[node] |= below[child] if child >= 0 else {~child}
    return {frozenset(b) for b in below}


@pytest.mark.parametrize("tradeoff", [0, 0.25, 1, 6, math.inf])
@pytest.mark.parametrize("arity", [5, 16])
def test_a_join_is_the_same_at_every_tradeoff(tradeoff, arity):
    """Both only leave out nodes of two: the splits are those of the binary tree, at 0 as at any tradeoff."""
    labels = space(700, 1500, seed=4)
    f = code_frequency(labels.Y)
    narrow, by_frequency, by_levels = (
        InterpolatedTree(tradeoff=tradeoff, arity=a, max_leaf=6, join=join).build(labels, seed=1)
        for a, join in ((2, "levels"), (arity, "frequency"), (arity, "levels"))
    )
    assert clusters(by_frequency) < clusters(narrow)
    assert clusters(by_levels) < clusters(narrow)
    assert by_frequency != by_levels
    assert np.diff(by_levels.offsets).max() <= max(arity, 6)
    assert by_frequency.expected_depth(f) <= by_levels.expected_depth(f)  # what it is for
    # Levels: a label lies below one node for every level that stays, whatever its frequency.
    width = int(math.log2(arity))
    left = (narrow.depth - 1) % width or width  # what the root takes
    assert by_levels.depth == 1 + (1 if narrow.depth > 1 else 0) + max(0, -(-(narrow.depth - 1 - left) // width))


def entropy(f):
    p = f[f > 0] / f.sum()
    return -(p * np.log2(p)).sum()


@pytest.mark.parametrize("kind", ["all", "marginal", "greedy", "soft"])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_all_tradeoff_is_fanos_code(kind, power):
    labels = space(power=power, seed=1)
    f = code_frequency(labels.Y, kind)
    tree = InterpolatedTree(tradeoff=math.inf, arity=2, max_leaf=1, frequency=kind, smoothing=0).build(labels, seed=0)
    assert (np.diff(tree.offsets) == 2).all()
    depth = tree.expected_depth(f)
    assert huffman(f).expected_depth(f) <= depth + 1e-12
    assert depth <= huffman(f).expected_depth(f) + 1
    assert entropy(f) - 1e-9 <= depth <= entropy(f) + 1
    # Its splits are by frequency alone: the vectors are not even made.
    assert "vectors" not in vars(labels)


def test_a_larger_tradeoff_makes_frequent_labels_less_deep():
    labels = space(2000, 4000, seed=2)
    f = code_frequency(labels.Y)
    depths = [
        InterpolatedTree(tradeoff=t, arity=2, max_leaf=10, frequency="all").build(labels, seed=0).expected_depth(f)
        for t in (0, 0.5, 1, 10, math.inf)
    ]
    assert depths[2] < depths[0] - 0.5
    assert depths[4] < depths[1] < depths[0]


@pytest.mark.parametrize("arity", [2, 3, 4, 16, 64])
@pytest.mark.parametrize("tradeoff", [0.25, 1, 100, math.inf])
def test_arity_and_leaves(arity, tradeoff):
    tree = InterpolatedTree(tradeoff=tradeoff, arity=arity, max_leaf=9).build(space(), seed=1)
    sizes = np.diff(tree.offsets)
    inner = np.unique(tree.owner[tree.children >= 0])
    assert sizes[inner].max() <= arity
    assert np.delete(sizes, inner).max() <= 9
    assert sizes.min() >= 2  # a single label needs no node
    assert not tree.has_copies
    assert len(set(tree.label_depths.tolist())) > 1 or arity == 64


def test_wide_trees_are_the_binary_ones_with_levels_left_out():
    labels = space(1000, seed=4)
    narrow = InterpolatedTree(tradeoff=1, arity=2, max_leaf=8).build(labels, seed=1)
    wide = InterpolatedTree(tradeoff=1, arity=16, max_leaf=8).build(labels, seed=1)
    assert clusters(wide) < clusters(narrow)
    assert wide.depth <= -(-(narrow.depth - 1) // 4) + 2


@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("tradeoff", [0.5, 6, math.inf])
def test_the_tree_does_not_depend_on_threads(threads, tradeoff):
    index = InterpolatedTree(tradeoff=tradeoff, arity=4, max_leaf=5)
    one = index.build(space(threads=1), seed=3)
    assert index.build(space(threads=threads), seed=3) == one
    assert index.build(space(threads=threads), seed=4) != one or tradeoff == math.inf


@given(
    st.integers(1, 60), st.integers(1, 30), st.sampled_from([0, 0.01, 0.5, 1, 3, 1000, math.inf]),
    st.sampled_from(["marginal", "greedy", "soft", "all"]), st.sampled_from(["weighted", "direct"]),
    st.sampled_from([0, 0.1, 5]), st.integers(2, 20), st.integers(1, 12), st.sampled_from(["frequency", "levels"]),
    st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=80)
def test_odd_shapes(n_labels, n, tradeoff, kind, route, smoothing, arity, max_leaf, join, seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < rng.random(n_labels) ** 4
    Y[0, 0] = True
    X = rng.random((n, 6)) * (rng.random((n, 6)) < 0.4)
    labels = LabelSpace(xt.TrainingData.of(X, Y), threads=1)
    index = InterpolatedTree(
        tradeoff=tradeoff, arity=arity, max_leaf=max_leaf, frequency=kind, route=route, smoothing=smoothing, join=join,
        row_weights=rng.random(n) + 0.01,
    )  # fmt: skip
    tree = index.build(labels, seed=seed)
    assert tree.n_labels == n_labels
    assert not tree.has_copies
    sizes = np.diff(tree.offsets)
    inner = tree.owner[tree.children >= 0]
    assert not len(inner) or sizes[inner].max() <= arity
    assert (sizes[~np.isin(np.arange(tree.n_nodes), inner)] <= max(arity, max_leaf)).all()


def test_the_routes_differ_only_between_their_ends():
    labels = space()
    for tradeoff, same in ((0, True), (1, False), (math.inf, True)):
        trees = [
            InterpolatedTree(tradeoff=tradeoff, max_leaf=5, route=r, smoothing=0).build(labels, seed=0)
            for r in ("weighted", "direct")
        ]
        assert (trees[0] == trees[1]) is same


@pytest.mark.parametrize(("tradeoff", "join"), [(0, "levels"), (0.5, "frequency")])
def test_indexes_stored_before_there_was_a_join_keep_theirs(tradeoff, join):
    params = InterpolatedTree(tradeoff=tradeoff).params_to_json("fit")
    assert InterpolatedTree(**InterpolatedTree.params_from_json(params)).join == "frequency"
    del params["join"]
    assert InterpolatedTree(**InterpolatedTree.params_from_json(params)).join == join


def test_more_answers_count_more_labels_of_a_row():
    labels = space(200, seed=7)
    kinds = [code_frequency(labels.Y, "marginal", answers=k) for k in (1, 2, 1000)]
    assert kinds[2] == pytest.approx(code_frequency(labels.Y, "all"))
    assert [np.count_nonzero(f) for f in kinds] == sorted({np.count_nonzero(f) for f in kinds})
    trees = [
        InterpolatedTree(tradeoff=6, arity=2, max_leaf=1, frequency=kind, answers=k).build(labels, seed=0)
        for kind, k in (("marginal", 1), ("marginal", 3), ("marginal", 1000), ("all", 1))
    ]
    assert trees[0] != trees[1] != trees[2] == trees[3]


def test_row_weights_move_labels():
    labels = space(100, seed=5)
    last = labels.rows.indices[labels.rows.indptr[99] : labels.rows.indptr[100]]
    weights = np.full(800, 1e-3)
    weights[last] = 1
    depths = [
        InterpolatedTree(tradeoff=math.inf, arity=2, max_leaf=1, frequency="all", row_weights=w)
        .build(labels, seed=0)
        .label_depths[99]
        for w in (None, weights)
    ]
    assert depths[1] < depths[0]


def test_refusals():
    for wrong in (-1, math.nan, "much"):
        with pytest.raises(xt.ParameterError, match=r"tradeoff must be a number ≥ 0 \(inf is allowed\)"):
            InterpolatedTree(tradeoff=wrong)
    with pytest.raises(xt.ParameterError, match="frequency must be one of"):
        InterpolatedTree(frequency="often")
    labels = space(50)
    with pytest.raises(xt.InputError, match="one number for each of 800 rows"):
        InterpolatedTree(row_weights=[1.0, 2.0]).build(labels, seed=0)
    empty = LabelSpace(xt.TrainingData.of(labels.X, np.zeros((800, 50))))
    with pytest.raises(xt.InputError, match="zero everywhere: no row has a label"):
        InterpolatedTree().build(empty, seed=0)
    with pytest.raises(xt.InputError, match="zero everywhere: no row of a weight above 0"):
        InterpolatedTree(row_weights=np.zeros(800)).build(labels, seed=0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n, d, n_labels = 900, 200, 120
    rates = 0.4 / (1 + np.arange(n_labels))
    Y = (rng.random((n, n_labels)) < rates) | (rng.integers(0, n_labels, n)[:, None] == np.arange(n_labels))
    Y[:, [50, 119]] = False
    words = rng.random((n_labels, d)) * (rng.random((n_labels, d)) < 0.03)
    X = (Y @ words) * (rng.random((n, d)) < 0.8)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


@pytest.mark.parametrize(
    "index",
    [
        InterpolatedTree(tradeoff=1, arity=2, max_leaf=4),
        InterpolatedTree(tradeoff=100, arity=16, max_leaf=4),
        InterpolatedTree(tradeoff=math.inf, arity=2, max_leaf=1),
        xt.HuffmanTree(),
    ],
    ids=lambda i: f"{type(i).__name__}-{i.get_params().get('tradeoff')}",
)
@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_models_over_leaves_at_different_depths(index, storage, data, tmp_path):
    X, Y = data
    model = xt.LinearTree(index=index, storage=storage, beam=None, seed=1, threads=1).fit(X, Y)
    depths = model.tree.label_depths
    assert depths.max() > depths.min() + (2 if model.index.get_params().get("arity") == 2 else 0)
    exact = model.predict(X[:200], k=5)
    # The exact answer, by scoring every label of every row.
    wanted = sp.csr_array(np.ones((200, Y.shape[1]), np.float32))
    scores = model.score(X[:200], wanted).toarray()
    assert np.sort(scores, axis=1)[:, ::-1][:, :5] == pytest.approx(exact.scores, rel=1e-5, abs=1e-7)
    first = model.set_params(search="best-first").predict(X[:200], k=5)
    assert first.scores == pytest.approx(exact.scores, rel=1e-5)
    one = model.predict(X[[7]], k=5)
    np.testing.assert_array_equal(one.labels, first.labels[7:8])
    model.set_params(search="beam", beam=10)
    assert xt.evaluate(Y, model.predict(X, k=3), ["P@1"])["P@1"] > 60
    model.save(tmp_path / "model")
    again = xt.load(tmp_path / "model")
    assert again.index == index
    np.testing.assert_array_equal(again.predict(X, k=3).labels, model.predict(X, k=3).labels)
    for label in (int(np.argmin(depths)), int(np.argmax(depths))):
        why = model.explain(X[[3]], label)
        assert len(why.paths[0].steps) == depths[label]
    report = xt.evaluate(Y, model.predict(X, k=3), ["depth@1", "depth@3"], depth=depths)
    assert depths.min() <= report["depth@1"] <= report["depth@3"] <= depths.max()
