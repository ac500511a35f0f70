"""What a GLaS training counts, samples and begins with; that all rows are trained on once the epoch is chosen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from glas_stopper import Stop, StopAfter

import xtrellis as xt
from xtrellis.arrays import as_features, as_labels
from xtrellis.core import progress
from xtrellis.neural.glas import prior, start
from xtrellis.neural.glas.network import EmbeddingNetwork
from xtrellis.neural.glas.task import GlasTask
from xtrellis.neural.training.batches import Batches, rescaled, take


@pytest.fixture(scope="module")
def data():
    return xt.synthetic(n_rows=300, n_labels=40, n_features=200, seed=0)


def small(**params):
    return xt.Glas(**{"dim": 12, "epochs": 3, "seed": 1, "batch_size": 64, "threads": 1, **params})


def batches(data, **options):
    X, Y = as_features(data.X), as_labels(data.Y)
    rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
    return Batches(X, Y, rows, **{"size": 64, "dropout": 0.0, "further": 30, "seed": 3, **options})


def test_a_batch_counts_what_its_rows_sampled_and_nothing_else(data):
    for batch in batches(data).epoch(0):
        assert batch.counts.sum() == len(batch)
        np.testing.assert_array_equal(batch.counts, np.bincount(batch.positives, minlength=len(batch.block)))
        assert (batch.counts == 0).any()  # further labels are negatives, and no part of the regulariser


def test_how_often_a_label_is_in_a_block(data):
    made = batches(data)
    seen, blocks = np.zeros(40), 0
    for epoch in range(60):
        for batch in made.epoch(epoch):
            seen[batch.block] += 1
            blocks += 1
    np.testing.assert_allclose(np.exp(-made.odds()), seen / blocks, atol=0.08)
    assert not batches(data, further=10**6).odds().any()  # every block has all labels


@pytest.mark.parametrize("how", ["none", "share", "length"])
def test_what_is_left_makes_up_for_what_was_dropped(data, how):
    X = as_features(data.X)
    rows = np.arange(50, dtype=np.int32)
    whole, left = take(X, rows), take(X, rows, dropout=0.4, seed=5)
    made = rescaled(left, whole, 0.4, how)
    np.testing.assert_array_equal(made.indices, left.indices)
    before, now = (sp.csr_array((z.data, z.indices, z.indptr), shape=z.shape) for z in (whole, made))
    if how == "length":
        lengths = [sp.linalg.norm(z, axis=1) for z in (before, now)]
        there = lengths[1] > 0
        np.testing.assert_allclose(lengths[1][there], lengths[0][there], rtol=1e-5)
    else:
        np.testing.assert_allclose(made.data, left.data / (0.6 if how == "share" else 1), rtol=1e-6)


def test_labels_begin_at_the_mean_of_the_rows_that_are_trained_on():
    rng = np.random.default_rng(0)
    X, Y = as_features(rng.random((30, 6)).astype(np.float32)), as_labels(rng.random((30, 4)) < 0.4)
    W = rng.standard_normal((6, 5)).astype(np.float32)
    network = EmbeddingNetwork(W, np.zeros(5, np.float32), None, np.zeros((4, 5), np.float32))
    rows = np.arange(0, 30, 2, dtype=np.int32)
    found = start.centroids(network, X, Y, rows, threads=1)
    E, has = network.embed(X)[rows].astype(float), Y.toarray()[rows] > 0
    means = np.array([E[has[:, i]].mean(0) for i in range(4)]) - (has.T @ E).sum(0) / has.sum()
    np.testing.assert_allclose(found, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-5)


def test_held_out_rows_are_measured_at_random(data, monkeypatch):
    monkeypatch.setattr("xtrellis.neural.glas.task.MEASURED", 20)
    model = small(holdout=0.5)
    whole = xt.TrainingData.of(data.X, data.Y)
    train, validation = model._split(whole.Y)
    task = model._task(whole, train, validation)
    assert len(task.validation) == 20
    assert set(task.validation) <= set(validation)
    assert task.validation.max() > validation[len(validation) // 2]  # not the first of them
    np.testing.assert_array_equal(task.frequency, np.asarray((data.Y.tocsr()[train] > 0).sum(0)).ravel())


def test_all_rows_are_trained_on_once_the_epoch_is_chosen(data, monkeypatch, tmp_path):
    """Three epochs are far better than the fourth: that many are trained again, without the held-out rows' verdict."""
    heights = iter([10.0, 20.0, 90.0, 5.0] * 2)
    rows = []

    def measure(self):
        rows.append(len(self.batches.rows))
        return {"train_p1": 0.0, **({"validation_p1": next(heights)} if len(self.validation) else {})}

    monkeypatch.setattr(GlasTask, "measure", measure)
    model = small(epochs=4, holdout=0.25, refit=True).fit(data.X, data.Y)
    assert rows == [225] * 4 + [300] * 3
    assert [point["validation_p1"] for point in model.curves] == [10, 20, 90, 5]
    rows.clear()
    kept = small(epochs=4, holdout=0.25).fit(data.X, data.Y)
    assert rows == [225] * 4
    assert not np.array_equal(kept.network.W, model.network.W)


@pytest.mark.parametrize("after", [1, 3, 4])
def test_a_training_of_two_stages_goes_on_and_ends_the_same(data, tmp_path, after):
    whole = small(holdout=0.2, refit=True).fit(data.X, data.Y)
    with pytest.raises(Stop), progress.listen(StopAfter(after)):
        small(holdout=0.2, refit=True).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    again = small(holdout=0.2, threads=2, refit=True).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(again.network.W, whole.network.W)
    np.testing.assert_array_equal(again.network.V, whole.network.V)
    with progress.listen(StopAfter(0)):  # nothing is left to do
        again = small(holdout=0.2, refit=True).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(again.network.V, whole.network.V)
    assert len(again.curves) == 3
    assert "validation_p1" in again.curves[0]


