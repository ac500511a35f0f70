"""`Glas` as users meet it: learning, going on, bad input."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from glas_stopper import Stop, StopAfter

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.neural.glas import search
from xtrellis.neural.glas.task import GlasTask
from xtrellis.neural.training.curves import plot
from xtrellis.store.state import State


@pytest.fixture(scope="module")
def data():
    return xt.synthetic(n_rows=500, n_labels=60, n_features=700, seed=0)


def small(**params):
    return xt.Glas(**{"dim": 24, "epochs": 3, "seed": 1, "batch_size": 64, **params})


def arrays(model):
    network = model.network
    return [network.W, network.b, network.V, network.M if network.M is not None else network.b]


def same(a, b):
    for x, y in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(x, y)
    assert a.curves == b.curves or [strip(p) for p in a.curves] == [strip(p) for p in b.curves]


def strip(point):
    return {name: value for name, value in point.items() if name != "seconds"}


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "margin"},
        {"loss": "softmax", "hidden": "linear", "scale": 5.0},
        {"hidden": "relu-only"},
        {"init": "random", "prior": 0.01, "dropout_scale": "length"},
        {"regularizer": "spread-out", "weight_norm": False},
        {"regularizer": "gravity", "regularizer_weight": 10.0},
        {"regularizer": "laplacian", "similarity": "pmi", "regularizer_weight": 0.1},
        {"regularizer": None, "n_negatives": 40, "input_dropout": 0.0, "holdout": 0},
    ],
)
def test_every_kind_learns(data, params):
    model = small(epochs=8, **params).fit(data.X, data.Y)
    assert model.curves[-1]["loss"] < model.curves[0]["loss"]
    assert xt.evaluate(data.Y, model.predict(data.X, k=1), ["P@1"])["P@1"] > 50
    np.testing.assert_allclose(np.linalg.norm(model.embed(data.X), axis=1), 1, atol=1e-5)
    lengths = np.linalg.norm(model.label_vectors, axis=1)
    seen = np.asarray(data.Y.sum(axis=0)).ravel() > 0
    assert set(np.flatnonzero(lengths > 0.5)) <= set(np.flatnonzero(seen))
    np.testing.assert_allclose(lengths, lengths.round(), atol=1e-5)


def test_curves_and_early_stopping(data, tmp_path):
    model = small(epochs=6, holdout=0.2).fit(data.X, data.Y)
    assert [point["epoch"] for point in model.curves] == list(range(1, len(model.curves) + 1))
    assert {"loss", "regularizer", "train_p1", "validation_p1"} <= set(model.curves[0])
    model.save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m")
    assert [strip(p) for p in loaded.curves] == [strip(p) for p in model.curves]
    plot(loaded.curves, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_the_best_epoch_is_kept(data, monkeypatch):
    heights = iter([10.0, 50.0, 40.0, 30.0, 20.0, 10.0])
    states = []

    def measure(self):
        states.append(self.labels.weights.copy())
        return {"train_p1": 0.0, "validation_p1": next(heights)}

    monkeypatch.setattr(GlasTask, "measure", measure)
    model = small(epochs=6, patience=2, holdout=0.2, refit=False).fit(data.X, data.Y)
    assert len(model.curves) == 4  # two epochs without gain after the second
    seen = np.linalg.norm(model.label_vectors, axis=1) > 0
    assert seen.mean() > 0.8
    np.testing.assert_array_equal(model.label_vectors[seen], states[1][seen])


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_training_goes_on_and_ends_the_same(data, tmp_path, after):
    whole = small(epochs=4).fit(data.X, data.Y)
    with pytest.raises(Stop), progress.listen(StopAfter(after)):
        small(epochs=4).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    assert (tmp_path / "c" / "checkpoint.json").exists()
    again = small(epochs=4, threads=1).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    same(again, whole)
    with progress.listen(StopAfter(0)):  # nothing is left to do
        same(small(epochs=4).fit(data.X, data.Y, checkpoint=tmp_path / "c"), whole)
    again.save(tmp_path / "m")
    assert not (tmp_path / "c").exists()


def test_another_training_is_refused(data, tmp_path):
    with pytest.raises(Stop), progress.listen(StopAfter(1)):
        small().fit(data.X, data.Y, checkpoint=tmp_path / "c")
    with pytest.raises(xt.StoreError, match="dim is 8, was 24"):
        small(dim=8).fit(data.X, data.Y, checkpoint=tmp_path / "c")


def test_a_loss_that_is_no_number_stops_and_the_last_good_state_is_kept(data, monkeypatch, tmp_path):
    fresh = small(learning_rate=1e38)
    with pytest.raises(xt.TrainingError, match="smaller learning_rate"):
        fresh.fit(data.X, data.Y)
    step, calls = GlasTask._step, []

    def spoilt(self, batch, rate):
        calls.append(1)
        loss, penalty = step(self, batch, rate)
        return (float("nan") if len(calls) > 12 else loss), penalty

    monkeypatch.setattr(GlasTask, "_step", spoilt)
    model = small()
    with pytest.raises(xt.TrainingError, match=r"nan in epoch 2, batch \d; the model keeps its state after epoch 1"):
        model.fit(data.X, data.Y)
    monkeypatch.undo()
    assert model.fitted
    assert len(model.curves) == 1
    assert np.isfinite(model.predict(data.X, k=3).scores).all()
    # What it keeps was trained with the parameters of that fit: it can be saved, and they are what must not change.
    trained = small().fit(data.X, data.Y).set_params(learning_rate=0.3)
    calls.clear()
    monkeypatch.setattr(GlasTask, "_step", spoilt)
    with pytest.raises(xt.TrainingError):
        trained.fit(data.X, data.Y)
    monkeypatch.undo()
    assert len(trained.curves) == 1
    trained.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").learning_rate == 0.3
    with pytest.raises(xt.StoreError, match=r"learning_rate was set to 0\.2 after training with 0\.3"):
        trained.set_params(learning_rate=0.2).save(tmp_path / "m")


def test_what_it_takes_is_estimated(data):
    few, many = (small(dim=dim).estimate(data.X, data.Y) for dim in (24, 240))
    assert (few.rows, few.features, few.labels) == (500, 700, 60)
    assert many.peak_bytes > few.peak_bytes > few.model_bytes > 0
    arrays = small(holdout=0).fit(data.X, data.Y).to_state().arrays
    assert sum(array.nbytes for array in arrays.values()) == pytest.approx(few.model_bytes, rel=0.1)


def test_bad_input(data):
    with pytest.raises(xt.InputError, match="at least one row with a label"):
        small().fit(data.X, sp.csr_array(data.Y.shape))
    with pytest.raises(xt.InputError, match="at least one row and one label"):
        small().fit(sp.csr_array((0, 5)), sp.csr_array((0, 3)))
    with pytest.raises(xt.ParameterError, match="device must be 'auto', 'cpu' or one"):
        small(device="toaster").fit(data.X, data.Y)
    model = small().fit(data.X, data.Y)
    with pytest.raises(xt.InputError, match="700"):
        model.predict(np.zeros((1, 5)))


def test_one_label_few_rows_and_nothing_in_them():
    X = sp.csr_array(np.array([[1.0, 0], [0, 2], [0, 0]], np.float32))
    one = small(batch_size=4096).fit(X, np.ones((3, 1)))
    assert one.predict(X, k=2).labels.tolist() == [[0]] * 3
    single = small().fit(X[:1], np.array([[0, 1, 0]]))
    assert single.predict(X, k=1).labels.shape == (3, 1)
    empty = small().fit(sp.csr_array((4, 2)), np.eye(4))
    assert np.isfinite(empty.predict(X, k=4).scores).all()


def test_an_index_finds_what_exact_search_finds(data, tmp_path):
    model = small(search="ann", dim=32).fit(data.X, data.Y)
    found = model.predict(data.X, k=5)
    model.save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data.X, k=5).labels, found.labels)
    exact = loaded.set_params(search="exact").predict(data.X, k=5)
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found.labels, exact.labels, strict=True)])
    assert recall > 0.97
    both = found.labels[:, 0] == exact.labels[:, 0]
    np.testing.assert_array_equal(found.scores[both, 0], exact.scores[both, 0])


def test_a_damaged_index_is_refused_or_does_no_harm(data, tmp_path):
    model = small(search="ann", dim=16).fit(data.X, data.Y)
    codes, levels = model._index.codes, model._index.levels
    not_finite = levels.copy()
    not_finite[3, 2] = np.inf
    for arrays, message in (
        ({"codes": codes}, "needs the arrays codes and levels"),
        ({"codes": codes.astype(np.int8), "levels": levels}, "codes of a LabelIndex must be uint8"),
        ({"codes": codes[0], "levels": levels}, "codes of a LabelIndex must be uint8 of 2 dimensions"),
        ({"codes": codes, "levels": levels[:, :3]}, "levels of a LabelIndex must be finite float32, 4 per dimension"),
        ({"codes": codes, "levels": not_finite}, "levels of a LabelIndex must be finite"),
    ):
        with pytest.raises(xt.StoreError, match=message):
            search.LabelIndex.from_state({}, State(arrays=arrays))
    for wrong in (codes[:0], codes[:, :-64], np.concatenate([codes, codes])):
        state = model.to_state()
        state.parts["index"] = search.LabelIndex(wrong, levels)
        with pytest.raises(xt.StoreError, match="the index must be of 60 vectors of length 16"):
            xt.Glas.from_state(model.to_config()["params"], state)
    model._index = search.LabelIndex(np.random.default_rng(0).integers(0, 256, codes.shape).astype(np.uint8), levels)
    assert model.predict(data.X, k=100).labels.max() < 60


def test_missing_libraries_are_named(data, monkeypatch, tmp_path):
    model = small().fit(data.X, data.Y)
    for library, attempt, extra in (
        ("torch", lambda: small().fit(data.X, data.Y), "deep"),
        ("matplotlib", lambda: plot(model.curves, tmp_path / "x.png"), "bench"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, library, None)
            patch.setitem(sys.modules, f"{library}.figure", None)
            with pytest.raises(xt.MissingExtraError, match=rf"xtrellis\[{extra}\]"):
                attempt()


def test_a_trained_model_needs_no_torch(data, tmp_path):
    model = small().fit(data.X, data.Y)
    model.save(tmp_path / "m")
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np, xtrellis as xt\n"
        f"print(xt.load({str(tmp_path / 'm')!r}).predict(np.eye(700)[:3], k=2).labels.tolist())"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(model.predict(np.eye(700)[:3], k=2).labels.tolist())
