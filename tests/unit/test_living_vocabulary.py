"""Taggers with a vocabulary that learn on: labels go by their ids, whatever they are called."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt

WORDS = ("bread", "cheese", "soup", "cake")
LABELS = [
    xt.Label(f"v:{i}", {"en": word, "fi": f"{word}-fi"}, alternative={"en": (f"{word}s of the house",)})
    for i, word in enumerate((*WORDS, "fish", "rice"))
]
TEXTS = ["fresh bread", "old cheese", "warm soup", "sweet cake", "bread and cheese", "soup with bread"] * 20
NAMED = [["bread"], ["v:1"], ["soup-fi"], ["cake"], ["v:0", "cheese"], ["soup", "bread"]] * 20


def made(model: xt.Model, **more: object) -> xt.Tagger:
    tagger = xt.Tagger(xt.Vectorizer(), model, vocabulary=xt.Vocabulary(LABELS), keep_rows=True)
    return tagger.fit(TEXTS, NAMED)


def both() -> xt.Model:
    return xt.preset("xr-linear+neighbors+names", seed=0, threads=1)


@pytest.mark.parametrize("model", [lambda: xt.LinearTree(threads=1), xt.Neighbors, both])
def test_rows_are_learned_by_any_name_of_a_label(model):
    tagger = made(model())
    tagger.update(["fresh fish", "fish soup"] * 30, [["fish-fi"], ["v:4", "soup"]] * 30)
    tags = tagger.tag("fresh fish", k=1)
    assert (tags[0].id, tags[0].label) == ("v:4", "fish")
    assert tagger.label_counts[tagger.find_label("fish")] == 60
    assert tagger.tag("old cheese", k=1)[0].id == "v:1"


def test_labels_change_by_any_name_and_the_journal_has_ids():
    tagger = made(xt.LinearTree(threads=1))
    assert tagger.tag("old cheese", k=1)[0].id == "v:1"
    tagger.retire("cheese-fi")
    assert tagger.retired == ["v:1"]
    assert "v:1" not in [tag.id for tag in tagger.tag("old cheese", k=4)]
    tagger.restore("v:1").merge("cake", into="bread")
    assert tagger.merged == {"v:3": "v:0"}
    assert tagger.history()[-1]["labels"] == ["v:3"]
    assert tagger.tag("sweet cake", k=1)[0].id == "v:0"
    tagger.rename({"bread": "loaf"})  # this tagger's own name for it: the vocabulary stays as it is
    assert tagger.renamed == {"v:0": "loaf"}
    assert tagger.tag("fresh bread", k=1)[0].label == "loaf"
    assert tagger.version == 4


def test_what_the_vocabulary_lacks_is_left_out_and_told(caplog):
    tagger = made(xt.LinearTree(threads=1))
    with caplog.at_level("INFO", logger="xtrellis"):
        tagger.update(["fresh bread with sushi"], [["bread", "sushi"]])
    assert "sushi" in caplog.text
    assert tagger.label_ids.find("sushi") is None


@pytest.mark.parametrize("model", [lambda: xt.LinearTree(threads=1), both])
def test_a_refreshed_one_is_one_trained_on_all_rows(model, tmp_path):
    tagger = made(model())
    more, named = ["fresh fish", "rice soup"] * 30, [["fish"], ["rice", "soup"]] * 30
    tagger.update(more, named).refresh()
    again = xt.Tagger(xt.Vectorizer(), model(), vocabulary=xt.Vocabulary(LABELS)).fit([*TEXTS, *more], [*NAMED, *named])
    texts = ["fish and rice", "sweet cake", "soup of fish"]
    one, other = tagger.predict(texts, 4), again.predict(texts, 4)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)
    tagger.update(["rice with rice"] * 5, [["rice"]] * 5)  # kept rows still go by the right labels
    assert tagger.label_counts[tagger.find_label("rice")] == 35
    tagger.save(tmp_path / "model")
    loaded = xt.load(tmp_path / "model")
    assert loaded.tag("rice soup", k=2) == tagger.tag("rice soup", k=2)
    assert loaded.version == tagger.version == 3


def test_names_are_looked_up_once_for_all_calls():
    tagger = made(xt.LinearTree(threads=1))
    tagger.tag("old cheese")
    names = tagger.label_names
    tagger.tag("old cheese")
    assert tagger.label_names is names


def test_rows_without_any_known_label_are_left_out_of_an_update():
    tagger = made(xt.LinearTree(threads=1))
    tagger.update(["fresh sushi", "warm cake", "old tofu", "sweet cake"], [["sushi"], ["cake"], ["tofu"], ["cake"]])
    assert tagger.n_rows == len(TEXTS) + 2
    assert list(tagger.label_rows("cake").values())[-2:] == ["warm cake", "sweet cake"]
