"""A text without anything known in it gets no answer, and the reason, also of models that read texts themselves."""

from __future__ import annotations

import pytest

import xtrellis as xt

WORDS = ["bread", "cheese", "soup", "cake"]
TEXTS = [f"hint{i % 4} {'warm' if i % 3 else WORDS[i % 4]}" for i in range(80)]
LABELS = [[WORDS[i % 4]] for i in range(80)]
REASON = "the model knows no word of the text"


@pytest.mark.parametrize("preset", ["best", "names", "xr-linear+names", "xr-linear,names"])
def test_silent_witnesses(preset: str) -> None:
    tagger = xt.Tagger(xt.Vectorizer(stop_words=["cake"]), xt.preset(preset)).fit(TEXTS, LABELS)
    texts = ["hint1 cheese", "qqqq zzzz", "!!! ???", "", "cake"]
    tags = tagger.tag_many(texts, k=1)
    assert [one.reason for one in tags] == [None, REASON, REASON, "the text is empty", None]
    assert [[tag.label for tag in one] for one in tags] == [["cheese"], [], [], [], ["cake"]]
    for text, many in zip(texts, tags, strict=True):
        one = tagger.tag(text, k=1)
        assert (one, one.reason) == (many, many.reason)
    assert tagger.model.finds_something(["qqqq", "so much cake"]) == [False, True]  # a name that is no feature
    assert bool(tagger.tag("qqqq zzzz", guess=True)) == (preset != "names")


def test_a_second_opinion_asks_its_first() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear++")).fit(TEXTS, LABELS)
    assert tagger.tag("qqqq").reason == REASON
    assert tagger.tag("hint1", k=1)[0].label == "cheese"
