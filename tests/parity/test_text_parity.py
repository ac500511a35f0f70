"""The text kernels against plain Python on any Unicode, and against scikit-learn on ASCII."""

from __future__ import annotations

import random
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import text_twin as twin
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from xtrellis._native import text as native
from xtrellis.core.errors import InputError
from xtrellis.explain import words
from xtrellis.text import encoding
from xtrellis.text.spans import Origins
from xtrellis.text.vectorizer import Vectorizer

# Characters that newer tables than ours know differently would fail for no fault of the kernel.
SAME_UNICODE = native.unicode_version == unicodedata.unidata_version
CHARS = st.characters() if SAME_UNICODE else st.characters(max_codepoint=0x2FF)
TRICKY = st.sampled_from(
    list(
        "aAbB1_ .,\t\n\0\x01\x1céÉßİıΣςǅﬁ½²™ℝÅ\u0301\u0308\u200d\ufe0f한글ᄒ\u1161"
        "ไทยक्षि中文漢😀👍🏽\ud800\udfff\ufdfa\u00b4\u2003++##..cCnet\u00ad\u200cกิ้〇々ｶﾞ㈱＋’'-"
    )
)
TEXT = st.one_of(
    st.text(st.one_of(TRICKY, CHARS), max_size=25),
    st.lists(
        st.sampled_from([".net", "NET", "c", "C++", "#", "+", ".", " ", "'", "\u00ad", "_", "7", "é", "中", "\x01"]),
        max_size=12,
    ).map("".join),
)
MARK = st.sampled_from(list("\u0301\u0323\u0315\u0334\u0f71\u0f73\u0344\u09be\u1161"))
RUN = st.lists(MARK, min_size=25, max_size=70).map("".join)
MARKED = st.lists(st.one_of(TEXT, RUN), max_size=5).map("".join)
PARAMS = st.fixed_dictionaries(
    {"ngrams": st.integers(1, 4), "lowercase": st.booleans(), "fold_accents": st.booleans()},
    optional={
        "char_ngrams": st.sampled_from(["1-2", "2-3", "3-5", "5-5"]),
        "min_token_length": st.integers(1, 4),
        "min_df": st.sampled_from([1, 2, 0.4]),
        "max_df": st.sampled_from([0.7, 1.0, 3]),
        "max_features": st.integers(1, 8),
        "sublinear_tf": st.booleans(),
        "idf": st.booleans(),
        "normalize": st.booleans(),
        "words": st.sampled_from(["any-script", "runs"]),
        "stop_words": st.just(["ab", "c", "中文", "net", "..."]),
    },
)


MORE = st.fixed_dictionaries(
    {"words": st.sampled_from(["any-script", "any-script", "runs"])},
    optional={"stop_words": st.just(["ab", "c", "中文", "net"]), "min_token_length": st.integers(1, 3)},
)


def check_against_twin(texts: list[str], params: dict) -> Vectorizer | None:
    names, rows = twin.fit_transform(texts, params)
    vectorizer = Vectorizer(**params, threads=1)
    if not names:
        with pytest.raises(InputError, match="no features are left"):
            vectorizer.fit(texts)
        return None
    X = vectorizer.fit_transform(texts)
    assert list(vectorizer.feature_names) == [name for _, name in names]
    assert X.shape == (len(texts), len(names))
    for i, row in enumerate(rows):
        begin, end = X.indptr[i], X.indptr[i + 1]
        assert X.indices[begin:end].tolist() == sorted(row)
        np.testing.assert_allclose(X.data[begin:end], [row[c] for c in sorted(row)], rtol=1e-6)
    again = vectorizer.transform(texts)
    for a, b in ((X.indptr, again.indptr), (X.indices, again.indices), (X.data, again.data)):
        assert a.tobytes() == b.tobytes()
    return vectorizer


