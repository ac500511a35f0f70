"""The best labels by the mean of several trees, beside scoring every label in every tree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays.topk import TopK
from xtrellis.linear import several
from xtrellis.linear.model import LinearTree


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    X = sp.random_array((150, 60), density=0.2, rng=rng, dtype=np.float32, format="csr")
    Y = sp.csr_array((rng.random((150, 400)) < 0.01).astype(np.float32))
    model = LinearTree(index=xt.BalancedTree(max_leaf=5, arity=2), n_trees=3, prune=0.0, tolerance=1.0)
    return X, model.fit(X, Y)


def changed(model, **params):
    other = model.clone().set_params(**params)
    other._trees = model._trees
    return other


@pytest.mark.parametrize("transform", ["l3-hinge", "sigmoid"])
@pytest.mark.parametrize("search", ["best-first", "beam"])
@pytest.mark.parametrize("k", [1, 2, 5, 400, 1000])
def test_search_without_a_beam_is_exact_in_the_mean(world, k, search, transform):
    """Trees disagree much here, so that a tree's first answers do not decide."""
    X, model = world
    exact = model.clone().set_params(search=search, beam=None)
    exact._trees = tuple(tree.scored_by(transform) for tree in model.trees)
    top = exact.predict(X, k=k)
    every = exact.score(X, np.ones((150, 400)))
    best = TopK.from_csr(every, min(k, 400))
    np.testing.assert_array_equal(top.scores, best.scores)
    clear = np.diff(best.scores, axis=1).max(axis=1, initial=-1) < 0  # no equals among them
    np.testing.assert_array_equal(top.labels[clear, :-1], best.labels[clear, :-1])


def test_rows_are_searched_deeper_only_where_needed(world, monkeypatch):
    X, model = world
    exact = changed(model, beam=None)
    asked = []
    search_tree = several.search_tree

    def watched(tree, rows, k, *args, **kwargs):
        asked.append((rows.shape[0], k))
        return search_tree(tree, rows, k, *args, **kwargs)

    expected = exact.predict(X, k=5)
    monkeypatch.setattr(several, "search_tree", watched)
    monkeypatch.setattr(several, "SPARE", 1)
    np.testing.assert_array_equal(exact.predict(X, k=5).scores, expected.scores)
    assert asked[:3] == [(150, 5)] * 3
    assert 0 < asked[3][0] < 150
    assert asked[3][1] == 20
    monkeypatch.setattr(several, "MOST_ANSWERS", 100)  # a few rows at a time
    np.testing.assert_array_equal(exact.predict(X, k=5).scores, expected.scores)


def test_some_labels_only(world):
    X, model = world
    exact = changed(model, search="best-first", beam=None)
    allowed = [3, 50, 51, 52, 300, 399]
    every = model.score(X, np.ones((150, 400))).toarray()[:, allowed]
    for k in (1, 4, 9):
        top = exact.predict(X, k=k, labels=allowed)
        np.testing.assert_array_equal(top.scores, -np.sort(-every, axis=1)[:, :k])


@pytest.mark.parametrize("beam", [1, 3, 10])
def test_what_one_beam_finds_is_scored_in_all_trees(world, beam):
    X, model = world
    narrow = changed(model, beam=beam)
    top = narrow.predict(X, k=4)
    wanted = top.to_csr()
    np.testing.assert_array_equal(model.score(X, wanted).data, wanted.data)
    assert (top.labels[:, : beam + 1] >= 0).all()


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("search", ["beam", "best-first"])
def test_one_row_a_few_many_and_threads_give_the_same_bits(world, search, k):
    X, model = world
    for beam in (2, 10, None):
        other = changed(model, search=search, threads=1, beam=beam)
        top = other.predict(X, k=k)
        same(other.set_params(threads=3).predict(X, k=k), top)
        same(other.predict(X[:9], k=k), top[:9])
        for row in (0, 77, 149):
            same(other.predict(X[[row]], k=k), top[row : row + 1])
            same(other.predict(X[[row]].toarray(), k=k), top[row : row + 1])  # the long way
    assert model.predict(X[:0], k=3).labels.shape == (0, 3)


@pytest.mark.parametrize("merge", ["max", "mean"])
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_labels_in_several_clusters_and_a_prior(world, merge, storage):
    X, _ = world
    Y = sp.csr_array((np.random.default_rng(1).random((150, 60)) < 0.05).astype(np.float32))
    model = LinearTree(
        index=xt.BalancedTree(max_leaf=5, arity=2), n_trees=3, overlap=xt.Overlap(copies=2, merge=merge), beam=3,
        storage=storage, prior=0.3, threads=1,
    )  # fmt: skip
    model.fit(X, Y)
    top = model.predict(X, k=6)
    for row in range(0, 150, 7):
        same(model.predict(X[[row]], k=6), top[row : row + 1])


def test_ensembles_of_trees(world):
    """Members with other beams and ways to search, whose scores are added in double precision."""
    X, _ = world
    Y = sp.csr_array((np.random.default_rng(1).random((150, 60)) < 0.05).astype(np.float32))
    index = xt.BalancedTree(max_leaf=5, arity=2)
    trees = [LinearTree(index=index, beam=3), LinearTree(index=index, search="best-first", slack=0.1), LinearTree()]
    model = xt.Ensemble(models=trees, candidates=7, threads=1).fit(X, Y)
    top = model.predict(X, k=5)
    for row in range(0, 150, 7):
        same(model.predict(X[[row]], k=5), top[row : row + 1])
    wanted = top.to_csr()
    np.testing.assert_array_equal(model.score(X, wanted).data, wanted.data)


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)
