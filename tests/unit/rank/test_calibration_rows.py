"""Rows that calibrate are new to base and ranker."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays.inputs import as_labels
from xtrellis.core.errors import InputError, StoreError, TrainingError
from xtrellis.rank.calibration import Calibration
from xtrellis.rank.calibration_rows import calibration_split


@pytest.fixture(scope="module")
def data():
    train = xt.synthetic(n_rows=400, n_labels=40, n_features=200, seed=1)
    return train.X, as_labels(train.Y)


@pytest.fixture(scope="module")
def reader(data, one_layer):
    """With a base that reads texts."""
    pytest.importorskip("torch")
    X, Y = data
    encoder = xt.TransformerEncoder(path=one_layer, max_length=8)
    base = xt.EncoderOvA(encoder=encoder, epochs=1, threads=1)
    texts = [f"row number {i}" for i in range(40)]
    return xt.Reranked(base=base, candidates=10, calibrate=False, threads=1).fit(X[:40], Y[:40], texts=texts)


def small(**params):
    encoder = xt.BagEncoder(dim=16)
    return xt.EncoderOvA(encoder=encoder, epochs=1, holdout=0.2, threads=1, **params)


def trained(X, Y, **params):
    return xt.Reranked(base=small(), candidates=10, min_leaf=20, seed=3, threads=1, **params).fit(X, Y)


def counted(kind, monkeypatch):
    """How many rows each training of such a model learns from."""
    rows, train = [], kind._train

    def count(self, data, checkpoint):
        rows.append(data.n_rows)
        train(self, data, checkpoint)

    monkeypatch.setattr(kind, "_train", count)
    return rows


def test_rows_that_a_base_leaves_out_calibrate_and_nothing_is_trained_twice(data, monkeypatch):
    pytest.importorskip("torch")
    X, Y = data
    fits = counted(xt.EncoderOvA, monkeypatch)
    model = trained(X, Y)
    assert fits == [400]
    alone = small(seed=3).fit(X, Y)
    np.testing.assert_array_equal(model.fitted_base.predict(X, 5).scores, alone.predict(X, 5).scores)

    # Other labels in those rows change what is thought of candidates, and nothing else.
    left_out = alone.validation_rows(Y)
    assert len(left_out) == 80
    changed = Y.copy()
    for row in left_out:
        at = slice(Y.indptr[row], Y.indptr[row + 1])
        changed.indices[at] = np.sort((Y.indices[at] + 7) % 40)
    other = trained(X, changed)
    for name, array in model.classifiers.to_state().arrays.items():
        np.testing.assert_array_equal(other.classifiers.to_state().arrays[name], array)
    np.testing.assert_array_equal(other.fitted_base.predict(X, 5).scores, model.fitted_base.predict(X, 5).scores)
    assert not np.array_equal(other.predict(X, 5).scores, model.predict(X, 5).scores)


@pytest.mark.parametrize(("refit", "fits"), [(True, [360, 400]), (False, [360])])
def test_of_a_base_that_learns_from_all_rows_some_are_drawn(data, monkeypatch, refit, fits):
    X, Y = data
    found = counted(xt.LinearTree, monkeypatch)
    xt.Reranked(candidates=10, refit=refit, seed=3).fit(X, Y)
    assert found == fits


def test_a_training_that_fails_leaves_the_model_as_it_was(data, monkeypatch):
    X, Y = data
    model = xt.Reranked(candidates=10, seed=3).fit(X, Y)
    before = model.predict(X, 5)

    def broken(*args, **more):
        raise TrainingError("no")

    monkeypatch.setattr(xt.rank.reranked.Ranker, "train", broken)
    with pytest.raises(TrainingError):
        model.fit(X[:200], Y[:200])
    np.testing.assert_array_equal(model.predict(X, 5).scores, before.scores)


def test_a_fitted_base_is_calibrated_by_the_rows_that_it_left_out(data):
    pytest.importorskip("torch")
    X, Y = data
    base = small(seed=5).fit(X, Y)
    model = xt.Reranked(calibrate=True, candidates=10, seed=3)
    found = calibration_split(model, xt.TrainingData.of(X, Y), base, None)
    left_out = base.validation_rows(Y)
    np.testing.assert_array_equal(found.data.Y.toarray(), Y.toarray()[left_out])
    np.testing.assert_array_equal(found.data.X.toarray(), X.toarray()[left_out])
    np.testing.assert_array_equal(found.ranker_rows, np.setdiff1d(np.arange(400), left_out))
    assert not found.trial


def test_too_few_rows_of_its_own(data, monkeypatch):
    X, Y = data
    for own, trial in ((49, True), (50, False)):
        monkeypatch.setattr(xt.LinearTree, "validation_rows", lambda self, Y, own=own: np.arange(own, dtype=np.int32))
        found = calibration_split(xt.Reranked(seed=3), xt.TrainingData.of(X, Y), None, None)
        assert found.trial == trial
        assert found.data.n_rows == (40 if trial else 50)
        assert len(found.base_rows) == (360 if trial else 400)


def test_validation_rows_are_looked_at_before_anything_is_trained(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr(xt.LinearTree, "_train", lambda *args, **more: pytest.fail("trained"))
    for validation, message in (
        ((X[:50], Y[:50, :20]), "labels"),
        ((X[:50], Y[:40]), "rows"),
        ((X[:50, :10], Y[:50]), "features"),
        ((X[:50], Y[:50], ["a"]), "one text for each row"),
        ((X[:50], Y[:50], "a" * 50), "a list of strings"),
        ((X[:50],), "must be"),
    ):
        with pytest.raises(InputError, match=message):
            xt.Reranked().fit(X, Y, validation=validation)


def test_another_calibration_does_not_go_on_with_a_checkpoint(data, tmp_path, monkeypatch):
    X, Y = data
    validation = X[:60], Y[:60]
    model = xt.Reranked(candidates=10, seed=3)
    with monkeypatch.context() as broken:
        broken.setattr(Calibration, "learn", lambda *args, **more: (_ for _ in ()).throw(TrainingError("no")))
        with pytest.raises(TrainingError):
            model.fit(X[60:], Y[60:], validation=validation, checkpoint=tmp_path / "c")
    with pytest.raises(StoreError):
        model.fit(X[60:], Y[60:], checkpoint=tmp_path / "c")
    resumed = model.fit(X[60:], Y[60:], validation=validation, checkpoint=tmp_path / "c")
    fresh = xt.Reranked(candidates=10, seed=3).fit(X[60:], Y[60:], validation=validation)
    np.testing.assert_array_equal(resumed.predict(X, 5).scores, fresh.predict(X, 5).scores)


@pytest.mark.parametrize("preset", ["x-transformer", "xr-linear", "glas"])
def test_models_that_learn_from_every_row_say_so(data, preset):
    assert len(xt.preset(preset).validation_rows(data[1])) == 0


def test_a_higher_score_never_counts_against_a_label():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, (300, 10)).astype(np.int32)
    Y = as_labels(xt.synthetic(n_rows=300, n_labels=30, n_features=20, seed=2).Y)  # unrelated: all is noise
    p, q = (rng.random(labels.shape).astype(np.float32) for _ in range(2))
    frequency = np.asarray(Y.sum(axis=0)).astype(np.int64)
    found = Calibration.learn(p, q, labels, Y, frequency, max_leaves=50, min_leaf=5, seed=0)
    assert found.n_leaves > 10
    rising = np.sort(rng.random((200, 40)).astype(np.float32), axis=1)
    same, label = np.full_like(rising, 0.4), np.repeat(rng.integers(0, 30, 200).astype(np.int32)[:, None], 40, axis=1)
    for one, two in ((rising, same), (same, rising)):
        assert (np.diff(found.probability(one, two, label), axis=1) >= 0).all()


@pytest.mark.parametrize("texts", [[], "one text", ["two", "texts"]])
def test_an_explanation_wants_the_text_of_its_row(data, reader, texts):
    X, _ = data
    with pytest.raises(InputError, match="text"):
        reader.explain(X[[0]], 0, texts=texts)
    with pytest.raises(InputError, match="reads texts; pass texts"):
        reader.explain(X[[0]], 0)
    assert reader.explain(X[[0]], 0, texts=["one text"]).label == 0


def test_who_reads_no_texts_does_not_look_at_them(data):
    X, Y = data
    model = xt.Reranked(candidates=10, calibrate=False, threads=1).fit(X, Y)
    top, why = model.predict(X[:5], 3), model.explain(X[[0]], 0)
    np.testing.assert_array_equal(model.predict(X[:5], 3, texts=["some text"] * 5).labels, top.labels)
    np.testing.assert_array_equal(
        model.score(X[:5], top.to_csr(), texts=[]).data, model.score(X[:5], top.to_csr()).data
    )
    assert model.explain(X[[0]], 0, texts=["some", "texts"]).to_dict() == why.to_dict()
