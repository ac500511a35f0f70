"""Linear trees of every kind on data of odd shapes: answers are what scoring everything would give."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis.linear.model import LinearTree

sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))
import linear_twin as twin


@st.composite
def indexes(draw, n_labels):
    kind = draw(st.sampled_from(["balanced", "kmeans", "given", "flat"]))
    if kind == "balanced":
        return xt.BalancedTree(arity=draw(st.sampled_from([2, 4, 16])), max_leaf=draw(st.integers(1, 9)))
    if kind == "kmeans":
        k, depth, max_leaf = draw(st.integers(2, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 9))
        return xt.KMeansTree(k=k, depth=depth, max_leaf=max_leaf)
    if kind == "flat":
        return xt.FlatTree()
    # Groups follow the labels and stand below earlier groups, so there are no circles; tops are joined.
    n_groups = draw(st.integers(0, 8))
    above = st.integers(-1, n_groups - 1)
    labels = [draw(above) for _ in range(n_labels)]
    groups = [draw(st.integers(-1, i - 1)) for i in range(n_groups)]
    return xt.GivenTree(parents=[g if g < 0 else n_labels + g for g in labels + groups])


@st.composite
def worlds(draw, **fixed):
    """(X, Y, model): rows without features, labels without rows, equal rows, one row, one label, no feature at all."""
    n, d, n_labels = draw(st.integers(1, 20)), draw(st.integers(0, 7)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = (rng.random((n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.1, 0.5, 1.0])))).astype(np.float32)
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    X = np.divide(X, lengths, out=X, where=lengths > 0)  # as models make them
    Y = (rng.random((n, n_labels)) < draw(st.sampled_from([0.0, 0.05, 0.3]))).astype(np.float32)
    params = {
        "negatives": draw(st.sampled_from(["teacher", "matcher", "both"])),
        "negative_beam": draw(st.integers(1, 4)),
        "storage": draw(st.sampled_from(["float32", "float16", "int8"])),
        "transform": draw(st.sampled_from(["l2-hinge", "l3-hinge", "sigmoid"])),
        "search": draw(st.sampled_from(["beam", "best-first"])),
        "loss": draw(st.sampled_from(["squared-hinge", "logistic"])),
        "prune": draw(st.sampled_from([0.0, 0.1])),
        "bias": draw(st.sampled_from([0.0, 1.0])),
        "n_trees": draw(st.sampled_from([1, 1, 3])),
        "beam": draw(st.sampled_from([1, 2, 5, None])),
        "threads": 1,
    } | fixed
    return X, Y, LinearTree(index=draw(indexes(n_labels)), **params).fit(X, Y)


def check_order(top, X, model):
    """Best first, no label twice, padding at the end; fewer answers are the first of more.

    (Which of equal scores comes first: their logarithms say, 1e-50 and 1e-60 are both 0; tests/unit/linear.)
    """
    if model is not None and len(model.trees) == 1 and top.k > 1:
        np.testing.assert_array_equal(model.predict(X, k=top.k - 1).labels, top.labels[:, :-1])
    for labels, scores in zip(top.labels, top.scores, strict=True):
        real = int((labels >= 0).sum())
        assert (labels[real:] == -1).all()
        assert (scores[real:] == 0).all()
        assert len(set(labels[:real].tolist())) == real
        assert (np.diff(scores[:real]) <= 0).all()
        assert np.isfinite(scores).all()


@given(world=worlds(beam=None), k=st.integers(1, 35))
@settings(max_examples=80)
def test_without_a_beam_answers_are_those_of_scoring_everything(world, k):
    X, _, model = world
    top = model.predict(X, k=k)
    k = min(k, model.n_labels)
    assert top.labels.shape == (len(X), k)
    assert (top.labels >= 0).all()
    check_order(top, X, model)
    for row, x in enumerate(X.astype(np.float64)):
        exact = np.mean([twin.all_scores(tree, x) for tree in model.trees], axis=0)
        np.testing.assert_allclose(top.scores[row], np.sort(exact)[::-1][:k], rtol=2e-3, atol=1e-9)
        np.testing.assert_allclose(top.scores[row], exact[top.labels[row]], rtol=2e-3, atol=1e-9)


@given(world=worlds(), k=st.integers(1, 12), some=st.sets(st.integers(0, 29), min_size=1))
@settings(max_examples=25)
def test_many_rows_one_row_and_a_loaded_model_answer_alike(world, k, some):
    X, _, model = world
    top = model.predict(X, k=k)
    check_order(top, X, model)
    for row in range(len(X)):
        one = model.predict(X[[row]], k=k)
        np.testing.assert_array_equal(one.labels[0], top.labels[row])
        np.testing.assert_array_equal(one.scores[0], top.scores[row])
    allowed = sorted({label % model.n_labels for label in some})
    limited = model.predict(X, k=k, labels=allowed)
    check_order(limited, X, None)
    assert np.isin(limited.labels, [-1, *allowed]).all()
    many = np.repeat(X, 30, axis=0)  # enough rows for the walk that shares tables
    np.testing.assert_array_equal(model.predict(many, k=k).scores, np.repeat(top.scores, 30, axis=0))
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "a"), Path(folder, "b")
        model.save(first)
        loaded = xt.load(first)
        np.testing.assert_array_equal(loaded.predict(X, k=k).scores, top.scores)
        np.testing.assert_array_equal(loaded.predict(X, k=k).labels, top.labels)
        loaded.save(second)
        files = {path.name: path.read_bytes() for path in first.rglob("*") if path.is_file()}
        assert files == {path.name: path.read_bytes() for path in second.rglob("*") if path.is_file()}


def near_ties(packed, x):
    """True if rounding could change which nodes a beam keeps."""
    tree, logs = packed.tree, twin.slot_logs(packed, x)
    totals = np.zeros(tree.n_nodes)
    for node in range(1, tree.n_nodes):  # parents have smaller numbers
        slot = tree.node_slot[node]
        totals[node] = totals[tree.owner[slot]] + logs[slot]
    gaps = np.diff(np.sort(totals))
    return bool(((gaps > 0) & (gaps < 1e-4 * np.maximum(1, np.abs(np.sort(totals)[1:])))).any())


@given(world=worlds(n_trees=1, search="best-first"), beam=st.integers(1, 4), k=st.integers(1, 12))
@settings(max_examples=80)
def test_best_first_with_a_beam_is_the_twins_and_finds_what_a_beam_finds(world, beam, k):
    X, _, model = world
    top = model.set_params(beam=beam).predict(X, k=k)
    np.testing.assert_array_equal(top.scores, model.set_params(search="beam").predict(X, k=k).scores)
    for row, x in enumerate(X.astype(np.float64)):
        if near_ties(model.trees[0], x):
            continue
        labels, scores = twin.best_first(model.trees[0], x, beam, k)
        assert (top.labels[row] >= 0).sum() == len(labels)
        np.testing.assert_allclose(top.scores[row][: len(labels)], scores, rtol=2e-3, atol=1e-9)


@given(world=worlds())
@settings(max_examples=40)
def test_explanations_are_of_the_answers(world):
    X, _, model = world
    top = model.predict(X[:1], k=3)
    for label, score in next(iter(top)):
        why = model.explain(X[0], label)
        assert why.reached
        np.testing.assert_allclose(why.score, score, rtol=2e-3, atol=1e-9)
