"""Kernels of linear trees beside their NumPy twins, scikit-learn and the conditions of optimality."""

from __future__ import annotations

import linear_twin as twin
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from xtrellis._native import linear as native
from xtrellis.arrays import unit_rows
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.data import TrainingData
from xtrellis.index.balanced import BalancedTree
from xtrellis.index.flat import FlatTree
from xtrellis.index.tree import LabelTree
from xtrellis.labels.space import LabelSpace
from xtrellis.linear.model import LinearTree
from xtrellis.linear.packed import PackedTree


def problem(n=60, d=30, n_labels=12, seed=0, density=0.3, labels_a_row=2):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, rng=rng, dtype=np.float32, format="csr")
    Y = (rng.random((n, n_labels)) < labels_a_row / n_labels).astype(np.float32)
    return unit_rows(as_features(X)), as_labels(Y)  # as models have them


def ragged_tree():
    """Leaves at three depths, one label in two places."""
    return LabelTree.from_parents([-1, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5, 4], [2, 2, 3, 3, 4, 0, 2], 6)


def train_one(X, y, row_weights=None, **changes):
    """One classifier through the kernel: (weights over all features, bias, epochs, converged)."""
    rows = np.arange(X.shape[0], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(y > 0)]).astype(np.int64)
    settings = {
        "first": 0, "count": 1, "bias": 1.0, "loss": 0, "cost_positive": 1.0, "cost_negative": 1.0,
        "tolerance": 1e-4, "epochs": 3000, "threshold": 0.0, "max_weights": 0, "key": 7,
    } | changes  # fmt: skip
    f, _, _, w, b, epochs, converged = native.train(
        X.indptr, X.indices, X.data, X.shape[1], rows, offsets, np.zeros(int(offsets[-1]), np.int32),
        np.zeros(0, np.float32) if row_weights is None else row_weights, **settings
    )  # fmt: skip
    dense = np.zeros(X.shape[1])
    dense[f] = w
    return dense, float(b[0]), int(epochs[0]), bool(converged[0])


@pytest.mark.parametrize("threads", [1, 3])
def test_label_vectors_are_unit_sums_of_rows(threads):
    X, Y = problem()
    got = LabelSpace(TrainingData.of(X, Y), threads=threads).vectors
    np.testing.assert_allclose(got.toarray(), twin.pifa(X, Y), atol=1e-6)
    normalised = LabelSpace(TrainingData.of(X, Y), normalize_rows=True, threads=threads).vectors
    per_row = np.maximum(np.diff(Y.indptr), 1)
    np.testing.assert_allclose(normalised.toarray(), twin.pifa(X, sp.diags_array(1 / np.sqrt(per_row)) @ Y), atol=1e-6)


