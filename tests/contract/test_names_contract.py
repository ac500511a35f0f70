"""The contract that every model keeps, for the one that reads texts and names alone."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.model import Estimates, Explains, Resumes, Scores, can_score, why_no_explanation

N, L = 240, 40
WORDS = [f"{a}{b}" for a in ("bark", "clover", "dune", "ember", "fjord", "grove", "heath", "islet") for b in "aeiou"]
NAMES = [f"{word} stone" if i % 3 == 0 else word for i, word in enumerate(WORDS)]


def make_texts(rng, n):
    """Texts that name most of their labels, and words of names that they do not have."""
    Y = (rng.random((n, L)) < 3 / L).astype(np.float32)
    Y[:, [7, L - 1]] = 0  # labels without rows
    texts = []
    for row in Y:
        words = [NAMES[i] for i in np.flatnonzero(row) if rng.random() < 0.8]
        words += [WORDS[i] for i in rng.integers(0, L, 2)] + ["and", "the", "more"]
        texts.append(" ".join(words[i] for i in rng.permutation(len(words))))
    texts[5], texts[6] = "", "… 12 !"
    return texts, sp.csr_array(Y)


@pytest.fixture(scope="module")
def data():
    return make_texts(np.random.default_rng(0), N)


@pytest.fixture(scope="module")
def model(data):
    texts, Y = data
    return xt.NameMatcher(seed=3).fit(None, Y, texts=texts, label_names=NAMES)


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_answers_have_the_promised_form(model, data):
    top = model.predict(None, k=7, texts=data[0])
    assert top.labels.shape == top.scores.shape == (N, 7)
    assert (top.labels.dtype, top.scores.dtype) == (np.int32, np.float32)
    assert ((top.labels >= -1) & (top.labels < L)).all()
    assert (np.diff(top.scores, axis=1) <= 0).all()
    assert ((top.scores >= 0) & (top.scores <= 1)).all()
    assert all(len(set(row[row >= 0].tolist())) == (row >= 0).sum() for row in top.labels)
    assert (top.labels[[5, 6]] == -1).all()
    assert top.n_labels == model.n_labels == L


def test_it_has_learned_something(model, data):
    texts, Y = make_texts(np.random.default_rng(1), N)
    assert xt.evaluate(Y, model.predict(None, k=5, texts=texts), metrics=["P@1"])["P@1"] > 0.6


def test_saved_and_loaded_in_a_fresh_process_it_gives_the_same_bytes(model, data, tmp_path):
    model.save(tmp_path / "model")
    (tmp_path / "texts").write_text("\n".join(data[0]), encoding="utf-8")
    script = (
        "import sys, numpy as np, xtrellis as xt\n"
        "texts = open(sys.argv[1] + '/texts', encoding='utf-8').read().split('\\n')\n"
        "top = xt.load(sys.argv[1] + '/model', verify=True).predict(None, k=5, texts=texts)\n"
        "np.savez(sys.argv[1] + '/top.npz', labels=top.labels, scores=top.scores)\n"
        "assert not {'torch', 'sklearn', 'snowballstemmer'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    expected, got = model.predict(None, k=5, texts=data[0]), np.load(tmp_path / "top.npz")
    assert expected.labels.tobytes() == got["labels"].tobytes()
    assert expected.scores.tobytes() == got["scores"].tobytes()
    assert xt.load(tmp_path / "model") == model


def test_copies_answer_alike(model, data):
    expected = model.predict(None, k=5, texts=data[0][:40])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same(twin.predict(None, k=5, texts=data[0][:40]), expected)


def test_rows_do_not_influence_each_other(model, data):
    texts = data[0]
    expected = model.predict(None, k=5, texts=texts)
    same(model.predict(None, k=5, texts=texts[100:137]), expected[100:137])
    for i in range(20):
        same(model.predict(None, k=5, texts=texts[i : i + 1]), expected[i : i + 1])
    assert len(model.predict(None, k=5, texts=[])) == 0


def test_threads_change_nothing(data):
    texts, Y = data
    texts, Y = texts * 12, sp.vstack([Y] * 12)  # enough for several blocks
    one, two, seven = (
        xt.NameMatcher(seed=5, threads=n).fit(None, Y, texts=texts, label_names=NAMES).predict(None, texts=texts)
        for n in (1, 2, 7)
    )
    same(one, two)
    same(one, seven)


def test_threads_predict_at_once(model, data):
    expected = model.predict(None, k=5, texts=data[0])
    with ThreadPoolExecutor(3) as pool:
        for top in pool.map(lambda _: model.predict(None, k=5, texts=data[0]), range(8)):
            same(top, expected)


def test_parameters(model):
    fresh = model.clone()
    assert not fresh.fitted
    assert fresh == model
    with pytest.raises(xt.ParameterError, match="did you mean 'partial'"):
        fresh.set_params(partal=0.3)
    with pytest.raises(xt.NotFittedError):
        fresh.predict(None, texts=["a"])


def test_what_it_can_do_is_said_by_protocols(model):
    assert isinstance(model, Scores)
    assert isinstance(model, Explains)
    assert isinstance(model, Estimates)
    assert not isinstance(model, Resumes)
    assert can_score(model)
    assert why_no_explanation(model) is None
    assert model.reads_texts


def test_scores_of_given_labels_are_those_of_predict(model, data):
    texts = data[0]
    top = model.predict(None, k=L, texts=texts)
    everything = sp.csr_array(np.ones((N, L), np.float32))
    found = model.score(None, everything, texts=texts)
    np.testing.assert_array_equal(found.toarray(), top.to_csr().toarray())
    pairs = top.cut(5).to_csr()
    np.testing.assert_array_equal(model.score(None, pairs, texts=texts).data, pairs.data)


def test_it_says_what_training_takes(data):
    expected = xt.NameMatcher().estimate(sp.csr_array((N, 3), dtype=np.float32), data[1], label_names=NAMES)
    assert expected.labels == L
    assert expected.peak_bytes > expected.model_bytes > 0


def test_a_parameter_that_shapes_a_model_cannot_change_unnoticed(data, tmp_path):
    texts, Y = data
    model = xt.NameMatcher().fit(None, Y, texts=texts, label_names=NAMES)
    model.partial = 0.9
    with pytest.raises(xt.StoreError, match="partial was set to"):
        model.save(tmp_path / "model")


def test_an_explanation_agrees_with_predict(model, data):
    text = data[0][17]
    top = model.predict(None, k=5, texts=[text])
    for rank, (label, score) in enumerate(next(iter(top)), 1):
        why = model.explain(None, label, texts=[text])
        assert (why.label, why.rank, why.score) == (label, rank, score)
        assert why.reached
        (match,) = why.matches
        assert match.log_odds == pytest.approx(match.bias + sum(reason.amount for reason in match.reasons), abs=1e-12)
        assert match.score == pytest.approx(score, rel=1e-5)
        assert match.name == NAMES[label]
        assert all(text[word.start : word.end] == word.word for word in match.words if word.likeness == 1)
        assert match.words
    assert why.to_dict()["matches"][0]["name"] == NAMES[label]
    missing = next(i for i in range(L) if i not in model.predict(None, k=L, texts=[text]).labels)
    assert not model.explain(None, missing, texts=[text]).reached
    with pytest.raises(xt.ParameterError, match="label must be an integer"):
        model.explain(None, L, texts=[text])


def _predict_in_child(model, texts, queue):
    queue.put(model.predict(None, k=5, texts=texts).labels)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_predict_after_fork(model, data):
    expected = model.predict(None, k=5, texts=data[0]).labels
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_predict_in_child, args=(model, data[0], queue))
    child.start()
    try:
        np.testing.assert_array_equal(queue.get(timeout=60), expected)
    finally:
        child.join(30)
    assert child.exitcode == 0
