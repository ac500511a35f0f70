"""Texts made to be slow: every way through the vectoriser and its explanations takes time in proportion to length."""

from __future__ import annotations

import io
import random
import sys
import tracemalloc
import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import xtrellis as xt
from xtrellis.explain import tag, words
from xtrellis.text import encoding

TEXTS = [
    "Ripe apples and a sweet pear", "sweet juice of apples", "the pear orchard",
    "the engine of a fast car", "a car on the road", "road works: fast lane closed",
] * 3  # fmt: skip
LABELS = [["fruit"], ["fruit", "drink"], ["fruit"], ["car"], ["car"], ["road", "car"]] * 3

# By number of characters. Anything quadratic would take hours for a million.
WORST = {
    "marks out of order": lambda n: "a" + "\u0301\u0323" * (n // 2),
    "marks of many classes": lambda n: "\u0315\u0300\u05ae\u0334" * (n // 4),
    "signs that come apart into marks": lambda n: "\u0f74\u0f73\u0f71" * (n // 3),
    "marks, as many as are allowed": lambda n: ("a" + "\u0301\u0323" * 15) * (n // 31),
    "jamo": lambda n: "\u1112\u1161\u11ab" * (n // 3),
    "ideographs that change": lambda n: "\uf900" * n,
    "unassigned": lambda n: "\U000e0fff" * n,
    "words": lambda n: "apples " * (n // 7),
    "one word": lambda n: "a" * n,
    "words and marks between": lambda n: "apple.pear " * (n // 11),
    "two words far apart": lambda n: "sweet" + " ." * (n // 2) + " pear",
    "control characters": lambda n: "\x1b" * n,
    "emoji": lambda n: "😀a" * (n // 2),
    "accents": lambda n: "cafe\u0301 " * (n // 6),
}


@pytest.fixture(scope="module")
def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(ngrams=2, char_ngrams="3-4"), xt.preset("one-vs-all")).fit(TEXTS, LABELS)


def longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if unicodedata.combining(unicodedata.normalize("NFD", char)[0]) else 0
        longest = max(longest, run)
    return longest


@pytest.fixture
def normalized(monkeypatch) -> list[str]:
    """What `unicodedata.normalize` was given, letters alone left out."""
    seen: list[str] = []

    def normalize(form: str, text: str) -> str:
        if len(text) > 1:
            seen.append(text)
        return unicodedata.normalize(form, text)

    watched = SimpleNamespace(**{name: getattr(unicodedata, name) for name in ("combining", "category")})
    watched.normalize = normalize
    watched.is_normalized = lambda form, text: normalize(form, text) == text  # which is what it does if in doubt
    monkeypatch.setattr(encoding, "unicodedata", watched)
    return seen


@pytest.mark.parametrize("case", WORST)
def test_normalize_never_sees_a_long_run_of_marks(tagger, normalized, case):
    text = WORST[case](3000)
    tagger.vectorizer.transform_one(text)
    tagger.vectorizer.transform([text, "a", text])
    list(tagger.vectorizer.explain(text))
    xt.Vectorizer(ngrams=2, min_token_length=1, char_ngrams="1").fit([text, "apple"])
    assert max(map(longest_run, normalized), default=0) <= 30


def test_normalize_is_given_pieces_so_that_others_run_meanwhile(tagger, normalized, monkeypatch):
    text = WORST["accents"](60_000)
    whole = tagger.vectorizer.transform_one(text)
    places = list(tagger.vectorizer.explain(text))
    monkeypatch.setattr(encoding, "PIECE", 1000)
    normalized.clear()
    again = tagger.vectorizer.transform_one(text)
    assert len(normalized) > 50
    assert max(map(len, normalized)) < 1100
    assert again.indices.tobytes() == whole.indices.tobytes()
    assert again.data.tobytes() == whole.data.tobytes()
    assert list(tagger.vectorizer.explain(text)) == places


@pytest.mark.timeout(200)
@pytest.mark.parametrize("case", WORST)
def test_a_million_characters_take_no_time_to_speak_of(tagger, case):
    text = WORST[case](1_000_000)
    xt.Vectorizer(ngrams=2, min_token_length=1, threads=1).fit([text, "apple"])
    one, many = tagger.vectorizer.transform_one(text), tagger.vectorizer.transform([text, text])
    assert one.indices.tolist() == many.indices[: many.indptr[1]].tolist()
    why = tagger.explain(text, "fruit")
    assert "".join(word.text for word in why.words) == text
    assert sum(why.words.pushes) == pytest.approx(sum(why.explanation.pushes().values()), abs=1e-9)
    assert len(why.highlighted()) == len(text)
    assert len(why.highlighted(at_most=tag.EXCERPT)) <= 3 * tag.EXCERPT
    for compact in (False, True):
        stream = io.StringIO()
        console = Console(file=stream, width=80, color_system="truecolor", force_terminal=True)
        console.print(why.render(compact=compact))
        assert len(stream.getvalue()) < 40 * tag.LARGEST
    why.to_dict()


def calls(function) -> int:
    """Python and C functions that are called: what an interpreter's time grows with."""
    count = 0

    def tick(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("case", WORST)
def test_python_does_not_look_at_characters_one_by_one(tagger, case):
    text = WORST[case](40_000)
    tagger.explain(text * 4, "fruit")  # tables of characters are filled
    few, many = (calls(lambda times=times: tagger.explain(text * times, "fruit")) for times in (1, 4))
    assert many - few < 0.02 * 3 * len(text)  # pieces of thousands of characters are looked at


def test_an_explanation_takes_a_few_bytes_a_character(tagger):
    text = "apples and pears, sweet juice; " * 40_000
    tagger.explain(text, "fruit")
    tracemalloc.start()
    try:
        tagger.explain(text, "fruit")
        assert tracemalloc.get_traced_memory()[1] < 100 * len(text)  # NumPy's arrays are counted
    finally:
        tracemalloc.stop()


def test_a_run_of_marks_is_normalised_at_its_beginning_and_then_left_alone():
    run = "\u0301\u0323" * 40
    normal = encoding.normal_form(f"a{run}b{run[:30]}")
    first = unicodedata.normalize("NFC", f"a{run[:30]}")
    assert normal == first + run[30:] + unicodedata.normalize("NFC", f"b{run[:30]}")
    assert encoding.normal_form(run) == unicodedata.normalize("NFC", run[:30]) + run[30:]
    assert encoding.normal_form("\u0f73" * 40) == unicodedata.normalize("NFC", "\u0f73" * 30) + "\u0f73" * 10
    for text in ("", "abc", "é", "\ud800é", "x\u0302", "\u0302" * 30):
        assert encoding.normal_form(text) is text  # nothing to do


def test_spans_of_texts_with_long_runs_are_right():
    run = "\u0301\u0323" * 40
    text = f"Red cafe{run}s and re\u0301d {run} wine"
    vectorizer = xt.Vectorizer(ngrams=2).fit([text])
    found = {
        text[start:end]: [vectorizer.feature_names[f] for f in features]
        for start, end, features in vectorizer.explain(text)
    }
    assert found["wine"] == ["wine"]
    assert found["re\u0301d"] == ["réd"]
    assert found[f"re\u0301d {run} wine"] == ["réd wine"]
    assert found[f"cafe{run}s"] == [encoding.normal_form(f"cafe{run}s")]
    assert found["and"] == ["and"]


@pytest.mark.parametrize("space", [" ", "", "\n.  "])
def test_places_across_stretches_are_the_counts(space):
    # The kernel reads 65,536 code points at a time: n-grams must not be lost or doubled where it goes on.
    rng = random.Random(1)
    text = space.join(rng.choices(["ab", "é", "cd", "x\u0302", "\u1112\u1161\u11ab", "A-b"], k=100_000))
    params = {"ngrams": 4, "char_ngrams": "2-3", "idf": False, "normalize": False, "min_token_length": 1}
    vectorizer = xt.Vectorizer(**params, fold_accents=True).fit([text[:2000], "ab cd ab"])
    starts, ends, features = vectorizer.explain(text).arrays()
    assert starts.min() >= 0
    assert (starts < ends).all()
    assert ends.max() <= len(text)
    counts = np.bincount(features, minlength=vectorizer.n_features)
    np.testing.assert_array_equal(counts, vectorizer.transform([text]).toarray()[0])
    some = [3, 5, 10**9, -1]
    kept = vectorizer.explain(text).arrays(some)
    chosen = np.isin(features, some)
    np.testing.assert_array_equal(np.stack(kept), np.stack([starts, ends, features])[:, chosen])


def test_places_are_a_sequence():
    vectorizer = xt.Vectorizer(ngrams=2).fit(["red wine", "red car"])
    places = vectorizer.explain("A red car, red wine")
    names = vectorizer.feature_names
    assert [(s, e, [names[f] for f in fs]) for s, e, fs in places] == [
        (2, 5, ["red"]), (2, 9, ["red car"]), (6, 9, ["car"]), (11, 14, ["red"]), (11, 19, ["red wine"]),
        (15, 19, ["wine"]),
    ]  # fmt: skip
    assert len(places) == 6
    assert places[0] == places[-6] == next(iter(places))
    assert places[1:3] == list(places)[1:3]
    assert places == vectorizer.explain("A red car, red wine")
    assert places != vectorizer.explain("A red car")
    assert repr(places) == "<6 places of features>"
    assert list(vectorizer.explain("")) == []
    for index in (6, -7):
        with pytest.raises(IndexError, match="outside 6 spans"):
            places[index]


def test_words_are_a_sequence():
    found = words.share_out("ab, cd", [(0, 2, (7,)), (0, 6, (8,))], {7: 1.0, 8: 5.0})
    assert [tuple(word) for word in found] == [(0, 2, "ab", 3.0), (2, 3, ",", 1.0), (3, 4, " ", 0.0), (4, 6, "cd", 2.0)]
    assert [word.text for word in found.that_push()] == ["ab", ",", "cd"]
    assert found[-1] == found[3] == found[2:][1]
    assert found == list(found)
    assert found == words.share_out("ab, cd", [(0, 2, (7,)), (0, 6, (8,))], {7: 1.0, 8: 5.0})
    assert found != words.share_out("ab, cd", [], {})
    assert repr(found) == "<4 words>"
    assert len(words.share_out("", [], {7: 1.0})) == 0
    with pytest.raises(IndexError, match="outside 4 words"):
        found[4]


def test_a_damaged_model_may_push_by_anything(tagger):
    why = tagger.explain("sweet pear and car", "fruit")
    for bad in (np.inf, -np.inf, np.nan, 1e308):
        pushed = words.share_out(why.text, [(0, 10, (1,)), (6, 10, (2,))], {1: bad, 2: 1.0})
        odd = tag.ExplainedTag(why.text, why.label, why.explanation, pushed, why.label_names, why.feature_names)
        assert odd.highlighted().plain == why.text
        odd.highlighted(at_most=5)