@settings(max_examples=300)
@given(st.lists(TEXT, min_size=1, max_size=6), PARAMS)
def test_equals_the_twin_on_any_text(texts, params):
    if isinstance(params.get("min_df"), int) and params["min_df"] > len(texts):
        params.pop("min_df")
    limits = [
        x * len(texts) if isinstance(x, float) else x for x in (params.get("min_df", 1), params.get("max_df", 1.0))
    ]
    if limits[0] > limits[1]:
        params.pop("min_df", None)
        params.pop("max_df", None)
    vectorizer = check_against_twin(texts, params)
    if vectorizer is None:
        return
    for text in texts:
        one, many = vectorizer.transform_one(text), vectorizer.transform([text])
        assert one.indices.tobytes() == many.indices.tobytes()
        assert one.data.tobytes() == many.data.tobytes()


@settings(max_examples=150)
@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(1, 3), st.sampled_from([None, "2-3"]), st.booleans(), MORE)
def test_explained_places_are_the_counts(texts, ngrams, chars, fold, more):
    # The explainer is written separately from the reader: each must find what the other finds.
    params = {"ngrams": ngrams, "char_ngrams": chars, "fold_accents": fold, "idf": False, "normalize": False}
    params |= more
    try:
        vectorizer = Vectorizer(**params).fit(texts)
    except InputError:
        return
    for text in texts:
        found = np.zeros(vectorizer.n_features)
        for start, end, features in vectorizer.explain(text):
            assert 0 <= start < end <= len(text)
            for feature in features:
                found[feature] += 1
        np.testing.assert_array_equal(found, vectorizer.transform([text]).toarray()[0])


@settings(max_examples=200)
@given(st.lists(MARKED, min_size=1, max_size=3), st.booleans())
@example(["\u0f73" + "\u0344" * 33], True)
def test_long_runs_of_marks_are_what_the_twin_makes_of_them(texts, fold):
    for text in texts:
        assert encoding.normal_form(text) == twin.normal(text)
    params = {"ngrams": 2, "char_ngrams": "2-3", "fold_accents": fold, "min_token_length": 1}
    vectorizer = check_against_twin(texts, params)
    if vectorizer is None:
        return
    plain = Vectorizer(**params, idf=False, normalize=False).fit(texts)
    for text in texts:
        one, many = vectorizer.transform_one(text), vectorizer.transform([text])
        assert one.indices.tobytes() == many.indices.tobytes()
        found = np.zeros(plain.n_features)
        for start, end, features in plain.explain(text):
            assert 0 <= start < end <= len(text)
            np.add.at(found, list(features), 1)
        np.testing.assert_array_equal(found, plain.transform([text]).toarray()[0])


@settings(max_examples=300)
@given(MARKED, st.integers(1, 40))
def test_origins_are_those_of_the_twin(text, piece):
    normal = twin.normal(text)
    spans = [(i, j) for i in range(len(normal)) for j in (i + 1, min(i + 3, len(normal)), len(normal))]
    expected = list(map(twin.origins(text), *zip(*spans, strict=True))) if spans else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "PIECE", piece)
        assert encoding.normal_form(text) == normal
        begins, ends = np.array(spans, np.int64).reshape(-1, 2).T
        found = Origins(text, normal)(begins, ends)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@settings(max_examples=200)
@given(
    st.data(),
    st.lists(
        st.sampled_from(["ab", "é", " ", ". ", "_1", "\u0301", "😀", "\n\t", "中", "กิ", "\u200c"]), max_size=30
    ).map("".join),
)
def test_pushes_are_shared_out_as_the_twin_does(data, text):
    place = st.integers(0, len(text)).flatmap(
        lambda i: st.tuples(st.just(i), st.integers(i + 1, max(i + 1, len(text))))
    )
    spans = data.draw(st.lists(st.tuples(place, st.lists(st.integers(0, 4), max_size=3)), max_size=12 if text else 0))
    spans = [(start, end, features) for (start, end), features in spans if end <= len(text)]
    pushes = data.draw(st.dictionaries(st.integers(0, 5), st.floats(-9, 9)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "CHUNK", data.draw(st.sampled_from([1, 3, 10**6])))
        found = words.share_out(text, spans, pushes)
    expected = twin.share_out(text, spans, pushes)
    assert [tuple(word)[:3] for word in found] == [word[:3] for word in expected]
    np.testing.assert_allclose(found.pushes, [word[3] for word in expected], rtol=1e-12, atol=1e-12)


def ascii_texts(n: int = 120, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("abcdefgHIJ_09", k=rng.randint(1, 9))) for _ in range(80)]
    marks = [" ", ", ", ". ", "\n", " - ", "\t", "(", ") ", "'", "  ", "\x1c"]
    weights = [1 / (i + 1) for i in range(len(vocabulary))]
    texts = []
    for _ in range(n):
        words = rng.choices(vocabulary, weights, k=rng.randint(0, 60))
        texts.append("".join(w + rng.choice(marks) for w in words))
    return texts


