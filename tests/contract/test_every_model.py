"""The one contract that every model keeps, whatever it is inside."""

from __future__ import annotations

import inspect
import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone as sklearn_clone

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.model import Embeds, Estimates, Explains, Resumes, Scores, can_score, why_no_explanation

N, D, L = 240, 40, 60
NAMED = ("names", "title")  # they read texts, which these rows have not: tests/unit/names holds them to the same


@pytest.fixture(scope="module")
def data():
    """Learnable, with an empty row, a row without labels and labels without rows."""
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 3 / L).astype(np.float32)
    Y[5] = 0
    Y[:, [7, L - 1]] = 0
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.5)
    X[9] = 0
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


@pytest.fixture(scope="module", params=[*(p for p in xt.presets() if p not in NAMED), "xr-linear,parabel++"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name, data):
    return xt.preset(name, seed=3).fit(*data)


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_answers_have_the_promised_form(model, data):
    top = model.predict(data[0], k=7)
    assert top.labels.shape == top.scores.shape == (N, 7)
    assert (top.labels.dtype, top.scores.dtype) == (np.int32, np.float32)
    assert ((top.labels >= -1) & (top.labels < L)).all()
    assert (np.diff(top.scores, axis=1) <= 0).all()
    assert np.isfinite(top.scores).all()
    assert all(len(set(row[row >= 0].tolist())) == (row >= 0).sum() for row in top.labels)
    assert top.n_labels == model.n_labels == L


def test_it_has_learned_something(model, data):
    X, Y = data
    report = xt.evaluate(Y, model.predict(X, k=5), metrics=["P@1"])
    by_frequency = np.argsort(-np.asarray(Y.sum(axis=0)).ravel())[:5].astype(np.int32)
    popular = xt.TopK(np.tile(by_frequency, (N, 1)), np.tile(np.float32([5, 4, 3, 2, 1]), (N, 1)), L)
    assert report["P@1"] > 2 * xt.evaluate(Y, popular, metrics=["P@1"])["P@1"]


def test_saved_and_loaded_in_a_fresh_process_it_gives_the_same_bytes(model, data, tmp_path):
    X, _ = data
    model.save(tmp_path / "model")
    sp.save_npz(tmp_path / "X.npz", X)
    script = (
        "import sys, numpy as np, scipy.sparse as sp, xtrellis as xt\n"
        "top = xt.load(sys.argv[1] + '/model', verify=True).predict(sp.load_npz(sys.argv[1] + '/X.npz'), k=5)\n"
        "np.savez(sys.argv[1] + '/top.npz', labels=top.labels, scores=top.scores)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    expected, got = model.predict(X, k=5), np.load(tmp_path / "top.npz")
    assert expected.labels.tobytes() == got["labels"].tobytes()
    assert expected.scores.tobytes() == got["scores"].tobytes()
    again = xt.load(tmp_path / "model")
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again == model


def test_the_form_of_the_input_does_not_matter(name, model, data):
    X, Y = data
    expected = model.predict(X, k=5)
    wide = sp.csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    for form in (sp.csr_matrix(X), X.astype(np.float64), X.tocsc(), X.tocoo(), X.toarray(), wide):
        same(model.predict(form, k=5), expected)
    for form in (sp.bsr_array(X), sp.dok_array(X), sp.lil_array(X), X.toarray(order="F")):
        same(model.predict(form, k=5), expected)
    same(xt.preset(name, seed=3).fit(wide.astype(np.float64), Y.toarray().astype(bool)).predict(X, k=5), expected)
    same(xt.preset(name, seed=3).fit(xt.TrainingData.of(X, Y)).predict(X, k=5), expected)


def test_rows_do_not_influence_each_other(model, data):
    X, _ = data
    expected = model.predict(X, k=5)
    same(model.predict(X[100:137], k=5), expected[100:137])
    same(model.predict(X[[9]], k=5), expected[9:10])
    assert len(model.predict(X[:0], k=5)) == 0


def test_how_long_rows_are_does_not_matter(name, model, data):
    """Doubling is exact, so the answers are the same to the bit: in training and in prediction."""
    X, Y = data
    lengths = sp.diags_array(np.float32(2.0) ** np.arange(-4, 4)[np.arange(N) % 8])
    scaled = sp.csr_array(lengths @ X).astype(np.float32)
    same(model.predict(X, k=5), model.predict(scaled, k=5))
    if name in ("xr-linear", "overlap", "softmax", "glas"):
        same(model.predict(X, k=5), xt.preset(name, seed=3).fit(scaled, Y).predict(X, k=5))


def test_parameters(name, model):
    fresh = model.clone()
    assert not fresh.fitted
    assert fresh == model
    assert sklearn_clone(model) == model
    assert fresh.set_params(seed=11).get_params()["seed"] == 11
    with pytest.raises(xt.ParameterError, match="did you mean 'seed'"):
        fresh.set_params(sead=1)
    with pytest.raises(xt.ParameterError, match="did you mean 'threads'"):
        xt.preset(name, thread=1)
    with pytest.raises(xt.NotFittedError):
        fresh.predict(np.zeros((1, D)))


def test_threads_change_nothing(name, data):
    X, Y = data
    one, two, seven = (xt.preset(name, seed=5, threads=n).fit(X, Y).predict(X) for n in (1, 2, 7))
    same(one, two)
    same(one, seven)


def test_two_threads_predict_at_once(model, data):
    X, _ = data
    expected = model.predict(X, k=5)
    with ThreadPoolExecutor(2) as pool:
        for top in pool.map(lambda _: model.predict(X, k=5), range(8)):
            same(top, expected)
        for i, top in zip(range(40), pool.map(lambda i: model.predict(X[[i]], k=5), range(40)), strict=True):
            same(top, expected[i : i + 1])


def _predict_in_child(model, X, queue):
    queue.put(model.predict(X, k=5).labels)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_predict_after_fork(model, data):
    X, _ = data
    expected = model.predict(X, k=5).labels
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_predict_in_child, args=(model, X, queue))
    child.start()
    try:
        np.testing.assert_array_equal(queue.get(timeout=60), expected)
    finally:
        child.join(30)
    assert child.exitcode == 0


def test_what_it_can_do_is_said_by_protocols(model):
    assert isinstance(model, (Scores, Explains, Estimates))
    assert isinstance(model, Estimates)
    assert can_score(model) == isinstance(model, Scores)
    assert (why_no_explanation(model) is None) == isinstance(model, Explains)
    assert isinstance(model, Resumes) == (not isinstance(model, (xt.Neighbors, xt.SoftmaxTree)))


def test_scores_of_given_labels_are_those_of_predict(model, data):
    X, _ = data
    top = model.predict(X, k=5)
    pairs = top.to_csr()
    found = model.score(X, pairs)
    assert found.shape == pairs.shape
    assert found.nnz == pairs.nnz
    np.testing.assert_allclose(found.data, pairs.data, rtol=2e-5, atol=1e-6)


def test_an_explanation_agrees_with_predict(model, data):
    X, _ = data
    row = X[[17]]
    top = model.predict(row, k=5)
    for rank, (label, score) in enumerate(next(iter(top)), 1):
        why = model.explain(row, label)
        assert why.label == label
        assert why.score == pytest.approx(score, rel=2e-5, abs=1e-6)
        assert why.rank == rank
        assert why.reached
        for path in why.paths:
            for step in path.steps:
                parts = step.bias + (step.vector or 0.0) + sum(push.contribution for push in step.pushes)
                assert step.margin == pytest.approx(parts, rel=1e-4, abs=1e-4)
    assert why.to_dict()["label"] == label
    with pytest.raises(xt.ParameterError, match="label must be an integer"):
        model.explain(row, L)


def test_vectors_have_a_row_each(model, data):
    if isinstance(model, Embeds):
        assert model.embed(data[0]).shape[0] == N


def test_it_says_what_training_takes(name, data):
    expected = xt.preset(name, seed=3).estimate(*data)
    assert expected.rows == N
    assert expected.labels == L
    assert expected.peak_bytes > expected.matrices_bytes > 0
    assert expected.model_bytes > 0
    assert expected.to_dict()["peak_bytes"] == expected.peak_bytes


class _StopError(Exception):
    """Stands for a kill."""


class _StopsAt:
    """A listener that stops the training after so many signs of life."""

    def __init__(self, at: int) -> None:
        self.left, self.count = at, 0

    def _tick(self) -> None:
        self.count += 1
        if self.count == self.left:
            raise _StopError

    def begin(self, title, total, unit):
        self._tick()
        return 0

    def advance(self, step, amount):
        self._tick()

    def end(self, step):
        """Not counted: it is called while an error passes by."""

    def note(self, message):
        self._tick()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_stopped_training_goes_on_to_the_same_bytes(name, data, tmp_path):
    model = xt.preset(name, seed=3, threads=1)
    if not isinstance(model, Resumes):
        with pytest.raises(xt.InputError, match="keeps no checkpoints"):
            model.fit(*data, checkpoint=tmp_path / "work")
        return
    listener = _StopsAt(-1)
    with progress.listen(listener):
        model.fit(*data)
    model.save(tmp_path / "whole")
    for share in (0.3, 0.8):
        again = xt.preset(name, seed=3, threads=1)
        with progress.listen(_StopsAt(max(1, int(share * listener.count)))), pytest.raises(_StopError):
            again.fit(*data, checkpoint=tmp_path / "work")
        assert not again.fitted
        again.fit(*data, checkpoint=tmp_path / "work")
        assert (tmp_path / "work").exists()  # until the model is safe
        again.save(tmp_path / "resumed")
        assert not (tmp_path / "work").exists()
        assert files(tmp_path / "resumed") == files(tmp_path / "whole")


def test_a_checkpoint_of_other_data_is_refused(name, data, tmp_path):
    X, Y = data
    model = xt.preset(name, seed=3)
    if not isinstance(model, Resumes):
        return
    names = [f"label {i}" for i in range(L)]
    model.fit(X, Y, label_names=names, checkpoint=tmp_path / "work")
    for other in ({"X": X[::-1]}, {"label_names": names[::-1]}, {"texts": ["a text"] * N}):
        given = {"X": X, "Y": Y, "label_names": names, **other}
        with pytest.raises(xt.StoreError, match="another training"):
            xt.preset(name, seed=3).fit(**given, checkpoint=tmp_path / "work")


def test_a_parameter_that_shapes_a_model_cannot_change_unnoticed(model, tmp_path):
    saved = model.seed
    model.seed = saved + 1
    try:
        with pytest.raises(xt.StoreError, match="seed was set to"):
            model.save(tmp_path / "model")
    finally:
        model.seed = saved


def test_the_signature_names_every_parameter(model):
    shown = inspect.signature(type(model)).parameters
    assert list(shown) == list(model.get_params(deep=False))
    for name in shown:
        assert f"\n{name} : " in type(model).__doc__


class Reader(xt.Model):
    """Reads texts: a row's label is the number it says."""

    _n = 0

    @property
    def fitted(self):
        return self._n > 0

    @property
    def n_labels(self):
        return self._n

    @property
    def reads_texts(self):
        return True

    def _train(self, data, checkpoint):
        assert [int(text) for text in data.texts] == [round(value) for value in data.X.toarray()[:, 0] * 1000]
        self._n = data.n_labels

    def _estimate(self, data):
        return xt.Estimate(data.n_rows, data.n_features, data.n_labels, 1, 1, 1)

    def predict(self, X, k=10, *, texts=None):
        labels = np.array([[int(text) % self._n] for text in texts], np.int32).reshape(-1, 1)
        return xt.TopK(labels, np.ones(labels.shape, np.float32), self._n)

    def score(self, X, labels, *, texts=None):
        out = labels.copy()
        rows = np.repeat(np.arange(out.shape[0]), np.diff(out.indptr))
        out.data = (out.indices == np.array([int(text) % self._n for text in texts])[rows]).astype(np.float32)
        return out

    def _to_state(self):
        raise NotImplementedError

    @classmethod
    def from_state(cls, params, state):
        raise NotImplementedError


@pytest.mark.parametrize("make", [lambda: xt.Reranked(base=Reader()), lambda: xt.Ensemble(models=[Reader(), Reader()])])
def test_texts_reach_those_that_read_them(make, data):
    X, Y = data
    X = X.tolil()
    X[:, 0] = np.arange(1, N + 1)[:, None] / 1000  # so that a row can be told from its text
    X, texts = X.tocsr(), [str(i + 1) for i in range(N)]
    outer = make().fit(X, Y, texts=texts)
    assert outer.reads_texts
    top = outer.predict(X[50:90], k=1, texts=texts[50:90])
    assert top.labels[:, 0].tolist() == [(i + 1) % L for i in range(50, 90)]
    pairs = top.to_csr()
    np.testing.assert_allclose(outer.score(X[50:90], pairs, texts=texts[50:90]).data, pairs.data, rtol=1e-5)
    with pytest.raises(xt.InputError, match="reads texts"):
        make().fit(X, Y)
    with pytest.raises(xt.InputError, match="Reader cannot explain its answers, so neither can the"):
        outer.explain(X[[3]], 0, texts=texts[3:4])
