"""An explained tag: names for numbers, and pushes shared out among the words of the text."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import xtrellis as xt
from xtrellis.explain.tag import EXCERPT, share_out

TEXTS = [
    "Ripe apples and a sweet pear", "sweet juice of apples", "the pear orchard",
    "the engine of a fast car", "a car on the road", "road works: fast lane closed",
] * 3  # fmt: skip
LABELS = [["fruit"], ["fruit", "drink"], ["fruit"], ["car"], ["car"], ["road", "car"]] * 3


@pytest.fixture(scope="module")
def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(ngrams=2, char_ngrams="3-4"), xt.preset("one-vs-all")).fit(TEXTS, LABELS)


def printed(thing: object, *, colour: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    colours = "truecolor" if colour else None
    Console(file=stream, width=width, highlight=False, color_system=colours, force_terminal=colour).print(thing)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text", ["Sweet APPLES, sweet pear?", "a cafe\u0301 with ap\u0301ple juice", "pear\n\tcar\x1b[31m"]
)
def test_words_together_have_what_the_features_have(tagger: xt.Tagger, text: str) -> None:
    why = tagger.explain(text, "fruit")
    assert "".join(word.text for word in why.words) == text
    assert all(text[word.start : word.end] == word.text for word in why.words)
    features = why.explanation.pushes()
    assert features
    assert sum(word.push for word in why.words) == pytest.approx(sum(features.values()), abs=1e-12)


def test_pushes_are_shared_out_among_places_and_characters() -> None:
    spans = [(0, 2, (7,)), (0, 7, (8,)), (6, 7, (9,)), (8, 10, (7,))]
    words = share_out("ab, cde ab", spans, {7: 4.0, 8: 6.0, 9: -1.0, 10: 5.0})
    assert [(word.text, round(word.push, 9)) for word in words if word.push] == [
        ("ab", 2 + 2), (",", 1.0), ("cde", 3 - 1), ("ab", 2.0),
    ]  # fmt: skip


def test_the_right_words_speak(tagger: xt.Tagger) -> None:
    why = tagger.explain("an apple beside the car", "fruit")
    push = {word.text: word.push for word in why.words}
    assert push["apple"] > 0 > push["car"]
    assert why.score == pytest.approx(dict(tagger.tag("an apple beside the car", k=4))["fruit"], rel=1e-5)
    plain = json.loads(json.dumps(why.to_dict()))
    assert plain["name"] == "fruit"
    assert {"start", "end", "text", "push"} == plain["words"][0].keys()
    assert {push["name"] for push in plain["paths"][0]["steps"][0]["features"]} >= {"car"}


def test_colours_only_where_there_are_any(tagger: xt.Tagger) -> None:
    text = "an apple beside the car"
    why = tagger.explain(text, "fruit")
    assert text not in printed(why)
    coloured = printed(why, colour=True)
    apple, car = coloured.index("apple"), coloured.index("car")
    assert ";48;2;" in coloured[:apple]
    assert coloured.index("\x1b[", apple) < car
    spans = why.highlighted().spans
    assert {text[span.start : span.end]: "on #" in str(span.style) for span in spans}.keys() >= {"apple", "car"}


def test_escape_codes_in_a_text_are_not_printed(tagger: xt.Tagger) -> None:
    assert "\x1b[5m" not in printed(tagger.explain("apple \x1b[5m car", "fruit"), colour=True)


def test_long_texts_are_cut_to_what_matters(tagger: xt.Tagger) -> None:
    text = "nothing here. " * 100 + "apples " + "nothing there. " * 100
    excerpt = tagger.explain(text, "fruit").highlighted(at_most=EXCERPT)
    assert len(excerpt) <= EXCERPT + 4
    assert "apples" in excerpt.plain
    assert excerpt.plain.startswith("… ")
    assert excerpt.plain.endswith(" …")
    unknown = tagger.explain("§ " * 1000, "fruit").highlighted(at_most=EXCERPT)
    assert len(unknown) == EXCERPT + 2
    assert len(printed(tagger.explain(text, "fruit").render(compact=True), colour=True)) < len(text)


def test_texts_without_known_words(tagger: xt.Tagger) -> None:
    for text in ("", "§§§"):
        why = tagger.explain(text, "road")
        assert why.explanation.pushes() == {}
        assert "bias" in printed(why, colour=True)


def test_a_matrix_model_knows_no_texts(tagger: xt.Tagger) -> None:
    bare = xt.Tagger.of_model(tagger.model, tagger.label_names)
    with pytest.raises(xt.InputError, match="cannot read texts"):
        bare.explain("apple", "fruit")
