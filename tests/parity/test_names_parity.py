"""The kernel that finds names against plain Python that looks at every name."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from names_twin import NAMES, Twin, near
from scipy.optimize import minimize

import xtrellis as xt
from xtrellis._native import names as native
from xtrellis.arrays import StringTable, as_labels
from xtrellis.names.curves import KNOTS, Curves, _slopes, _Steps, learn
from xtrellis.names.features import FEATURES, KINDS, N_FORM
from xtrellis.names.index import NameIndex
from xtrellis.names.parse import Form
from xtrellis.names.training import count_matches, count_words, find
from xtrellis.text import WordReader

# Of one stem and of none, of one letter and of two bytes each.
WORDS = [
    "boat",
    "boats",
    "boating",
    "car",
    "cars",
    "care",
    "a",
    "fish",
    "fishing",
    "fisher",
    "ää",
    "ärger",
    "ärgern",
    "zoo",
]
WORD = st.sampled_from(WORDS)
FORMS = st.lists(st.tuples(st.lists(WORD, min_size=1, max_size=3), st.lists(WORD, max_size=2)), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(FORMS, st.lists(st.one_of(WORD, st.just("other")), max_size=12), st.sampled_from([0.3, 0.5, 1.0]),
       st.sampled_from([0.6, 0.7, 2.0]), st.integers(0, 3))  # fmt: skip
def test_matches_and_their_features(given_forms, text_words, partial, least, seed):
    forms = list(
        dict.fromkeys(Form(tuple(m), tuple(dict.fromkeys(w for w in q if w not in m))) for m, q in given_forms)
    )
    known = {
        word: int(n) for word, n in zip(WORDS, np.random.default_rng(seed).integers(0, 90, len(WORDS)), strict=True)
    }
    names = [" ".join(form.main) for form in forms]
    labels = list(range(len(forms)))
    index = NameIndex.build(
        names, labels, [[form] for form in forms], known=known, n_texts=100,
        label_rows=np.ones(len(forms), np.int64), partial=partial, likeness=least,
    )  # fmt: skip
    weights = dict(zip(index.words, index.arrays["weights"].tolist(), strict=True))
    posts = dict(zip(index.words, np.diff(index.arrays["posts.offsets"]).tolist(), strict=True))
    ambiguity = index.arrays["forms.ambiguity"][np.argsort(index.arrays["forms.labels"])].tolist()  # by label
    twin = Twin(forms, weights, posts, ambiguity, partial=partial, least=least)
    found = find(index, WordReader(), [" ".join(text_words)])
    expected = twin.read(text_words)
    close = {n for n, m in expected.items() if abs(m[1]["share"] - partial) < 1e-5}
    assert set(found.labels.tolist()) - close == set(expected) - close
    for label, kind, features in zip(found.labels.tolist(), found.kinds, found.features, strict=True):
        if label in expected:
            part, told, _, _ = expected[label]
            assert KINDS[kind] == ("part" if part else "whole")
            np.testing.assert_allclose(features, [told[name] for name in NAMES[:N_FORM]], rtol=1e-5, atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abé中", min_size=1, max_size=8), min_size=1, max_size=15, unique=True), st.floats(0.5, 1))
def test_words_that_are_like_others(words, least):
    words = sorted(words, key=str.encode)
    table = StringTable.of(words)
    slots = native.word_table(table.text, table.offsets)
    offsets, found, alike = native.near(table.text, table.offsets, slots, least)
    for i, word in enumerate(words):
        span = slice(int(offsets[i]), int(offsets[i + 1]))
        got = [(words[j], round(a, 4)) for j, a in zip(found[span].tolist(), alike[span].tolist(), strict=True)]
        close = any(abs(v - least) < 1e-5 for _, v in near(word, words, 0.0))
        if not close:
            assert got == [(other, round(v, 4)) for other, v in near(word, words, least)]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    names = [f"{a} {b}" if (i + j) % 2 else a + b for i, a in enumerate(WORDS) for j, b in enumerate(WORDS)][:80]
    texts = [" ".join(rng.choice([*WORDS, *names], 6)) for _ in range(400)]
    Y = sp.csr_array((rng.random((400, 80)) < 0.05) | np.array([[n in t for n in names] for t in texts])).astype(
        np.float32
    )
    return xt.NameMatcher(threads=1).fit(None, Y, texts=texts, label_names=names), texts, Y


@pytest.mark.parametrize("left_out", [False, True])
def test_scores(model, left_out):
    model, texts, Y = model
    texts, Y = texts[:50], Y[:50]
    found = find(model.index, WordReader(), texts)
    scorer = model.scorer
    right = np.asarray(Y[found.rows, found.labels]).ravel() > 0
    own = np.full(len(right), left_out)
    about = scorer.label_features(found.kinds, found.labels, own, right & left_out)
    features = np.concatenate([found.features.astype(np.float64), about], axis=1)
    odds = np.where(found.kinds == 0, *(scorer.curves.of(kind).log_odds(features) for kind in (0, 1)))
    expected = np.zeros((50, 80))
    expected[found.rows, found.labels] = 1 / (1 + np.exp(-odds))
    given_labels = {"leave_out": Y} if left_out else {}
    got = model.score(None, sp.csr_array(np.ones((50, 80))), texts=texts, **given_labels).toarray()
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    top = model.predict(None, 5, texts=texts, **given_labels)
    for row in range(50):
        kept = top.labels[row] >= 0
        np.testing.assert_allclose(top.scores[row, kept], np.sort(expected[row])[::-1][: kept.sum()], rtol=1e-5)


def test_counts_of_matches_are_those_of_the_matches_themselves(model):
    model, texts, Y = model
    matches, hits, per_row = count_matches(model.index, WordReader(), texts, as_labels(Y), threads=2)
    found = find(model.index, WordReader(), texts)
    right = np.asarray(Y[found.rows, found.labels]).ravel() > 0
    expected = np.zeros((2, *matches.shape), np.int64)
    np.add.at(expected[0], (found.kinds, found.labels), 1)
    np.add.at(expected[1], (found.kinds, found.labels), right)
    assert expected[1].sum() > 0
    np.testing.assert_array_equal(matches, expected[0])
    np.testing.assert_array_equal(hits, expected[1])
    np.testing.assert_array_equal(per_row, np.diff(found.offsets))


def test_a_word_is_counted_once_a_text():
    texts = ["boat boat fish", "", "Fish, a fish!", "car", "boat"]
    expected = Counter(word for text in (["boat", "fish"], ["fish", "a"], ["car"], ["boat"]) for word in text)
    assert count_words(WordReader(), texts, 2) == expected


def test_steps_are_sums_of_values_from_them_on():
    rng = np.random.default_rng(4)
    knots = [np.arange(n) for n in (1, 2, 5, KNOTS)]
    matrix, place = np.zeros((4 * KNOTS + 1, sum(len(own) - 1 for own in knots) + 1)), 0
    for f, own in enumerate(knots):
        for i in range(1, len(own)):
            matrix[f * KNOTS + i : (f + 1) * KNOTS, place] = 1
            place += 1
    matrix[-1, -1] = 1
    steps, by_values = rng.normal(size=matrix.shape[1]), rng.normal(size=(len(matrix), 3))
    np.testing.assert_allclose(_Steps(knots).values(steps), matrix @ steps)
    for f, own in enumerate(knots):
        by_values[f * KNOTS + len(own) : (f + 1) * KNOTS] = 0  # there are no such knots
    np.testing.assert_allclose(_Steps(knots).gathered(by_values), matrix.T @ by_values, atol=1e-12)


def test_slopes_of_the_regression():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(500, 3)).astype(np.float32)
    right = (rng.random(500) < 0.3).astype(np.uint8)
    knots = [np.linspace(-1, 1, n) for n in (2, 5, KNOTS)]
    values = rng.normal(size=3 * KNOTS + 1)
    loss, gradient, curvature = _slopes(features, right, knots, values)
    basis = np.zeros((500, len(values)))
    for f, own in enumerate(knots):
        for i in range(len(own)):
            basis[:, f * KNOTS + i] = np.interp(features[:, f], own, np.eye(len(own))[i])
    basis[:, -1] = 1
    p = 1 / (1 + np.exp(-basis @ values))
    assert loss == pytest.approx(-(right * np.log(p) + (1 - right) * np.log(1 - p)).sum())
    np.testing.assert_allclose(gradient, basis.T @ (p - right), atol=1e-9)
    np.testing.assert_allclose(curvature, basis.T @ (basis * (p * (1 - p))[:, None]), atol=1e-9)


def test_the_minimum_within_bounds():
    """Beside what SciPy finds."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 9, 30):
        basis = rng.normal(size=(3 * n, n))
        curvature, slope, at = basis.T @ basis + np.eye(n), 20 * rng.normal(size=n), np.zeros(n)
        low, high = np.where(rng.random(n) < 0.5, 0.0, -np.inf), np.where(rng.random(n) < 0.5, 0.3, np.inf)
        found = at.copy()
        native.within(found, slope.copy(), curvature, low, high, 1000)
        best = minimize(
            lambda x, q=curvature, g=slope: (x @ q @ x / 2 + g @ x, q @ x + g), at, jac=True,
            bounds=list(zip(low, high, strict=True)), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10},
        )  # fmt: skip
        np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_curves_learn_what_is_there_and_keep_their_direction():
    rng = np.random.default_rng(2)
    features = rng.random((20_000, len(FEATURES))).astype(np.float32)
    odds = -2 + 3 * features[:, 0] + 4 * (features[:, 4] - 0.5) ** 2 - 2 * features[:, 6]
    right = rng.random(len(odds)) < 1 / (1 + np.exp(-odds))
    curves = Curves.nothing(np.zeros(len(KINDS)))
    at, values, used, bias = learn(features, right)
    place = slice(0, len(FEATURES))
    curves.at[place], curves.values[place], curves.used[place], curves.bias[0] = at, values, used, bias
    curves.check()
    learned = curves.of(0).log_odds(features)
    assert np.abs(learned - odds).mean() < 0.25
    for f, feature in enumerate(FEATURES):
        steps = np.diff(values[f, : used[f]])
        assert (feature.sign * steps >= 0).all()
