"""Rows that calibrate are new to base and ranker."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import as_features, as_labels
from xtrellis.errors import InputError, StoreError, TrainingError
from xtrellis.linear.stages import Stages
from xtrellis.rank import judges
from xtrellis.rank.calibration import Calibration


@pytest.fixture(scope="module")
def data():
    train = xt.synthetic(n_rows=400, n_labels=40, n_features=200, seed=1)
    return train.X, as_labels(train.Y)


def small(**params):
    encoder = xt.BagEncoder(dim=16)
    return xt.EncoderOvA(encoder=encoder, epochs=1, holdout=0.2, threads=1, **params)


def trained(X, Y, **params):
    return xt.Reranked(base=small(), candidates=10, min_leaf=20, seed=3, threads=1, **params).fit(X, Y)


def test_rows_that_a_base_leaves_out_calibrate_and_nothing_is_trained_twice(data, monkeypatch):
    pytest.importorskip("torch")
    X, Y = data
    fits = []
    fit = xt.EncoderOvA.fit
    monkeypatch.setattr(
        xt.EncoderOvA, "fit", lambda self, X, Y, **more: (fits.append(X.shape[0]), fit(self, X, Y, **more))[1]
    )
    model = trained(X, Y)
    assert fits == [400]
    alone = small(seed=3).fit(X, Y)
    np.testing.assert_array_equal(model.fitted_base.predict(X, 5).scores, alone.predict(X, 5).scores)

    # Other labels in those rows change what is thought of candidates, and nothing else.
    unseen = alone.unseen_rows(Y)
    assert len(unseen) == 80
    changed = Y.copy()
    for row in unseen:
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
    found = []
    fit = xt.LinearTree.fit
    monkeypatch.setattr(
        xt.LinearTree, "fit", lambda self, X, Y, **more: (found.append(X.shape[0]), fit(self, X, Y, **more))[1]
    )
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


def test_a_fitted_base_is_judged_by_the_rows_that_it_left_out(data):
    pytest.importorskip("torch")
    X, Y = data
    base = small(seed=5).fit(X, Y)
    model = xt.Reranked(calibrate=True, candidates=10, seed=3)
    given = judges.Given(None, base, None, None, Stages(None, {}, {}))
    found = judges.judges_of(model, as_features(X), Y, given)
    unseen = base.unseen_rows(Y)
    np.testing.assert_array_equal(found.Y.toarray(), Y.toarray()[unseen])
    np.testing.assert_array_equal(found.ranker_rows, np.setdiff1d(np.arange(400), unseen))
    assert not found.trial


def test_too_few_rows_of_its_own(data, monkeypatch):
    X, Y = data
    given = judges.Given(None, None, None, None, Stages(None, {}, {}))
    for own, trial in ((49, True), (50, False)):
        monkeypatch.setattr(xt.LinearTree, "unseen_rows", lambda self, Y, own=own: np.arange(own, dtype=np.int32))
        found = judges.judges_of(xt.Reranked(seed=3), as_features(X), Y, given)
        assert found.trial == trial
        assert found.X.shape[0] == (40 if trial else 50)
        assert len(found.base_rows) == (360 if trial else 400)


def test_held_out_rows_are_looked_at_before_anything_is_trained(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr(xt.LinearTree, "fit", lambda *args, **more: pytest.fail("trained"))
    for held_out, message in (
        ((X[:50], Y[:50, :20]), "labels"),
        ((X[:50], Y[:40]), "rows"),
        ((X[:50, :10], Y[:50]), "features"),
        ((X[:50], Y[:50], ["a"]), "one text for each row"),
        ((X[:50], Y[:50], "a" * 50), "a list of strings"),
        ((X[:50],), "must be"),
    ):
        with pytest.raises(InputError, match=message):
            xt.Reranked().fit(X, Y, held_out=held_out)


def test_another_calibration_does_not_go_on_with_a_checkpoint(data, tmp_path, monkeypatch):
    X, Y = data
    held_out = X[:60], Y[:60]
    model = xt.Reranked(candidates=10, seed=3)
    with monkeypatch.context() as broken:
        broken.setattr(Calibration, "learn", lambda *args, **more: (_ for _ in ()).throw(TrainingError("no")))
        with pytest.raises(TrainingError):
            model.fit(X[60:], Y[60:], held_out=held_out, checkpoint=tmp_path / "c")
    with pytest.raises(StoreError):
        model.fit(X[60:], Y[60:], checkpoint=tmp_path / "c")
    resumed = model.fit(X[60:], Y[60:], held_out=held_out, checkpoint=tmp_path / "c")
    fresh = xt.Reranked(candidates=10, seed=3).fit(X[60:], Y[60:], held_out=held_out)
    np.testing.assert_array_equal(resumed.predict(X, 5).scores, fresh.predict(X, 5).scores)


@pytest.mark.parametrize("preset", ["x-transformer", "xr-linear", "glas"])
def test_models_that_learn_from_every_row_say_so(data, preset):
    assert len(xt.preset(preset).unseen_rows(data[1])) == 0


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
def test_an_explanation_wants_the_text_of_its_row(data, texts):
    X, Y = data
    model = xt.Reranked(candidates=10, calibrate=False).fit(X, Y)
    with pytest.raises(InputError, match="text"):
        model.explain(X[[0]], 0, texts=texts)