VARIANTS = range(native.variants())  # one solver for each instruction set that this machine runs


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("positive", "negative"), [(1.0, 1.0), (5.0, 0.5)])
def test_squared_hinge_reaches_the_optimum_of_liblinear(positive, negative, variant):
    X, Y = problem(n=80, d=20, seed=3)
    y = np.where(Y.toarray()[:, 0] > 0, 1.0, -1.0)
    w, b, _, converged = train_one(X, y, cost_positive=positive, cost_negative=negative, variant=variant)
    assert converged
    judge = LinearSVC(C=1, class_weight={1: positive, -1: negative}, tol=1e-8, max_iter=100_000, dual=True)
    judge.fit(X.toarray().astype(np.float64), y)
    dense = X.toarray().astype(np.float64)
    ours = twin.squared_hinge_objective(w, b, dense, y, positive, negative)
    theirs = twin.squared_hinge_objective(judge.coef_[0], float(judge.intercept_[0]), dense, y, positive, negative)
    assert ours == pytest.approx(theirs, rel=1e-4)
    np.testing.assert_allclose(w, judge.coef_[0], atol=2e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_squared_hinge_gradient_vanishes_at_the_solution(variant):
    """The primal's gradient w − 2C Σ max(0, 1 − yz) y x is what the dual's conditions say it is: zero."""
    X, Y = problem(n=50, d=25, seed=5)
    y = np.where(Y.toarray()[:, 1] > 0, 1.0, -1.0)
    w, b, _, _ = train_one(X, y, tolerance=1e-5, epochs=20_000, variant=variant)
    dense = X.toarray().astype(np.float64)
    gap = np.maximum(0, 1 - y * (dense @ w + b))
    residual = w - 2 * (gap * y) @ dense
    assert np.abs(residual).max() < 2e-3
    assert abs(b - 2 * np.sum(gap * y)) < 2e-3


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("cost", [0.3, 10.0])
def test_logistic_reaches_the_optimum_of_scikit_learn(cost, variant):
    X, Y = problem(n=80, d=15, seed=4)
    y = np.where(Y.toarray()[:, 2] > 0, 1.0, -1.0)
    w, b, _, converged = train_one(
        X, y, loss=1, cost_positive=cost, cost_negative=cost, tolerance=1e-4, variant=variant
    )
    assert converged
    dense = np.hstack([X.toarray(), np.ones((80, 1))]).astype(np.float64)  # our bias is regularised
    judge = LogisticRegression(C=cost, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(dense, y)
    np.testing.assert_allclose(np.append(w, b), judge.coef_[0], atol=5e-3)


def test_children_in_lock_step_equal_children_alone():
    """Sharing rows, order and vectors must not mix the classifiers: each is the optimum of its own problem."""
    X, Y = problem(n=70, d=30, n_labels=37, seed=6)
    exact = {"tolerance": 1e-4, "max_epochs": 5000, "prune": 0.0, "storage": "float32", "normalize_rows": False}
    model = LinearTree(index=FlatTree(), threads=1, **exact).fit(X, Y)
    W, biases = twin.dense_weights(model.trees[0])
    dense = X.toarray().astype(np.float64)
    for label in (0, 15, 16, 36):
        y = np.where(Y.toarray()[:, label] > 0, 1.0, -1.0)
        w, b, _, _ = train_one(X, y)
        alone = twin.squared_hinge_objective(w, b, dense, y, 1, 1)
        together = twin.squared_hinge_objective(W[:, label], biases[label], dense, y, 1, 1)
        assert together == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("loss", [0, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_instruction_set_trains_whole_blocks_alike(variant, loss):
    """Full groups of 32 and what is left over; a machine with narrower registers gives the same model but for rounding.

    The order of the rows is the same in all of them, so they walk the same way and not only to the same end.
    """
    X, Y = problem(n=70, d=30, n_labels=77, seed=16)
    rows, n_labels = np.arange(70, dtype=np.int32), 77
    settings = {
        "first": 0, "count": n_labels, "bias": 1.0, "loss": loss, "cost_positive": 2.0, "cost_negative": 1.0,
        "tolerance": 0.01, "epochs": 500, "threshold": 0.0, "max_weights": 0, "key": 7,
    }  # fmt: skip
    args = (X.indptr, X.indices, X.data, X.shape[1], rows, Y.indptr, Y.indices, np.zeros(0, np.float32))
    features, starts, children, weights, biases, epochs, converged = native.train(*args, **settings, variant=variant)
    widest = native.train(*args, **settings)  # what training takes
    assert len(epochs) == len(converged) == n_labels
    assert converged.all()
    for got, expected in zip((features, starts, children), widest, strict=False):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_allclose(weights, widest[3], atol=0.01)
    np.testing.assert_allclose(biases, widest[4], atol=0.01)


def test_a_variant_that_the_machine_lacks_is_its_widest():
    X, Y = problem()
    y = np.where(Y.toarray()[:, 0] > 0, 1.0, -1.0)
    np.testing.assert_array_equal(train_one(X, y, variant=99)[0], train_one(X, y)[0])


def test_what_is_not_solved_in_time_is_said():
    X, Y = problem(n=80, d=20, seed=3)
    y = np.where(Y.toarray()[:, 0] > 0, 1.0, -1.0)
    for variant in VARIANTS:
        assert train_one(X, y, epochs=2, variant=variant)[2:] == (2, False)
        assert train_one(X, -np.ones(80), tolerance=10.0, variant=variant)[2:] == (1, True)


def test_pruning_drops_what_is_small_and_nothing_else():
    X, Y = problem(n=70, d=30, n_labels=5, seed=8)
    model = LinearTree(index=FlatTree(), prune=0.0, storage="float32")
    full, _ = twin.dense_weights(model.fit(X, Y).trees[0])
    kept, _ = twin.dense_weights(model.clone().set_params(prune=0.3).fit(X, Y).trees[0])
    np.testing.assert_array_equal(kept, np.where(np.abs(full) >= np.float32(0.3), full, 0))
    few, _ = twin.dense_weights(model.clone().set_params(max_weights=4).fit(X, Y).trees[0])
    for label in range(5):
        largest = np.argsort(-np.abs(full[:, label]), kind="stable")[:4]
        assert set(np.flatnonzero(few[:, label])) == set(largest)


@pytest.mark.parametrize("transform", ["l2-hinge", "l3-hinge", "sigmoid"])
@pytest.mark.parametrize("beam", [1, 2, 100])
def test_beam_search_is_the_twins(transform, beam):
    X, Y = problem(n=120, d=40, n_labels=60, seed=9, labels_a_row=3)
    model = LinearTree(index=BalancedTree(arity=4, max_leaf=4), beam=beam, transform=transform, storage="float32")
    top = model.set_params(prune=0.05).fit(X, Y).predict(X, k=7)
    dense = X.toarray().astype(np.float64)
    for row in range(0, 120, 7):
        labels, scores = twin.beam_search(model.trees[0], dense[row], beam, 7)
        np.testing.assert_allclose(top.scores[row][: len(scores)], scores, rtol=2e-4, atol=1e-12)
        if np.diff(scores).size == 0 or (-np.diff(scores)).min() > 1e-5:
            assert top.labels[row][: len(labels)].tolist() == labels
        assert (top.labels[row][len(labels) :] == -1).all()


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_one_query_and_many_give_the_same_answer(storage):
    X, Y = problem(n=90, d=40, n_labels=300, seed=10, labels_a_row=4)
    for index in (BalancedTree(arity=2, max_leaf=10), BalancedTree(arity=16, max_leaf=30), FlatTree()):
        model = LinearTree(index=index, storage=storage).fit(X, Y)
        many = model.predict(X, k=5)
        for row in range(0, 90, 11):
            one = model.predict(X[[row]], k=5)
            np.testing.assert_array_equal(one.labels[0], many.labels[row])
            np.testing.assert_array_equal(one.scores[0], many.scores[row])


def agree(top, row, exact, k, allowed=None):
    """The answer for one row is the exact top k, up to float32 rounding of the scores."""
    exact = exact if allowed is None else np.where(np.isin(np.arange(len(exact)), allowed), exact, -1)
    best = np.sort(exact)[::-1][:k]
    np.testing.assert_allclose(top.scores[row][: len(best)], best, rtol=3e-4, atol=1e-12)
    np.testing.assert_allclose(exact[top.labels[row][: len(best)]], best, rtol=3e-4, atol=1e-12)


@pytest.fixture(scope="module", params=["float32", "float16", "int8"])
def searchable(request):
    X, Y = problem(n=120, d=40, n_labels=90, seed=11, labels_a_row=3)
    model = LinearTree(index=BalancedTree(arity=4, max_leaf=4), storage=request.param, prune=0.05).fit(X, Y)
    dense = X.toarray().astype(np.float64)
    return X, model, [twin.all_scores(model.trees[0], dense[row]) for row in range(0, 120, 10)]


def test_best_first_search_is_exact(searchable):
    X, model, exact = searchable
    for k in (1, 3, 10, 90):
        top = model.clone().set_params(search="best-first", beam=None)
        top._trees = model._trees
        found = top.predict(X, k=k)
        for i, scores in enumerate(exact):
            agree(found, 10 * i, scores, k)


def test_an_endless_beam_is_exact_too(searchable):
    X, model, exact = searchable
    wide = model.clone().set_params(beam=None)
    wide._trees = model._trees
    found = wide.predict(X, k=7)
    for i, scores in enumerate(exact):
        agree(found, 10 * i, scores, 7)


def test_best_first_with_a_beam_or_slack_loses_no_more_than_it_says(searchable):
    X, model, exact = searchable
    other = model.clone().set_params(search="best-first", beam=None, slack=0.3)
    other._trees = model._trees
    found = other.predict(X, k=4)
    for i, scores in enumerate(exact):
        assert (found.scores[10 * i] >= 0.7 * np.sort(scores)[::-1][:4] - 1e-6).all()
    other.set_params(slack=0.0, beam=2)
    capped = other.predict(X, k=4)
    assert (capped.scores.sum(axis=1) <= found.scores.sum(axis=1) / 0.7 + 1e-5).all()


def test_given_labels_get_their_exact_scores(searchable):
    X, model, exact = searchable
    rng = np.random.default_rng(0)
    wanted = sp.csr_array((rng.random((120, 90)) < 0.1).astype(np.float32))
    wanted.data[::3] = 0  # a stored zero asks as well
    got = model.score(X, wanted)
    assert got.nnz == wanted.nnz
    for i, scores in enumerate(exact):
        span = slice(got.indptr[10 * i], got.indptr[10 * i + 1])
        np.testing.assert_allclose(got.data[span], scores[got.indices[span]], rtol=3e-4, atol=1e-12)


def test_answers_can_be_restricted_to_some_labels(searchable):
    X, model, exact = searchable
    allowed = [3, 17, 18, 40, 88]
    for search in ("beam", "best-first"):
        other = model.clone().set_params(search=search, beam=None)
        other._trees = model._trees
        found = other.predict(X, k=9, labels=allowed)
        assert found.labels.shape == (120, 5)
        for i, scores in enumerate(exact):
            agree(found, 10 * i, scores, 5, allowed)
    narrow = model.predict(X, k=3, labels=[5])  # a beam of 10 over a tree in which one path is left open
    assert (narrow.labels == 5).all()


def test_copies_of_a_label_come_once():
    """A label in two leaves is answered once, with the better of its two scores."""
    tree = ragged_tree()
    X, Y = problem(n=80, d=20, n_labels=6, seed=12, labels_a_row=1)
    trained = LinearTree(index=FlatTree()).fit(X, Y)
    rng = np.random.default_rng(1)
    blocks = []
    for node in range(tree.n_nodes):
        size = int(tree.offsets[node + 1] - tree.offsets[node])
        weights = rng.normal(size=(20, size)).astype(np.float32)
        starts = np.arange(21, dtype=np.uint32) * size
        blocks.append(
            (np.arange(20, dtype=np.int32), starts, np.tile(np.arange(size, dtype=np.uint8), 20), weights.ravel())
        )
    packed = PackedTree.pack(tree, blocks, rng.normal(size=tree.n_slots).astype(np.float32), 20)
    trained._trees = (packed,)
    dense = X.toarray().astype(np.float64)
    for search in ("beam", "best-first"):
        top = trained.set_params(search=search, beam=None).predict(X, k=6)
        for row in range(80):
            assert sorted(top.labels[row].tolist()) == list(range(6))
            agree(top, row, twin.all_scores(packed, dense[row]), 6)


@pytest.mark.parametrize(("storage", "error"), [("float16", 1e-3), ("int8", 0.01)])
def test_narrow_storage_is_near(storage, error):
    X, Y = problem(n=120, d=40, n_labels=90, seed=11, labels_a_row=3)
    whole = LinearTree(index=BalancedTree(arity=4, max_leaf=4), storage="float32").fit(X, Y).trees[0]
    narrow = whole.stored_as(storage)
    assert narrow.n_bytes < whole.n_bytes
    exact, _ = twin.dense_weights(whole)
    near, _ = twin.dense_weights(narrow)
    assert np.abs(exact - near).max() <= error * np.abs(exact).max()


@pytest.mark.parametrize("n_features", [1, 2, 3, 65_536, 65_537, 3_000_000])
def test_packing_loses_nothing(n_features):
    rng = np.random.default_rng(n_features)
    features = np.unique(rng.integers(0, n_features, 5000)).astype(np.int32)
    counts = rng.integers(1, 20, len(features))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    children = np.concatenate([np.sort(rng.choice(256, c, replace=False)) for c in counts]).astype(np.uint8)
    weights = rng.normal(size=len(children)).astype(np.float32)
    tree = LabelTree([0, 256], ~np.arange(256), 256)
    packed = PackedTree.pack(tree, [(features, starts, children, weights)], np.zeros(256, np.float32), n_features)
    for got, expected in zip(packed.block(0), (features, starts, children, weights), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("loss", [0, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_weighted_rows_against_scikit_learn(variant, loss):
    """How much a row counts multiplies its cost, in every lane."""
    X, Y = problem(n=60, d=12, n_labels=6, seed=21)
    y = np.where(Y[:, [0]].toarray().ravel() > 0, 1, -1)
    weights = np.random.default_rng(2).uniform(0.1, 5, 60).astype(np.float32)
    got, bias, _, converged = train_one(X, y, weights, loss=loss, variant=variant, tolerance=1e-5, epochs=20000)
    rows = np.hstack([X.toarray(), np.ones((60, 1))])  # the constant feature is regularised, as ours
    if loss:
        peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=5000)
    else:
        peer = LinearSVC(C=1.0, loss="squared_hinge", dual=True, fit_intercept=False, tol=1e-8, max_iter=200000)
    peer.fit(rows, y, sample_weight=weights)
    assert converged
    np.testing.assert_allclose(np.append(got, bias), peer.coef_[0], atol=2e-3)
