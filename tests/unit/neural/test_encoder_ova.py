"""EncoderOvA: the exact loss over all labels, in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

import xtrellis as xt
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.neural.encoders.bag import BagEncoder
from xtrellis.neural.encoders.base import Inputs
from xtrellis.neural.ova import task as ova_task
from xtrellis.neural.ova.model import EncoderOvA

N, D, L = 150, 40, 30


def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 3 / L).astype(np.float32)
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.5)
    return as_features(sp.csr_array(X.astype(np.float32))), as_labels(sp.csr_array(Y))


def test_blocks_give_the_gradient_of_the_whole(monkeypatch):
    monkeypatch.setattr(ova_task, "LABELS", 7)
    X, Y = data()
    how = ova_task.OvASettings(
        dropout=0.0,
        batch_size=50,
        epochs=1,
        learning_rate=0.1,
        encoder_learning_rate=0.1,
        weight_decay=0.1,
        swa_start=1.0,
        seed=0,
        threads=2,
    )
    rows = np.arange(20, dtype=np.int32)
    task = ova_task.OvATask(Inputs(X=X), Y, rows, rows[:0], BagEncoder(dim=8), how, torch, torch.device("cpu"))
    rng = np.random.default_rng(1)
    task.labels.weights[...] = rng.standard_normal((L, 8)).astype(np.float32)
    before = torch.from_numpy(task.labels.weights.copy()).requires_grad_()
    vectors = torch.from_numpy(rng.standard_normal((20, 8)).astype(np.float32)).requires_grad_()
    own = Y[rows]
    loss, by_vector = task._labels(vectors.detach(), own, 0.1)
    wanted = torch.from_numpy(own.toarray().astype(np.float32))
    plain = torch.nn.functional.binary_cross_entropy_with_logits(vectors @ before.T, wanted, reduction="sum") / 20
    torch.testing.assert_close(torch.tensor(loss), plain.detach(), rtol=1e-4, atol=1e-4)
    expected, by_label = torch.autograd.grad(plain, [vectors, before])
    torch.testing.assert_close(by_vector, expected, rtol=1e-3, atol=1e-5)
    # the first step of Adam is the sign of the gradient, and biases do not decay
    moved = before.detach() - 0.1 * (by_label.sign() + 0.1 * before.detach() * (torch.arange(8) < 7))
    np.testing.assert_allclose(task.labels.weights, moved.numpy(), atol=1e-3)


def test_it_asks_every_label_and_survives_the_store(tmp_path):
    X, Y = data()
    model = EncoderOvA(
        encoder=BagEncoder(dim=16), epochs=15, batch_size=16, dropout=0, learning_rate=0.1, holdout=0
    ).fit(X, Y)
    top = model.predict(X, k=L)
    assert (np.sort(top.labels, axis=1) == np.arange(L)).all()
    p = 1 / (1 + np.exp(-model.embed(X) @ model.label_weights.T))
    np.testing.assert_allclose(top.scores, np.take_along_axis(p, top.labels, axis=1), rtol=1e-4)
    assert xt.evaluate(Y, top, metrics=["P@1"])["P@1"] > 50
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X).scores, model.predict(X).scores)
    assert len(again.curves) == len(model.curves)
    estimate, arrays = model.estimate(X, Y), model.to_state().arrays
    assert estimate.peak_bytes > estimate.model_bytes
    assert sum(array.nbytes for name, array in arrays.items() if name != "curves") == estimate.model_bytes


def test_going_on_after_a_stop(tmp_path, monkeypatch):
    X, Y = data()
    how = {"encoder": BagEncoder(dim=8), "epochs": 3, "batch_size": 32}
    whole = EncoderOvA(**how).fit(X, Y)
    original, seen = ova_task.OvATask.measure, []

    def measure(self):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(ova_task.OvATask, "measure", measure)
    try:
        EncoderOvA(**how).fit(X, Y, checkpoint=tmp_path / "state")
    except KeyboardInterrupt:
        monkeypatch.undo()
    again = EncoderOvA(**how, threads=1).fit(X, Y, checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(again.predict(X).scores, whole.predict(X).scores)


def test_a_label_begins_with_what_its_frequency_says():
    X, Y = data()
    rows = np.arange(100, dtype=np.int32)
    model = EncoderOvA(encoder=BagEncoder(dim=8), threads=1)
    how = ova_task.OvASettings(
        dropout=0.0, batch_size=50, epochs=1, learning_rate=0.1, encoder_learning_rate=0.1, weight_decay=0.1,
        swa_start=1.0, seed=0, threads=1,
    )  # fmt: skip
    args = (Inputs(X=X), Y, rows, rows[:0], model.encoder)
    weights = ova_task.OvATask(*args, how, torch, torch.device("cpu")).labels.weights
    counts = np.asarray(Y[rows].sum(axis=0)).ravel()
    np.testing.assert_allclose(1 / (1 + np.exp(-weights[:, -1])), (counts + 0.5) / 101, rtol=1e-5)
    assert not weights[:, :-1].any()
    hinge = ova_task.OvATask(*args, replace(how, loss="squared-hinge"), torch, torch.device("cpu"))
    assert (hinge.labels.weights[:, -1] == -1).all()
