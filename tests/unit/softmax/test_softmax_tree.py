"""SoftmaxTree as its users see it: learning, odd shapes, restrictions, saving, the tagger and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis import cli
from xtrellis.core import progress
from xtrellis.experiments import AsynchronousSoftmaxTree
from xtrellis.labels.space import LabelSpace
from xtrellis.softmax.training import Descent, visits

INDEXES = [
    xt.InterpolatedTree(max_leaf=1), xt.HuffmanTree(), xt.BalancedTree(arity=2, max_leaf=1),
    xt.BalancedTree(arity=8, max_leaf=5), xt.FlatTree(), xt.KMeansTree(k=5, max_leaf=4),
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    made = xt.synthetic(n_rows=900, n_labels=60, n_features=300, seed=1)
    return made.X, made.Y


def precision(model, X, Y):
    return xt.evaluate(Y, model.predict(X, k=1), metrics=["P@1"])["P@1"]


def majority(Y):
    return 100 * float(np.asarray(Y.sum(axis=0)).max()) / Y.shape[0]


@pytest.mark.parametrize("index", INDEXES, ids=repr)
def test_it_beats_the_majority_on_rows_it_has_not_seen(data, index):
    X, Y = data
    model = xt.SoftmaxTree(index=index, dim=32).fit(X[:700], Y[:700])
    assert precision(model, X[700:], Y[700:]) > 1.5 * majority(Y[700:])


@pytest.mark.parametrize("settings", [
    {"targets": "all"}, {"weighting": "average", "learning_rate": 1.0}, {"weighting": "weighted", "learning_rate": 1.0},
    {"batch_size": 1}, {"learning_rate": 1.0}, {"bias": 0.0},
], ids=repr)  # fmt: skip
def test_every_way_of_training_learns(data, settings):
    _learns(xt.SoftmaxTree(dim=32, **settings), *data)


def test_threads_that_do_not_wait_learn_too(data):
    _learns(AsynchronousSoftmaxTree(dim=32, threads=2), *data)


def _learns(model, X, Y):
    model.fit(X, Y)
    assert np.isfinite(model.predict(X).scores).all()
    assert precision(model, X, Y) > 1.5 * majority(Y)


@pytest.mark.parametrize("weighting", ["average", "weighted", "unit"])
def test_too_high_a_rate_stays_finite(data, weighting):
    X, Y = data
    top = xt.SoftmaxTree(dim=16, epochs=3, learning_rate=1000.0, weighting=weighting).fit(X, Y).predict(X)
    assert np.isfinite(top.scores).all()


def test_a_training_that_goes_astray_is_told_and_leaves_what_was_there(data):
    X, Y = data
    model = xt.SoftmaxTree(dim=16, epochs=2).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(xt.TrainingError, match=r"learning_rate=1e\+39 .* lower"):
        model.set_params(learning_rate=1e39).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X).scores, before.scores)


def test_the_scale_of_the_values_does_not_matter(data):
    X, Y = data
    a, b = (xt.SoftmaxTree(dim=16, epochs=2).fit(X * scale, Y).predict(X * scale) for scale in (1, 1024))
    np.testing.assert_array_equal(a.labels, b.labels)


def test_seeds(data):
    X, Y = data
    first, again, other = (xt.SoftmaxTree(dim=16, epochs=2, seed=s).fit(X, Y).predict(X) for s in (4, 4, 5))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert not np.array_equal(first.scores, other.scores)


def test_work_enough_for_two_threads_gives_the_same_vectors(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr("xtrellis.softmax.training.SMALL", 0)
    monkeypatch.setattr("xtrellis.softmax.training.PIECE", 1e6)  # several pieces an epoch
    a, b = (xt.SoftmaxTree(dim=20, epochs=2, threads=threads).fit(X, Y).network for threads in (1, 3))
    np.testing.assert_array_equal(a.embeddings, b.embeddings)
    np.testing.assert_array_equal(a.units, b.units)


def test_visits(data):
    _, Y = data
    Y = xt.arrays.as_labels(Y)
    tree = xt.FlatTree().build(LabelSpace(xt.TrainingData(Y, Y)), seed=0)
    shape = {"dim": 4, "epochs": 3, "learning_rate": 1.0, "weighting": "unit", "bias": 1.0, "batch_size": 4}
    labelled = np.flatnonzero(np.diff(Y.indptr))
    one = list(visits(Y, tree, Descent(targets="one", seed=2, **shape)))
    dense = Y.toarray()
    for rows, slots in one:
        np.testing.assert_array_equal(np.sort(rows), labelled)
        assert (dense[rows, ~tree.children[slots]] == 1).all()
    assert not np.array_equal(one[0][0], one[1][0])
    for rows, slots in visits(Y, tree, Descent(targets="all", seed=2, **shape)):
        pairs = np.zeros_like(dense)
        pairs[rows, ~tree.children[slots]] += 1
        np.testing.assert_array_equal(pairs, dense)
        assert np.count_nonzero(np.diff(rows)) == len(labelled) - 1  # a row's labels follow each other


@pytest.mark.parametrize(("n", "d", "n_labels"), [(1, 1, 1), (1, 5, 3), (7, 1, 2), (5, 0, 4), (6, 3, 40)])
def test_odd_shapes(n, d, n_labels):
    X = sp.csr_array(np.tri(n, d, dtype=np.float32))
    Y = sp.csr_array((np.arange(n)[:, None] % n_labels == np.arange(n_labels)).astype(np.float32))
    top = xt.SoftmaxTree(dim=3, epochs=2).fit(X, Y).predict(X, k=5)
    assert top.labels.shape == (n, min(5, n_labels))
    assert (top.labels >= 0).all()
    assert (top.scores > 0).all()


def test_rows_and_labels_without_anything(data):
    X, Y = (m.tolil() for m in data)
    X[3], Y[4], Y[:, 5] = 0, 0, 0
    model = xt.SoftmaxTree(dim=8, epochs=2).fit(X.tocsr(), Y.tocsr())
    everything = model.score(X[:6].tocsr(), np.ones((6, 60))).toarray()
    np.testing.assert_allclose(everything.sum(axis=1), 1, rtol=1e-4)
    assert (everything >= 0).all()
    nothing = xt.SoftmaxTree(dim=8, epochs=2, index=xt.BalancedTree()).fit(X.tocsr(), sp.csr_array((900, 60)))
    np.testing.assert_allclose(nothing.predict(X.tocsr(), k=60).scores.sum(axis=1), 1, rtol=1e-4)


def test_an_empty_row_gets_what_is_frequent(data):
    X, Y = data
    model = xt.SoftmaxTree(dim=16).fit(X, Y)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    best = model.predict(sp.csr_array((1, 300)), k=5).labels[0]
    assert counts[best].mean() > 2 * counts.mean()


def test_only_some_labels(data):
    X, Y = data
    model = xt.SoftmaxTree(dim=16, epochs=2).fit(X, Y)
    top = model.predict(X, k=10, labels=[3, 17, 4])
    assert top.labels.shape == (900, 3)
    assert set(np.unique(top.labels)) == {3, 4, 17}
    for labels, message in (([], "at least one"), ([60], "from 0 to 59"), ([-1], "from 0 to 59"), (["a"], "label id")):
        with pytest.raises(xt.InputError, match=message):
            model.predict(X, labels=labels)


def test_bad_input(data):
    X, Y = data
    for wrong in (
        {"dim": 0},
        {"learning_rate": 0},
        {"learning_rate": -1.0},
        {"epochs": 0},
        {"targets": "some"},
        {"bias": -1},
        {"batch_size": 0},
    ):
        with pytest.raises(xt.ParameterError, match=next(iter(wrong))):
            xt.SoftmaxTree(**wrong)
    with pytest.raises(xt.InputError, match="at least one row"):
        xt.SoftmaxTree().fit(X[:0], Y[:0])
    with pytest.raises(xt.InputError, match="features"):
        xt.SoftmaxTree(dim=4, epochs=1).fit(X, Y).predict(X[:, :7])


def test_estimate_and_progress(data):
    X, Y = data
    estimate = xt.SoftmaxTree(dim=64).estimate(X, Y)
    model = xt.SoftmaxTree(dim=64, epochs=3)
    seen = []

    class Listener:
        def begin(self, title, total, unit):
            seen.append([title, total, 0.0])
            return len(seen) - 1

        def advance(self, step, amount):
            seen[step][2] += amount

        def end(self, step):
            pass

        def note(self, message):
            pass

    with progress.listen(Listener()):
        model.fit(X, Y)
    assert model.network.n_bytes <= estimate.model_bytes * 1.3
    assert estimate.peak_bytes > estimate.model_bytes > 0.7 * model.network.n_bytes
    title, total, done = seen[-1]
    assert title == "training"
    assert total == done == 3 * np.count_nonzero(np.diff(Y.indptr))


def test_a_damaged_model_is_refused(data, tmp_path):
    X, Y = data
    model = xt.SoftmaxTree(dim=4, epochs=1).fit(X, Y)
    state = model.network.to_state()
    for name, array in (("units", state.arrays["units"][1:]), ("embeddings", state.arrays["embeddings"][:, :3])):
        with pytest.raises(xt.StoreError, match="must be float32 of shape"):
            type(model.network).from_state({}, type(state)(state.meta, {**state.arrays, name: array}, state.parts))
    with pytest.raises(xt.StoreError, match="weighting"):
        type(model.network).from_state({}, type(state)({**state.meta, "weighting": "odd"}, state.arrays, state.parts))


def test_tagger_and_command_line(tmp_path, capsys):
    lines = [{"text": f"word{i % 7} also thing{i % 5}", "labels": [f"tag{i % 7}"]} for i in range(210)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    arguments = ["train", str(tmp_path / "data.jsonl"), "--to", str(tmp_path / "model"), "--preset", "softmax-tree"]
    assert cli.run([*arguments, "--set", "dim=16", "--set", "index=HuffmanTree", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held_out"]["metrics"]["P@1"] > 90
    tagger = xt.load(tmp_path / "model")
    assert tagger.tag("word3 and more", k=1)[0].label == "tag3"
    assert cli.run(["tag", str(tmp_path / "model"), "word2", "-k", "1"]) == 0
    assert "tag2" in capsys.readouterr().out
