"""The one contract that every model keeps, whatever it is inside."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone as sklearn_clone

import xtrellis as xt

N, D, L = 240, 40, 60


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


@pytest.fixture(scope="module", params=[*xt.presets(), "xr-linear,parabel++"])
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
    same(xt.preset(name, seed=3).fit(wide.astype(np.float64), Y.toarray().astype(bool)).predict(X, k=5), expected)


def test_rows_do_not_influence_each_other(model, data):
    X, _ = data
    expected = model.predict(X, k=5)
    same(model.predict(X[100:137], k=5), expected[100:137])
    same(model.predict(X[[9]], k=5), expected[9:10])
    assert len(model.predict(X[:0], k=5)) == 0


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
    same(
        xt.preset(name, seed=5, threads=1).fit(X, Y).predict(X), xt.preset(name, seed=5, threads=2).fit(X, Y).predict(X)
    )


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
