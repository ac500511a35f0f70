"""Stems and stop words."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import snowballstemmer

import xtrellis as xt
from xtrellis.core.errors import MissingExtraError, ParameterError
from xtrellis.text import forms
from xtrellis.text.stop_words import LANGUAGES, stop_words
from xtrellis.text.vectorizer import Vectorizer

TEXTS = [
    "The libraries of the city and their librarians",
    "A library is running",
    "She runs to the Library; RUNNING again",
    "中文 libraries",
]


@pytest.fixture(scope="module")
def english():
    return snowballstemmer.stemmer("english").stemWord


def dense(X) -> np.ndarray:
    return X.toarray()


def test_words_are_counted_by_their_stems(english):
    vectorizer = Vectorizer(stem="english", idf=False, normalize=False)
    X = vectorizer.fit_transform(TEXTS)
    names = list(vectorizer.feature_names)
    assert {"librari", "librarian", "run", "中文", "citi"} <= set(names)
    assert not {"libraries", "library", "running"} & set(names)
    assert dense(X)[:, names.index("librari")].tolist() == [1, 1, 1, 1]
    assert dense(X)[:, names.index("run")].tolist() == [0, 1, 2, 0]


def test_unknown_words_with_a_known_stem_are_found(english):
    vectorizer = Vectorizer(stem="english", ngrams=2).fit(["the connected cities"])
    new = "Connecting city"
    assert [vectorizer.feature_names[i] for i in vectorizer.transform([new]).indices] == [
        "citi",
        "connect",
        "connect citi",
    ]
    assert vectorizer.transform_one(new).indices.tolist() == vectorizer.transform([new]).indices.tolist()
    assert [(new[a:b], vectorizer.feature_names[f[0]]) for a, b, f in vectorizer.explain(new)] == [
        ("Connecting", "connect"), ("Connecting city", "connect citi"), ("city", "citi"),
    ]  # fmt: skip


def test_threads_and_blocks_do_not_matter(english, monkeypatch):
    texts = [f"library{i} libraries runs{i % 7}ing connected" for i in range(300)]
    whole = Vectorizer(stem="english", threads=1).fit(texts)
    monkeypatch.setattr(xt.text.encoding, "SMALLEST_BLOCK", 200)
    monkeypatch.setattr(xt.text.encoding, "LARGEST_BLOCK", 400)
    cut = Vectorizer(stem="english", threads=3).fit(texts)
    for name, array in cut.to_state().arrays.items():
        assert array.tobytes() == whole.to_state().arrays[name].tobytes(), name
    failed: list[int] = []
    expected = whole.transform(texts).toarray()

    def work() -> None:
        failed.extend(i for i in range(5) if (cut.transform(texts).toarray() != expected).any())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_the_table_does_not_grow_for_ever(english, monkeypatch):
    vectorizer = Vectorizer(stem="english", stop_words="english").fit(TEXTS)
    expected = dense(vectorizer.transform(TEXTS))
    monkeypatch.setattr(forms, "MOST_WORDS", 200)
    for begin in range(0, 1000, 100):
        vectorizer.transform([f"word{i}s" for i in range(begin, begin + 100)])
        assert len(vectorizer._known_forms[1].table()) <= 300
    assert (dense(vectorizer.transform(TEXTS)) == expected).all()


def test_stop_words_are_left_out_before_n_grams():
    vectorizer = Vectorizer(stop_words="english", ngrams=2).fit(["The history of the world"])
    assert list(vectorizer.feature_names) == ["history", "history world", "world"]
    text = "History of a World"
    assert [text[a:b] for a, b, _ in vectorizer.explain(text)] == ["History", "History of a World", "World"]
    several = Vectorizer(stop_words="finnish+english").fit(["talo ja puu and a house"])
    assert list(several.feature_names) == ["house", "puu", "talo"]
    own = Vectorizer(stop_words=["Foo", "cafe\u0301", "中文"]).fit(["foo Café 中文 bar"])
    assert list(own.feature_names) == ["bar"]
    folded = Vectorizer(stop_words=["café"], fold_accents=True).fit(["Cafe bar"])
    assert list(folded.feature_names) == ["bar"]
    assert Vectorizer(stop_words=[]).fit(["a b"]).n_features == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_lists_are_tidy(language):
    words = stop_words(language)
    assert len(words) == len(set(words)) > 80
    assert words == [word.lower() for word in words]
    assert Vectorizer(stop_words=language, min_token_length=1).fit([" ".join(words) + " xyz"]).n_features == 1


def test_a_store_keeps_them(tmp_path: Path, english):
    for number, params in enumerate(({"stem": "english"}, {"stop_words": ["the", "a"]}, {"stop_words": "english"})):
        vectorizer = Vectorizer(**params).fit(TEXTS)
        model = xt.Tagger(vectorizer, xt.preset("one-vs-all")).fit(TEXTS, [["a"], ["a"], ["b"], ["b"]])
        model.save(tmp_path / str(number))
        again = xt.load(tmp_path / str(number)).vectorizer
        assert again == model.vectorizer
        assert (dense(again.transform(TEXTS)) == dense(model.vectorizer.transform(TEXTS))).all()


def test_copies(english):
    vectorizer = Vectorizer(stem="english").fit(TEXTS)
    twin = copy.deepcopy(vectorizer)
    assert (dense(twin.transform(TEXTS)) == dense(vectorizer.transform(TEXTS))).all()
    table = pickle.loads(pickle.dumps(vectorizer._known_forms[1]))
    assert isinstance(table, forms.Forms)
    changed = vectorizer.clone().set_params(stem=None, stop_words="english").fit(TEXTS)
    assert "libraries" in changed.feature_names


def test_wrong_languages_are_named():
    with pytest.raises(ParameterError, match="did you mean 'english'"):
        Vectorizer(stem="englsh")
    with pytest.raises(ParameterError, match=r"no list of stop words for 'finish'.*did you mean 'finnish'"):
        Vectorizer(stop_words="finish")
    with pytest.raises(ParameterError, match="no list of stop words for 'klingon'; give a list of words"):
        Vectorizer(stop_words="english+klingon")
    with pytest.raises(ParameterError, match="stop_words must be a language"):
        Vectorizer(stop_words=[1])
    for wrong in ({"fold_accents": True}, {"lowercase": False}):
        with pytest.raises(ParameterError, match="stem='english' does not go with"):
            Vectorizer(stem="english", **wrong).fit(TEXTS)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    vectorizer = Vectorizer(stem="english")  # may be declared, copied and stored
    with pytest.raises(MissingExtraError, match=r"snowballstemmer; install it with: .*stem"):
        vectorizer.fit(TEXTS)
    assert Vectorizer(stop_words="english").fit(TEXTS).fitted


def test_a_library_that_lacks_the_language(monkeypatch, english):
    import snowballstemmer

    def refuse(language: str) -> None:
        raise KeyError(language)

    monkeypatch.setattr(snowballstemmer, "stemmer", refuse)
    with pytest.raises(ParameterError, match="has no stemmer for 'czech'"):
        Vectorizer(stem="czech").fit(TEXTS)


def test_from_the_command_line(tmp_path: Path):
    vectorizer = Vectorizer()
    vectorizer.set_from_text("stem", "finnish")
    vectorizer.set_from_text("stop_words", "finnish+english")
    vectorizer.set_from_text("words", "runs")
    assert vectorizer == Vectorizer(stem="finnish", stop_words="finnish+english", words="runs")
    (tmp_path / "mine.txt").write_text("foo bar\nbaz\n", "utf-8")
    vectorizer.set_from_text("stop_words", str(tmp_path / "mine.txt"))
    assert vectorizer.stop_words == ["foo", "bar", "baz"]
    vectorizer.set_from_text("stop_words", "none")
    assert vectorizer.stop_words is None
    with pytest.raises(ParameterError, match=r"no list of stop words for 'nofile\.txt'"):
        vectorizer.set_from_text("stop_words", "nofile.txt")
