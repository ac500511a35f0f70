"""`Reranked`: what the wrapper promises beyond the contract."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.rank.calibration import Calibration
from xtrellis.rank.classifiers import Classifiers
from xtrellis.store.state import State


@pytest.fixture(scope="module")
def data():
    train = xt.synthetic(n_rows=600, n_labels=80, n_features=300, seed=1)
    return train.X, train.Y


@pytest.fixture(scope="module")
def model(data):
    return xt.Reranked(candidates=20, seed=2).fit(*data)


def test_answers_are_the_bases_candidates_in_another_order(model, data):
    X, _ = data
    proposed = model.fitted_base.predict(X, 20).labels
    found = model.predict(X, 20)
    np.testing.assert_array_equal(np.sort(found.labels, axis=1), np.sort(proposed, axis=1))
    assert (found.labels != proposed).any()
    np.testing.assert_array_equal(model.predict(X, 3).labels, found.labels[:, :3])


def test_more_answers_than_candidates(model, data):
    found = model.predict(data[0][:5], 40)
    assert found.k == 40
    assert (found.labels[:, 20:] >= 0).any()


def test_scores_of_given_labels_are_those_of_predictions(model, data):
    X, _ = data
    top = model.predict(X[:50], 8)
    given = model.score(X[:50], top.to_csr())
    np.testing.assert_allclose(given.toarray(), top.to_csr().toarray(), rtol=1e-5)


def test_without_calibration_the_score_is_the_product(data):
    X, Y = data
    model = xt.Reranked(calibrate=False, candidates=10, seed=2).fit(X, Y)
    base = model.fitted_base.predict(X, 10)
    q = model.classifiers.score(as_features(X), base.labels)
    product = xt.TopK(base.labels, base.scores * q, base.n_labels).to_csr()
    np.testing.assert_allclose(model.predict(X, 10).to_csr().toarray(), product.toarray(), rtol=1e-6)
    assert model._calibration is None


def test_ways_to_blend(model, data):
    X, _ = data
    base = model.fitted_base.predict(X, 20)
    q = model.classifiers.score(as_features(X), base.labels)
    p, T = base.scores, model._calibration.probability(base.scores, q, base.labels)
    for blend, expected in (("product", (T + 1e-4) * np.sqrt(p * q)), ("sum", T + p * q)):
        model.set_params(blend=blend)
        got = model.predict(X, 20).to_csr().toarray()
        np.testing.assert_allclose(got, xt.TopK(base.labels, expected, 80).to_csr().toarray(), rtol=1e-5)
    model.set_params(blend="product")


def test_the_base_gets_the_seed_and_is_trained_on_all_rows(model, data):
    alone = xt.LinearTree(seed=2).fit(*data)
    np.testing.assert_array_equal(alone.predict(data[0], 5).labels, model.fitted_base.predict(data[0], 5).labels)
    part = xt.Reranked(candidates=20, seed=2, refit=False).fit(*data)
    assert (part.fitted_base.predict(data[0], 5).scores != alone.predict(data[0], 5).scores).any()


def test_a_trained_base_is_taken_as_it_is(data):
    X, Y = data
    base = xt.preset("parabel", seed=9).fit(X[:400], Y[:400])
    model = xt.Reranked(candidates=15).fit(X[:400], Y[:400], fitted_base=base, validation=(X[400:], Y[400:]))
    assert model.fitted_base is base
    assert model._calibration is not None
    assert model._calibration.n_leaves > 1
    with pytest.raises(xt.InputError, match="knows 80 labels; Y has 79"):
        xt.Reranked().fit(X, Y[:, :79], fitted_base=base)


def test_texts_go_to_a_base_that_reads_them(data):
    X, Y = data
    seen = []

    class Reader(xt.LinearTree):
        reads_texts = True

        def _train(self, data, checkpoint):
            seen.append(("train", list(data.texts)))
            super()._train(data, checkpoint)

        def predict(self, X, k=10, *, texts=None):
            seen.append(("predict", list(texts)))
            return super().predict(X, k)

    texts = [f"row {i}" for i in range(600)]
    model = xt.Reranked(base=Reader(), candidates=5).fit(X, Y, texts=texts)
    model.predict(X[:2], texts=["a", "b"])
    assert [what for what, _ in seen] == ["train", "predict", "predict", "train", "predict", "predict"]
    assert sorted(seen[0][1] + seen[2][1]) == sorted(texts)
    assert seen[1][1] == seen[0][1]
    assert seen[-1][1] == ["a", "b"]
    with pytest.raises(xt.InputError, match="got 1 texts and 600 rows"):
        model.fit(X, Y, texts=["a"])


def test_too_few_rows_to_hold_some_out():
    X, Y = np.eye(6, dtype=np.float32), np.eye(6)
    model = xt.Reranked().fit(X, Y)
    assert model._calibration is None
    assert (model.predict(X, 1).labels[:, 0] == np.arange(6)).all()


def test_without_scikit_learn_the_extra_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(xt.MissingExtraError, match=r"xtrellis\[rank\]"):
        xt.Reranked().fit(*data)
    assert xt.Reranked(calibrate=False).fit(*data).fitted


def test_parts_by_name_and_by_text():
    model = xt.preset("bonsai++")
    model.set_from_text("base.index.k", "7")
    model.set_from_text("ranker.cost", "3")
    assert (model.base.index.k, model.ranker.cost) == (7, 3.0)
    model.set_from_text("base", "LinearTree")
    with pytest.raises(xt.ParameterError, match="must be the class of a model, such as LinearTree; got 'LabelTree'"):
        model.set_from_text("base", "LabelTree")
    with pytest.raises(xt.ParameterError, match="base must be a Model; got 3"):
        xt.Reranked(base=3)


def test_one_class_only_among_the_candidates():
    labels = np.zeros((20, 1), np.int32)
    ones = np.ones((20, 1), np.float32)
    Y = sp.csr_array(np.ones((20, 1), np.float32))
    calibration = Calibration.learn(ones, ones, labels, Y, np.array([20]), max_leaves=5, min_leaf=1, seed=0)
    assert calibration.n_leaves == 1
    np.testing.assert_array_equal(calibration.probability(ones, ones, labels), ones)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 5, 2], np.int64)}, "must rise"),
        ({"offsets": np.array([0, 1], np.int64)}, "one more entry"),
        ({"offsets": np.array([0, 1, 9], np.int64)}, "must end at"),
        ({"features": np.array([0, 99], np.int32)}, "must be from 0 to 2"),
        ({"features": np.array([0, 1], np.int64)}, "'features' of int32"),
        ({"offsets": np.array([0, 2, 2], np.int64), "features": np.array([1, 0], np.int32)}, "must ascend; .* label 0"),
        ({"offsets": np.array([0, 0, 2], np.int64), "features": np.array([1, 1], np.int32)}, "must ascend; .* label 1"),
    ],
)
def test_damaged_classifiers_are_refused(change, message):
    arrays = {
        "offsets": np.array([0, 1, 2], np.int64), "features": np.array([0, 1], np.int32),
        "weights": np.ones(2, np.float32), "biases": np.zeros(2, np.float32),
    }  # fmt: skip
    meta = {"n_features": 3, "transform": "sigmoid"}
    assert Classifiers.from_state({}, State(meta, arrays)).n_labels == 2
    down = arrays | {"features": np.array([1, 0], np.int32)}  # from label to label they may go down
    assert Classifiers.from_state({}, State(meta, down)).n_labels == 2
    with pytest.raises(xt.StoreError, match=message):
        Classifiers.from_state({}, State(meta, arrays | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": np.array([0, -1, -1], np.int32)}, "before its children"),
        ({"right": np.array([3, -1, -1], np.int32)}, "before its children"),
        ({"feature": np.array([4, -1, -1], np.int32)}, "inputs 0 to 3"),
        ({"value": np.zeros(2, np.float32)}, "one length"),
        ({"threshold": np.zeros(3, np.float32)}, "'threshold' of float64"),
    ],
)
def test_a_damaged_calibration_is_refused(change, message):
    arrays = {
        "feature": np.array([1, -1, -1], np.int32), "threshold": np.zeros(3), "left": np.array([1, -1, -1], np.int32),
        "right": np.array([2, -1, -1], np.int32), "value": np.zeros(3, np.float32), "frequency": np.ones(2, np.float32),
    }  # fmt: skip
    assert Calibration.from_state({}, State(arrays=arrays)).n_leaves == 2
    with pytest.raises(xt.StoreError, match=message):
        Calibration.from_state({}, State(arrays=arrays | change))


def test_the_ranker_sees_the_bases_vectors(data, tmp_path):
    X, Y = data
    base = xt.Elias(encoder=xt.BagEncoder(dim=8), epochs=2, batch_size=64, threads=1).fit(X, Y)
    model = xt.Reranked(calibrate=False, vector_weight=0.5, threads=1).fit(X, Y, fitted_base=base)
    seen = xt.concatenate_features(X, base.embed(X), weights=(1, 0.5))
    assert model.classifiers.n_features == seen.shape[1]
    found = base.predict(X, 100)
    expected = model.ranker.train(as_features(seen), as_labels(Y), found, seed=0, threads=1)
    q = expected.score(as_features(seen), found.labels)
    np.testing.assert_array_equal(model.ranker_scores(X, found.labels), q)
    top = model.predict(X, 3)
    np.testing.assert_allclose(top.scores[:, 0], (found.scores * q).max(1), rtol=1e-6)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(xt.load(tmp_path / "m").predict(X, 3).labels, top.labels)
    for none in (0.0, None):  # what the base knows it knows from the same features
        words = xt.Reranked(calibrate=False, vector_weight=none, threads=1).fit(X, Y, fitted_base=base)
        assert words.classifiers.n_features == X.shape[1]
    label, score = next(iter(model.predict(X[[0]], 1)))[0]
    assert model.explain(X[[0]], label).score == pytest.approx(score, rel=1e-6)
