"""An explanation of `best` on a console: what each witness goes by, on a screen; at length if asked."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

import xtrellis as xt

DISHES = ["bread", "cheese", "soup", "cake", "fish", "rice", "sauce", "stew", "pasta", "pie"]
SCREEN = 24  # lines


def printed(thing: object, width: int = 80) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, color_system="truecolor", force_terminal=True).print(thing)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()


@pytest.fixture(scope="module")
def made() -> tuple[xt.Tagger, list[str]]:
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(400):
        mine = rng.choice(DISHES, 2, replace=False)
        words = [*rng.choice([f"word{i}" for i in range(60)], 50), *(f"hint{one}" for one in mine), mine[0]]
        texts.append(" ".join(rng.permutation(words)))
        labels.append(list(mine))
    return xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit(texts, labels), texts


def test_each_witness_says_what_it_goes_by(made: tuple[xt.Tagger, list[str]]) -> None:
    tagger, texts = made
    why = tagger.explain("hintbread bread word1 word2", "bread")
    lines = printed(why.render(compact=True))
    plain = printed(why.explanation)
    assert len(lines) <= SCREEN < len(plain)
    shown = "\n".join(lines)
    for witness in ("LinearTree", "Neighbors", "NameMatcher"):
        assert shown.count(witness) >= 2  # in the verdict, and what it goes by
    assert "neighbours have it" in shown
    assert "“bread” found as it is" in shown
    near = next(one for one in why.explanation.members[1].neighbors if one.votes)
    assert texts[near.row].startswith(near.text or "nothing kept")
    assert near.text is not None
    assert len(near.text) == 80
    assert f"row {near.row}: {near.text[:20]}" in shown


def test_long_texts_and_many_labels_fit_a_screen(made: tuple[xt.Tagger, list[str]]) -> None:
    tagger, texts = made
    long = " ".join(texts[:20])
    for label in DISHES:
        for width in (60, 80, 200):
            assert len(printed(tagger.explain(long, label).render(top=6, compact=True), width)) <= SCREEN


def test_what_is_shown_adds_up(made: tuple[xt.Tagger, list[str]]) -> None:
    tagger, texts = made
    why = tagger.explain(texts[0], "bread").explanation
    verdict = why.verdict
    assert verdict is not None
    total = verdict.base + verdict.frequency_added + sum(one.added for one in verdict.testimonies)
    assert total == pytest.approx(verdict.log_odds, abs=1e-9)
    assert 1 / (1 + np.exp(-total)) == pytest.approx(why.score, rel=1e-4)
