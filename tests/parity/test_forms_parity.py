"""Stems and stop words in the kernels against plain Python."""

from __future__ import annotations

import numpy as np
import snowballstemmer
import text_twin as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis.text.stop_words import stop_words
from xtrellis.text.vectorizer import Vectorizer

WORDS = [
    "the",
    "libraries",
    "library",
    "Library's",
    "running",
    "C++",
    "x-ray",
    "中文书",
    "of",
    "a",
    "I",
    "happily",
    "été",
]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(TEXTS, st.booleans(), st.integers(1, 3), st.sampled_from(["any-script", "runs"]))
def test_equals_the_plain_twin(texts, stopped, ngrams, words):
    stem = snowballstemmer.stemmer("english").stemWord
    texts = [*texts, "libraries and connections"]
    params = {"ngrams": ngrams, "words": words}
    listed = set(stop_words("english")) if stopped else set()
    names, rows = twin.fit_transform(texts, {**params, "stop_words": listed, "form": stem})
    vectorizer = Vectorizer(stem="english", stop_words="english" if stopped else None, **params)
    X = vectorizer.fit_transform(texts)
    assert list(vectorizer.feature_names) == [name for _, name in names]
    for found, row in zip(X.toarray(), rows, strict=True):
        np.testing.assert_allclose(found[sorted(row)], [row[c] for c in sorted(row)], rtol=1e-6)
        assert np.count_nonzero(found) == len(row)
    assert (vectorizer.transform(texts).toarray() == X.toarray()).all()
    plain = Vectorizer(stem="english", stop_words="english" if stopped else None, **params, idf=False, normalize=False)
    counts = plain.fit_transform(texts).toarray()
    for text, expected in zip(texts, counts, strict=True):
        places = np.zeros(plain.n_features)
        for _, _, features in plain.explain(text):
            np.add.at(places, list(features), 1)
        np.testing.assert_array_equal(places, expected)
