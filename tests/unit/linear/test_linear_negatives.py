"""Which rows a node learns from: every scheme learns, and none depends on threads."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays.inputs import as_labels
from xtrellis.data.datasets.synthetic import synthetic
from xtrellis.linear.model import LinearTree
from xtrellis.linear.routes import NEGATIVES


@pytest.fixture(scope="module")
def world():
    made = synthetic(n_rows=3000, n_labels=400, n_features=2000, seed=3)
    return made.X, made.Y


def bytes_of(model):
    return [{name: array.tobytes() for name, array in tree.arrays.items()} for tree in model.trees]


@pytest.mark.parametrize("negatives", NEGATIVES)
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_the_model_is_the_same_for_any_number_of_threads(world, negatives, loss):
    X, Y = world
    index = xt.BalancedTree(arity=4, max_leaf=10)
    models = [
        LinearTree(index=index, negatives=negatives, negative_beam=3, loss=loss, threads=threads).fit(X, Y)
        for threads in (1, 2, 7)
    ]
    assert bytes_of(models[0]) == bytes_of(models[1]) == bytes_of(models[2])


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_every_scheme_learns(world, negatives):
    X, Y = world
    model = LinearTree(index=xt.BalancedTree(arity=4, max_leaf=10), negatives=negatives).fit(X[:2500], Y[:2500])
    found = xt.evaluate(Y[2500:], model.predict(X[2500:], k=1), metrics=["P@1"])["P@1"]
    assert found > 50


def test_a_matcher_that_reaches_everything_trains_one_against_all(world):
    """With a beam over all nodes every row is at every node: the labels' classifiers are those of a flat tree."""
    X, Y = world
    tight = {"tolerance": 1e-4, "max_epochs": 3000, "prune": 0.0}
    flat = LinearTree(index=xt.FlatTree(), **tight).fit(X[:300], Y[:300]).trees[0]
    tree = LinearTree(
        index=xt.BalancedTree(arity=4, max_leaf=100), negatives="matcher", negative_beam=1000, **tight
    ).fit(X[:300], Y[:300]).trees[0]  # fmt: skip
    biases = np.empty(400)
    inner = tree.tree.children < 0
    biases[~tree.tree.children[inner]] = tree.arrays["biases"][inner]
    np.testing.assert_allclose(biases, flat.arrays["biases"], atol=5e-3)


def test_a_wide_beam_of_negatives_contains_the_teacher(world):
    """Both schemes together are the matcher's alone once that reaches every node."""
    X, Y = world
    index = xt.BalancedTree(arity=4, max_leaf=50)
    both, matcher = (
        LinearTree(index=index, negatives=scheme, negative_beam=10_000).fit(X[:500], Y[:500])
        for scheme in ("both", "matcher")
    )
    assert bytes_of(both) == bytes_of(matcher)
    assert bytes_of(both) != bytes_of(LinearTree(index=index).fit(X[:500], Y[:500]))


def test_rows_without_labels_teach_the_nodes_that_search_leads_them_to(world):
    X, Y = world
    Y = as_labels(Y)
    labelled = np.arange(200)
    plain = Y.toarray()
    plain[200:400] = 0
    index = xt.BalancedTree(arity=4, max_leaf=10)
    kwargs = {"index": index, "negatives": "both", "negative_beam": 5}
    with_empty = LinearTree(**kwargs).fit(X[:400], plain[:400])
    without = LinearTree(**kwargs).fit(X[:200], plain[labelled])
    assert with_empty.tree == without.tree
    last = slice(int(with_empty.tree.offsets[with_empty.tree.levels()[-1][0]]), None)
    difference = with_empty.trees[0].arrays["biases"][last] - without.trees[0].arrays["biases"][last]
    assert difference.mean() < -0.01, "more negatives push scores down"


@pytest.mark.parametrize("negatives", ["matcher", "both"])
def test_a_flat_tree_has_nothing_to_match(world, negatives):
    X, Y = world
    flat = LinearTree(index=xt.FlatTree()).fit(X[:300], Y[:300])
    assert bytes_of(LinearTree(index=xt.FlatTree(), negatives=negatives).fit(X[:300], Y[:300])) == bytes_of(flat)


def test_unknown_schemes_are_refused():
    with pytest.raises(xt.ParameterError, match="did you mean 'matcher'"):
        LinearTree(negatives="matchr")
    with pytest.raises(xt.ParameterError, match="negative_beam must be an integer ≥ 1"):
        LinearTree(negative_beam=0)
