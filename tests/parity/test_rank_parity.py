"""Kernels of the rank room against NumPy, SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from xtrellis._native import linear as native
from xtrellis._native import rank
from xtrellis.arrays import is_right
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.arrays.topk import TopK
from xtrellis.rank.calibration import Calibration
from xtrellis.rank.candidates import best
from xtrellis.rank.classifiers import Classifiers
from xtrellis.rank.isotonic import Curve
from xtrellis.rank.probabilities import Probabilities
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


def blend_arguments(rng, depth, n, widths, n_labels, k):
    """Answers of some models, and trees that weigh them."""
    n_trees, members = 40, len(widths)
    labels = [np.argsort(rng.random((n, n_labels)), axis=1)[:, :w].astype(np.int32) for w in widths]
    for one in labels:
        one[np.arange(one.shape[1]) >= rng.integers(0, one.shape[1] + 1, n)[:, None]] = -1
    scores = [-np.sort(-rng.random(one.shape).astype(np.float32), axis=1) for one in labels]
    labels, scores = np.ascontiguousarray(np.hstack(labels)), np.ascontiguousarray(np.hstack(scores))
    feature = rng.integers(0, 4 * members + 1, (n_trees, depth)).astype(np.int32)
    threshold = rng.choice(scores.ravel(), (n_trees, depth)).astype(np.float32)
    threshold[feature % 4 == 1] = rng.integers(1, max(widths), (feature % 4 == 1).sum())
    value = rng.normal(size=(n_trees, 2**depth)).astype(np.float32)
    frequency = rng.integers(0, 9, n_labels).astype(np.float32)
    begins = np.cumsum([0, *widths]).astype(np.int64)
    return labels, scores, begins, feature, threshold, value, -1.5, frequency, min(widths), -1e30, 0.01


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("depth", [1, 3, 4, 5, 6])
@pytest.mark.parametrize("widths", [(7,), (90, 100, 3), (100, 100, 100, 100)])
def test_a_blend_is_the_same_by_every_instruction_set_and_by_numpy(depth, widths, some):
    rng = np.random.default_rng(depth)
    n, n_labels, k = 20, 150, 40
    given = blend_arguments(rng, depth, n, widths, n_labels, k)
    labels, scores, begins, feature, threshold, value, base, frequency, wide, unknown, tie = given
    allowed = (rng.random(n_labels) < 0.6).astype(np.uint8) if some else np.zeros(0, np.uint8)
    answers = []
    for variant in range(rank.variants()):
        out = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        rank.blend(*given, allowed, 0, n, *out, variant=variant)
        answers.append(out)
    for row in range(n):
        pool = np.unique(labels[row][labels[row] >= 0])
        pool = pool[allowed[pool] == 1] if some else pool
        inputs = np.zeros((len(pool), 4 * len(widths) + 1), np.float32)
        more = np.zeros(len(pool))
        for m, width in enumerate(widths):
            mine, said = labels[row, begins[m] : begins[m] + width], scores[row, begins[m] : begins[m] + width]
            best = said[0] if mine[0] >= 0 else np.float32(0)
            for i, label in enumerate(pool):
                at = np.flatnonzero(mine == label)
                score = said[at[0]] if len(at) else np.float32(unknown)
                rank_ = min(at[0], wide) + 1 if len(at) else wide + 1
                inputs[i, 4 * m : 4 * m + 4] = score, rank_, score / best if best > 0 else score - best, best
            more += np.clip(inputs[:, 4 * m + 2], 0, 1).astype(np.float64)
        inputs[:, -1] = frequency[pool]
        leaf = np.zeros((len(pool), len(feature)), np.int64)
        for level in range(depth):
            leaf = 2 * leaf + (inputs[:, feature[:, level]] > threshold[:, level])
        odds = np.full(len(pool), base)
        for tree in range(len(feature)):
            odds += value[tree, leaf[:, tree]]
        for variant in range(rank.variants()):
            got = np.empty(len(pool), np.float32)
            rank.log_odds(feature, threshold, value, base, inputs, 0, len(pool), got, variant=variant)
            np.testing.assert_array_equal(got, odds.astype(np.float32))
        final = (odds.astype(np.float32) + tie * more).astype(np.float32)
        order = np.lexsort((pool, -final))[:k]
        for found, probability in answers:
            np.testing.assert_array_equal(found[row, : len(order)], pool[order])
            assert (found[row, len(order) :] == -1).all()
            expected = 1 / (1 + np.exp(-final[order].astype(np.float64)))
            np.testing.assert_allclose(probability[row, : len(order)], expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_probabilities_are_those_of_interp_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    n_labels, bands = 30, np.array([2, 8, 64])
    curves = tuple(
        Curve(np.sort(rng.choice([rng.random(n), np.round(rng.random(n), 1)])), np.sort(rng.normal(0.5, 0.5, n)))
        for n in (1, 2, 9, 200)
    )
    frequency = rng.choice([0, 1, 2, 3, 8, 63, 64, 1000], n_labels)
    labels = rng.integers(-1, n_labels, (40, 7)).astype(np.int32)
    scores = rng.random((40, 7)).astype(np.float32)
    known = rng.random((40, 7)) < 0.3  # the very points of a curve, beyond its ends, and no numbers
    scores[known] = rng.choice([*curves[2].scores, -1, 0, 1, 2, np.inf, -np.inf, np.nan], known.sum())
    found = Probabilities(bands, curves, 0.5)(TopK(labels, scores, n_labels), frequency).scores
    for (i, j), label in np.ndenumerate(labels):
        curve = curves[int(np.searchsorted(bands, frequency[label], side="right"))]
        expected = np.float32(np.clip(np.interp(scores[i, j], curve.scores, curve.probabilities), 0, 1))
        np.testing.assert_array_equal(found[i, j], 0 if label < 0 else expected)


def test_probabilities_of_labels_that_there_are_not():
    made = Probabilities(np.zeros(0, np.int64), (Curve(np.zeros(1), np.zeros(1)),), 0.5)
    for kind in (np.int32, np.int64):
        with pytest.raises(IndexError):
            made(TopK(np.array([[5]], kind), np.zeros((1, 1), np.float32), 5), np.ones(5, np.int64))
