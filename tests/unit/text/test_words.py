"""What is a word, script by script."""

from __future__ import annotations

import json

import pytest

import xtrellis as xt
from xtrellis.text import is_unspaced
from xtrellis.text.vectorizer import Vectorizer


def words(text: str, **params: object) -> list[str]:
    """The words of a text, in order."""
    vectorizer = Vectorizer(**params).fit([text])
    names = vectorizer.feature_names
    return [names[feature] for _, _, features in vectorizer.explain(text) for feature in features]


SCRIPTS = {
    "我喜欢编程": ["我喜", "喜欢", "欢编", "编程"],
    "東京タワーへ行く。": ["東京", "京タ", "タワ", "ワー", "ーへ", "へ行", "行く"],
    "中": ["中"],
    "中 文": ["中", "文"],
    "二〇二〇年": ["二〇", "〇二", "二〇", "〇年"],
    "学习Python编程2020年": ["学习", "python", "编程", "2020", "年"],
    "ภาษาไทย": ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"],
    "กินข้าว": ["กิน", "นข้", "ข้า", "าว"],  # a letter keeps its marks
    "ພາສາ": ["ພາ", "າສ", "ສາ"],
    "ភាសា": ["ភាសា"],
    "ភាសា\u200bខ្មែរ": ["ភាសា", "ខ្មែ", "មែរ"],  # a space without width is a space
    "မြန်မာ": ["မြန်", "န်မာ"],
    "한국어 문서": ["한국어", "문서"],  # Korean has spaces
    "हिन्दी भाषा": ["हिन्दी", "भाषा"],
    "ｶﾀｶﾅ": ["ｶﾀ", "ﾀｶ", "ｶﾅ"],
}


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts(text):
    assert words(text) == SCRIPTS[text]
    if all(is_unspaced(char) for char in text):  # pairs do not depend on it
        assert words(text, min_token_length=4) == SCRIPTS[text]


SIGNS = {
    "C++ and C#, F# or .NET": ["c++", "and", "c#", "f#", "or", ".net"],
    "C++11; Notepad++, libstdc++.": ["c++", "11", "notepad++", "libstdc++"],
    "ASP.NET on the net. Network": ["asp", "net", "on", "the", "net", "network"],
    "C#/.NET (.Net)": ["c#", ".net", ".net"],
    "gtk+ pkcs#11 html#top": ["gtk", "pkcs", "11", "html", "top"],
    "a+b c+++d e#f": ["c", "d"],
    "K+ channel, grade A+": ["k+", "channel", "grade", "a+"],
    "vitamin C, plan B.": ["vitamin", "c", "plan", "b"],
    "don't e.g. x-ray R&D it's": ["don", "ray", "it"],
    "type 2 diabetes (a) _ X": ["type", "diabetes", "a", "x"],
    "維他命C": ["維他", "他命", "c"],
    "Ü é": ["ü", "é"],
}


@pytest.mark.parametrize("text", SIGNS)
def test_signs_and_single_letters(text):
    assert words(text) == SIGNS[text]


def test_lengths_still_count():
    assert words("C C# C++ vitamin no", min_token_length=3) == ["c++", "vitamin"]
    assert words("don't e.g.", min_token_length=1) == ["don", "t", "e", "g"]
    assert words("type 2", min_token_length=1) == ["type", "2"]
    assert words("C# C", lowercase=False) == ["C#", "C"]


@pytest.mark.parametrize("silent", ["\u200c", "\u200d", "\u00ad"])
def test_what_only_joins_letters_does_not_end_a_word(silent):
    text = f"می{silent}خواهم"
    vectorizer = Vectorizer().fit([text, "میخواهم"])
    assert list(vectorizer.feature_names) == ["میخواهم"]
    assert list(vectorizer.explain(text)) == [(0, len(text), (0,))]  # the whole of it, as it was typed
    assert list(vectorizer.explain(f"{text}{silent} a")) == [(0, len(text), (0,))]
    assert words(text, words="runs") == ["می", "خواهم"]


def test_runs_are_as_before():
    text = "我喜欢 C++ .NET a don't"
    assert words(text, words="runs") == ["我喜欢", "net", "don"]


def test_a_vectoriser_that_was_stored_before_keeps_its_words():
    text = "我喜欢 C++ programming"
    fitted = Vectorizer(words="runs").fit([text])
    params = fitted.to_config()["params"]
    for name in ("words", "stem", "stop_words"):
        del params[name]
    loaded = Vectorizer.from_state(json.loads(json.dumps(params)), fitted.to_state())
    assert loaded.words == "runs"
    assert loaded.transform_one(text).nnz == len(fitted.feature_names) == 2


def test_n_grams_of_pairs():
    vectorizer = Vectorizer(ngrams=2).fit(["编程语言C++"])
    assert set(vectorizer.feature_names) == {"编程", "程语", "语言", "c++", "编程 程语", "程语 语言", "语言 c++"}


def test_tags_and_explanations_of_chinese():
    texts = ["我喜欢吃苹果和梨", "苹果汁很甜", "新车在路上跑", "汽车的发动机"] * 3
    tagger = xt.Tagger(Vectorizer(), xt.preset("one-vs-all")).fit(texts, [["fruit"], ["fruit"], ["car"], ["car"]] * 3)
    assert tagger.tag("他买了苹果", k=1)[0].label == "fruit"
    why = tagger.explain("他买了苹果。", "fruit")
    assert [word.text for word in why.words] == ["他", "买", "了", "苹", "果", "。"]
    strongest = max(why.words, key=lambda word: word.push)
    assert strongest.text in "苹果"
    assert sum(why.words.pushes) == pytest.approx(sum(why.explanation.pushes().values()))