def test_a_prior_is_taken_from_cosines_everywhere(data, tmp_path):
    plain = small(prior=0.0, search="ann", holdout=0).fit(data.X, data.Y)
    rare = small(prior=0.05, search="ann", holdout=0).fit(data.X, data.Y)
    counts = np.asarray((data.Y > 0).sum(0)).ravel()
    np.testing.assert_array_equal(rare.label_vectors, plain.label_vectors)
    everything = sp.csr_array(np.ones((5, 40)))
    before, now = (model.score(data.X[:5], everything).toarray() for model in (plain, rare))
    seen = counts > 0
    expected = -0.05 * np.log(np.maximum(counts, 1))
    np.testing.assert_allclose(
        (now - before)[:, seen], np.tile(expected[seen] - expected[seen].max(), (5, 1)), atol=1e-5
    )
    order = np.argsort(-now, axis=1, kind="stable")
    np.testing.assert_array_equal(rare.set_params(search="exact").predict(data.X[:5], k=6).labels, order[:, :6])
    assert counts[rare.predict(data.X, k=3).labels].mean() < counts[plain.predict(data.X, k=3).labels].mean()
    why = rare.explain(data.X[[0]], int(order[0, 0]))
    assert why.score == pytest.approx(now[0].max(), abs=1e-6)
    assert why.paths[0].steps[0].margin == pytest.approx(why.score, abs=1e-5)
    rare.save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data.X, k=5).scores, rare.predict(data.X, k=5).scores)
    np.testing.assert_array_equal(loaded.label_vectors, plain.label_vectors)


@pytest.mark.parametrize("terms", ["bias", "bias and length"])
def test_biases_and_lengths_of_labels_are_trained(data, tmp_path, terms):
    model = small(label_terms=terms, holdout=0, prior=0.0).fit(data.X, data.Y)
    V, counts = model.network.V, np.asarray((data.Y > 0).sum(0)).ravel()
    assert V.shape == (40, model.dim + 1)
    assert (
        np.corrcoef(V[counts > 0, -1], np.log(counts[counts > 0]))[0, 1] > 0.3
    )  # frequent labels are right more often
    lengths = np.linalg.norm(V[counts > 0, :-1], axis=1)
    assert (np.ptp(lengths) > 1e-3) == (terms != "bias")
    np.testing.assert_allclose(np.linalg.norm(model.label_vectors[counts > 0], axis=1), 1, atol=1e-5)
    top = model.predict(data.X[:5], k=3)
    expected = model.embed(data.X[:5]) @ V[:, :-1].T + V[:, -1]
    np.testing.assert_allclose(top.scores[:, 0], expected.max(axis=1), atol=1e-5)
    why = model.explain(data.X[[0]], int(top.labels[0, 0]))
    assert why.score == pytest.approx(top.scores[0, 0], abs=1e-6)
    assert why.paths[0].steps[0].margin == pytest.approx(why.score, abs=1e-5)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(
        xt.load(tmp_path / "m").predict(data.X, k=5).scores, model.predict(data.X, k=5).scores
    )
    rare = small(label_terms=terms, holdout=0, prior=0.05, threads=2).fit(data.X, data.Y)
    moved = rare.network.V[:, -1] - V[:, -1]  # a prior comes on top
    assert np.corrcoef(moved[counts > 0], np.log(counts[counts > 0]))[0, 1] == pytest.approx(-1, abs=1e-4)
    with pytest.raises(Stop), progress.listen(StopAfter(1)):
        small(label_terms=terms, holdout=0, prior=0.0).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    again = small(label_terms=terms, holdout=0, prior=0.0).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(again.network.V, V)


def test_held_out_rows_choose_the_prior():
    """Labels 0 (frequent) and 1 (rare) look alike but for a little, which favours the rare one by mistake."""
    V = np.array([[1, 0], [np.cos(0.3), np.sin(0.3)]], np.float32)
    network = EmbeddingNetwork(np.eye(2, dtype=np.float32), np.zeros(2, np.float32), None, V)
    X = as_features(np.tile(np.array([[np.cos(0.2), np.sin(0.2)]], np.float32), (200, 1)))
    Y = np.zeros((200, 2))
    Y[:150, 0], Y[150:, 1] = 1, 1
    rows, counts = np.arange(200, dtype=np.int32), np.array([500, 5])
    chosen, gain = prior.choose(network, X, as_labels(Y), rows, counts, threads=1)
    assert -0.02 <= chosen < 0  # as little as is needed to turn it round
    assert gain == pytest.approx(50)
    chosen, gain = prior.choose(network, X, as_labels(Y[:, ::-1]), rows, counts, threads=1)
    assert (chosen, gain) == (prior.PRIORS.max(), 0)  # all that favour the rare label are as good
    assert prior.choose(network, X, as_labels(np.zeros((200, 2))), rows, counts, threads=1) == (0, 0)


def test_too_few_held_out_rows_choose_nothing(data):
    assert small(holdout=0.2).fit(data.X, data.Y).network.V.shape[1] == 12
    assert small(holdout=0.5).fit(data.X, data.Y).network.V.shape[1] in (12, 13)
    assert small(holdout=0.2, prior=-0.03, refit=True).fit(data.X, data.Y).network.V.shape[1] == 13


def test_the_scale_of_a_softmax_moves(data):
    whole = xt.TrainingData.of(data.X, data.Y)
    model = small(loss="softmax", scale=5.0, epochs=20)
    task = model._task(whole, *model._split(whole.Y))
    model._run(task, 20, None, {})
    assert np.exp(task.dense.values["scale"][0]) > 6
