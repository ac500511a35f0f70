"""Rows that calibrate are new to base and ranker."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import as_labels
from xtrellis.errors import TrainingError
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


def test_too_few_rows_of_its_own(data):
    pytest.importorskip("torch")
    Y = data[1]
    assert len(small().unseen_rows(Y[:200])) < judges.FEWEST <= len(small().unseen_rows(Y))


@pytest.mark.parametrize("preset", ["x-transformer", "xr-linear"])
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