SKLEARN = {
    "unigrams": ({}, {}),
    "bigrams": ({"ngrams": 2}, {"ngram_range": (1, 2)}),
    "four-grams": ({"ngrams": 4}, {"ngram_range": (1, 4)}),
    "case": ({"lowercase": False}, {"lowercase": False}),
    "char_wb": ({"ngrams": 0, "char_ngrams": "3-5"}, {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    "char_wb-one": ({"ngrams": 0, "char_ngrams": "1"}, {"analyzer": "char_wb", "ngram_range": (1, 1)}),
    "min_df": ({"ngrams": 2, "min_df": 3}, {"ngram_range": (1, 2), "min_df": 3}),
    "shares": ({"ngrams": 2, "min_df": 0.05, "max_df": 0.3}, {"ngram_range": (1, 2), "min_df": 0.05, "max_df": 0.3}),
    "max_df": ({"ngrams": 2, "max_df": 20}, {"ngram_range": (1, 2), "max_df": 20}),
    "sublinear": ({"ngrams": 2, "sublinear_tf": True}, {"ngram_range": (1, 2), "sublinear_tf": True}),
    "no-idf": ({"idf": False}, {"use_idf": False}),
    "no-norm": ({"normalize": False}, {"norm": None}),
    "short-words": ({"min_token_length": 1}, {"token_pattern": r"(?u)\b\w+\b"}),
    "max_features": ({"max_features": 12}, {"max_features": 12}),
}


@pytest.mark.parametrize("case", SKLEARN)
def test_equals_scikit_learn_on_ascii(case):
    ours, theirs = SKLEARN[case]
    texts = ascii_texts()
    reference = TfidfVectorizer(**theirs)
    expected = reference.fit_transform(texts)
    vectorizer = Vectorizer(**ours, words="runs", threads=2)
    X = vectorizer.fit_transform(texts)
    assert list(vectorizer.feature_names) == reference.get_feature_names_out().tolist()
    expected.sort_indices()
    assert X.indptr.tolist() == expected.indptr.tolist()
    assert X.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(X.data, expected.data, rtol=5e-7)


def test_tables_are_what_the_script_makes():
    if not SAME_UNICODE:
        assert native.unicode_version.split(".")[0].isdigit()  # another Python; its tables differ by right
        return
    folder = Path(__file__).parents[2] / "native" / "text"
    scope: dict = {"__name__": "tables"}
    exec((folder / "make_unicode_tables.py").read_text(), scope)
    assert (folder / "unicode_tables.inc").read_text() == scope["render"]()


def test_every_code_point_alone():
    # One text a code point, between two letters: classes and rewriting of all of Unicode in one go.
    last = sys.maxunicode + 1 if SAME_UNICODE else 0x300
    for fold in (False, True):
        params = {"lowercase": True, "fold_accents": fold, "min_token_length": 1}
        points = [
            chr(c)
            for c in range(last)
            if not 0x3400 < c < 0x9000 and not 0xAC10 < c < 0xD700 and not 0x20000 < c < 0xE0000
        ]
        texts = [f"x{''.join(points[i : i + 64 : 1])}y" for i in range(0, len(points), 64)]
        texts += [f"q{c}q" for c in points[:0x3200]]
        vectorizer = Vectorizer(**params)
        vectorizer.fit(texts)
        expected = {
            word
            for text in texts
            for word in twin.words_of_any_script(twin.rewrite(text, lowercase=True, fold_accents=fold), 1)
        }
        assert set(vectorizer.feature_names) == expected
