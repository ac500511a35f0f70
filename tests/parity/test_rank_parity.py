"""Kernels of the rank room against NumPy, SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from xtrellis._native import linear as native
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.arrays.topk import TopK
from xtrellis.rank.calibration import Calibration, is_right
from xtrellis.rank.candidates import best
from xtrellis.rank.classifiers import Classifiers
from xtrellis.rank.ranker import Ranker, pairs_by_label


@pytest.fixture(scope="module")
def world():
    """Rows, labels and five candidates a row, some missing."""
    rng = np.random.default_rng(1)
    n, d, n_labels = 150, 30, 12
    Y = as_labels((rng.random((n, n_labels)) < 0.2) * (np.arange(n_labels) != 4))
    X = as_features((Y.toarray() @ rng.random((n_labels, d)) * (rng.random((n, d)) < 0.4)).astype(np.float32))
    labels = np.argsort(rng.random((n, n_labels)), axis=1)[:, :5].astype(np.int32)
    labels[rng.random(labels.shape) < 0.1] = -1
    return X, Y, TopK(labels, np.where(labels >= 0, rng.random(labels.shape), 0).astype(np.float32), n_labels)


def test_every_label_gets_the_rows_it_has_or_is_a_candidate_of(world):
    _, Y, candidates = world
    offsets, rows, positive = pairs_by_label(Y, candidates)
    has = Y.toarray() > 0
    for label in range(candidates.n_labels):
        mine = slice(offsets[label], offsets[label + 1])
        expected = np.flatnonzero(has[:, label] | (candidates.labels == label).any(axis=1))
        np.testing.assert_array_equal(rows[mine], expected)
        np.testing.assert_array_equal(positive[mine], has[expected, label])


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_a_lone_classifier_is_that_of_a_node_with_one_child(world, loss):
    X, Y, candidates = world
    found = Ranker(loss=loss, cost=2.0, tolerance=1e-4, max_epochs=5000, prune=0).train(X, Y, candidates, threads=2)
    offsets, rows, positive = pairs_by_label(Y, candidates)
    for label in range(candidates.n_labels):
        mine = slice(offsets[label], offsets[label + 1])
        got = np.zeros(X.shape[1])
        at = slice(found.offsets[label], found.offsets[label + 1])
        assert (np.diff(found.features[at]) > 0).all()
        got[found.features[at]] = found.weights[at]
        if not positive[mine].any():
            assert (found.biases[label], len(found.features[at])) == (-1, 0)
            continue
        features, _, _, weights, biases, _, converged = native.train(
            X.indptr, X.indices, X.data, X.shape[1], rows[mine],
            np.concatenate([[0], np.cumsum(positive[mine])]).astype(np.int64),
            np.zeros(int(positive[mine].sum()), np.int32), np.zeros(0, np.float32),
            first=0, count=1, bias=1.0, loss=["squared-hinge", "logistic"].index(loss), cost_positive=2.0,
            cost_negative=2.0, tolerance=1e-4, epochs=5000, threshold=0.0, max_weights=0, key=7,
        )  # fmt: skip
        assert converged.all()
        expected = np.zeros(X.shape[1])
        expected[features] = weights
        np.testing.assert_allclose(got, expected, atol=5e-3)
        np.testing.assert_allclose(found.biases[label], biases[0], atol=5e-3)


def test_pruning_keeps_the_largest_weights(world):
    X, Y, candidates = world
    whole = Ranker(prune=0).train(X, Y, candidates)
    few = Ranker(prune=0.2, max_weights=3).train(X, Y, candidates)
    for label in range(candidates.n_labels):
        mine = slice(whole.offsets[label], whole.offsets[label + 1])
        sizes = np.abs(whole.weights[mine])
        kept = whole.features[mine][np.argsort(-sizes, kind="stable")[:3]]
        kept = kept[np.sort(-sizes)[:3] <= -0.2]
        np.testing.assert_array_equal(few.features[few.offsets[label] : few.offsets[label + 1]], np.sort(kept))


@pytest.mark.parametrize("transform", ["sigmoid", "l3-hinge"])
@pytest.mark.parametrize("density", [0.02, 0.6])  # few features: looked up; many: spread over a line
def test_scores_of_candidates(transform, density):
    rng = np.random.default_rng(2)
    n, d, n_labels = 200, 900, 15
    X = as_features(sp.random_array((n, d), density=density, random_state=3, dtype=np.float32, format="csr"))
    weights = sp.random_array((n_labels, d), density=0.7, random_state=4, dtype=np.float32, format="csr")
    weights.data -= 0.5
    weights = as_features(weights)
    biases = rng.normal(size=n_labels).astype(np.float32)
    labels = rng.integers(-1, n_labels, (n, 6)).astype(np.int32)
    classifiers = Classifiers(weights.indptr, weights.indices, weights.data, biases, n_features=d, transform=transform)
    margins = (X.toarray().astype(np.float64) @ weights.toarray().T + biases)[np.arange(n)[:, None], labels]
    expected = 1 / (1 + np.exp(-margins)) if transform == "sigmoid" else np.exp(-(np.maximum(0, 1 - margins) ** 3))
    expected[labels < 0] = 0
    for threads in (1, 2):
        np.testing.assert_allclose(classifiers.score(X, labels, threads=threads), expected, rtol=2e-4, atol=1e-6)


def test_the_calibration_is_scikit_learns_tree(world):
    _, Y, candidates = world
    rng = np.random.default_rng(5)
    p, q = (rng.random(candidates.labels.shape).astype(np.float32) for _ in range(2))
    frequency = np.asarray(Y.sum(axis=0)).astype(np.int64)
    found = Calibration.learn(p, q, candidates.labels, Y, frequency, max_leaves=20, min_leaf=5, seed=0)
    there = candidates.labels >= 0
    inputs = np.stack([p, q, p * q, frequency.astype(np.float32)[candidates.labels]], axis=2)[there]
    tree = DecisionTreeClassifier(max_leaf_nodes=20, min_samples_leaf=5, monotonic_cst=(1, 1, 1, 0), random_state=0)
    tree.fit(inputs, is_right(candidates.labels, Y)[there])
    got = found.probability(p, q, candidates.labels)
    assert found.n_leaves == tree.get_n_leaves() > 5
    np.testing.assert_allclose(got[there], tree.predict_proba(inputs)[:, 1], rtol=1e-6)
    assert (got[~there] == 0).all()
    # On a threshold itself the sides must agree too.
    edges = np.repeat(tree.tree_.threshold[tree.tree_.feature >= 0].astype(np.float32)[:, None], 5, axis=1)
    many = np.resize(candidates.labels, edges.shape)
    many[many < 0] = 0
    at_edges = np.stack([edges, edges, edges * edges, frequency.astype(np.float32)[many]], axis=2)
    expected = tree.predict_proba(at_edges.reshape(-1, 4))[:, 1].reshape(edges.shape)
    np.testing.assert_allclose(found.probability(edges, edges, many), expected, rtol=1e-6)


def test_which_candidates_are_right(world):
    _, Y, candidates = world
    dense = np.column_stack([Y.toarray() > 0, np.zeros(Y.shape[0], bool)])  # label -1 is the last column: never right
    np.testing.assert_array_equal(
        is_right(candidates.labels, Y), dense[np.arange(len(dense))[:, None], candidates.labels]
    )


def test_the_best_are_those_of_a_sort(world):
    _, _, candidates = world
    scores = np.round(candidates.scores, 1)  # with ties
    expected = TopK.from_csr(TopK(candidates.labels, scores, candidates.n_labels).to_csr(), 3)
    got = best(candidates.labels, scores, 3, candidates.n_labels, threads=2)
    np.testing.assert_array_equal(got.labels, expected.labels)
    np.testing.assert_array_equal(got.scores, expected.scores)
