"""Labels as things: looking them up, what they are called, what is above them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabulary_world import BIRDS, birds

import xtrellis as xt
from xtrellis.vocabulary import KnownLabels
from xtrellis.vocabulary.words import folded


def test_labels_come_back_as_they_were_given():
    vocab = birds()
    assert len(vocab) == 9
    assert vocab.languages[0] == "en"
    for label in BIRDS:
        found = vocab[label.id]
        for what in ("id", "names", "alternative", "hidden", "notation", "broader", "state", "replaced_by", "notes"):
            assert getattr(found, what) == getattr(label, what), what
    assert vocab["p2"].narrower == ("p3", "p4")
    assert vocab["p5"].related == ("p2",)  # both ways
    assert [label.id for label in vocab] == [f"p{i}" for i in range(1, 10)]
    assert "p3" in vocab
    assert "owls" not in vocab  # ids only


@pytest.mark.parametrize(
    ("asked", "id"),
    [
        ("p2", "p2"), ("<p2>", "p2"), ("birds", "p2"), ("BIRDS", "p2"), (" birds ", "p2"), ("linnut", "p2"),
        ("fowl", "p2"), ("brids", "p2"), ("598", "p2"), ("PÖLLÖT", "p3"), ("po\u0308llo\u0308t", "p3"),
        ("dragons", "p7"), ("Mercury", "p8"), ("merkurius", "p9"),
    ],
)  # fmt: skip
def test_a_label_is_found_by_id_and_by_any_name(asked: str, id: str):
    vocab = birds()
    number = vocab.find(asked)
    assert number is not None
    assert vocab.ids[number] == id


def test_a_name_of_several_labels_is_refused_unless_one_is_meant():
    vocab = xt.Vocabulary([xt.Label("a", {"en": "bank"}), xt.Label("b", {"en": "Bank"}), xt.Label("c", {"de": "Bank"})])
    assert vocab.find("bank", language="en") == 0  # spelt so
    assert vocab.find("Bank", language="de") == 2
    with pytest.raises(xt.InputError, match=r"2 labels are called 'BANK': 'a', 'b'; name the one you mean by its id"):
        vocab.find("BANK", language="en")
    assert vocab.find("nothing") is None


def test_an_active_label_comes_before_a_retired_one():
    vocab = xt.Vocabulary([xt.Label("old", {"en": "x"}, state="retired"), xt.Label("new", {}, {"en": ("x",)})])
    assert vocab.find("x") == 1


def test_search_by_a_part():
    assert [label.id for label in birds().search("bird")] == ["p2", "p6"]  # in use first
    assert [label.id for label in birds().search("öLL")] == ["p3"]
    assert [label.id for label in birds().search("p2")] == ["p2"]
    assert birds().search("zebra") == []
    assert birds().search("  ") == []
    vocab = xt.Vocabulary.of(["ab", "bc", "xbird", "my bird", "birdhouse", "bird"])
    assert [label.id for label in vocab.search("bird")] == ["bird", "birdhouse", "my bird", "xbird"]
    assert vocab.search("abb") == []  # begins in one name and ends in the next


def test_what_is_near_is_offered():
    with pytest.raises(xt.InputError, match=r"no label 'birdz'; did you mean 'birds' \(p2\)\?"):
        birds().require("birdz")
    with pytest.raises(xt.InputError, match=r"it has 9 labels, none of them called alike"):
        birds().require("xyzzyxyzzy")
    with pytest.raises(xt.InputError, match="did you mean 'eagles'"):
        birds().require("aegles")


def test_names_in_languages():
    vocab = xt.Vocabulary(
        [xt.Label("a", {"en-GB": "colour", "": "plain"}), xt.Label("b", {"de": "Farbe"}), xt.Label("c")]
    )
    assert [vocab.name_of(i, "en") for i in range(3)] == ["colour", "Farbe", "c"]
    assert [vocab.name_of(i) for i in range(3)] == ["plain", "Farbe", "c"]
    assert list(vocab.preferred_names("en")) == ["colour", "Farbe", "c"]
    assert list(vocab.preferred_names(labels=np.array([2, 0]))) == ["c", "plain"]
    assert birds().names_of(1, "fi") == ["linnut"]
    assert birds().names_of(1) == ["birds", "linnut", "fowl", "aves", "brids"]
    assert birds().names_of(4, "fi") == ["feathers"]  # has none in Finnish
    assert vocab.speaks("en")
    assert not vocab.speaks("fi")


def test_one_name_at_a_time_and_all_at_once_agree():
    vocab = birds()
    for language in (None, "en", "fi", "xx"):
        assert list(vocab.preferred_names(language)) == [vocab.name_of(i, language) for i in range(len(vocab))]


def test_successors():
    vocab = xt.Vocabulary(
        [
            xt.Label("a", replaced_by="b"), xt.Label("b", replaced_by="c"), xt.Label("c"),
            xt.Label("d", replaced_by="e"), xt.Label("e", replaced_by="d"), xt.Label("f", state="retired"),
        ]
    )  # fmt: skip
    assert [vocab.successor(i) for i in range(6)] == [2, 2, 2, None, None, None]
    assert vocab["a"].state == "replaced"


def test_of_names_is_what_models_have_today():
    vocab = xt.Vocabulary.of(["b", "a"])
    assert list(vocab.ids) == ["b", "a"] == list(vocab.preferred_names())
    with pytest.raises(xt.InputError, match="two labels have the id 'a'"):
        xt.Vocabulary.of(["a", "a"])
    with pytest.raises(xt.InputError, match="names must be a list of strings; got 'ab'"):
        xt.Vocabulary.of("ab")
    with pytest.raises(xt.InputError, match="names must be strings"):
        xt.Vocabulary.of(["a", ""])


def test_copies_are_the_same():
    vocab = birds()
    assert copy.deepcopy(vocab) is vocab
    assert pickle.loads(pickle.dumps(vocab)) == vocab
    assert vocab != xt.Vocabulary.of(["a"])


def test_with_labels_replaces_and_adds():
    vocab = birds()
    changed = vocab.with_labels([xt.Label("p4", {"en": "the eagles"}, broader=("p2",)), xt.Label("p10", {"en": "new"})])
    assert changed["p4"].names == {"en": "the eagles"}
    assert len(changed) == 10
    diff = vocab.diff(changed)
    assert diff.added == ["p10"]
    assert diff.removed == []
    assert list(diff.changed) == ["p4"]
    assert diff.changed["p4"]["names"] == ({"en": "eagles", "fi": "kotkat"}, {"en": "the eagles"})
    assert diff.counts() == {"added": 1, "removed": 0, "names": 1}
    assert not vocab.diff(birds())
    assert changed.diff(vocab).removed == ["p10"]


def test_the_hierarchy_of_some_labels():
    vocab = birds()
    known = KnownLabels(vocab, np.array([2, 3, 4]))
    child, parent, ids = known.hierarchy
    assert list(ids) == ["p3", "p4", "p5", "p2", "p1"]
    named = {(ids[c], "" if p < 0 else ids[p]) for c, p in zip(child.tolist(), parent.tolist(), strict=True)}
    assert named == {("p3", "p2"), ("p4", "p2"), ("p2", "p1"), ("p5", ""), ("p1", "")}


def test_what_is_refused():
    with pytest.raises(xt.InputError, match=r"made of xt\.Label objects"):
        xt.Vocabulary("vocab.ttl")
    with pytest.raises(xt.InputError, match=r"made of xt\.Label objects"):
        xt.Vocabulary(["a"])
    with pytest.raises(xt.InputError, match="at least one label"):
        xt.Vocabulary([])
    with pytest.raises(xt.InputError, match="two labels have the id 'a'"):
        xt.Vocabulary([xt.Label("a"), xt.Label("a")])
    with pytest.raises(xt.InputError, match="state must be active, retired, or replaced"):
        xt.Vocabulary([xt.Label("a", state="gone")])
    with pytest.raises(xt.InputError, match="needs an id"):
        xt.Vocabulary([xt.Label(" ")])
    with pytest.raises(xt.InputError, match="kind must be one of"):
        xt.Vocabulary([xt.Label("a", notes=({"text": "x", "kind": "rumour"},))])
    with pytest.raises(xt.ParameterError, match="label must be an integer"):
        birds()[9]
    with pytest.raises(xt.CallError):
        birds().find("a", lang="en")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda s: s.strip()), min_size=1))
def test_whatever_labels_are_called_they_are_found(names: list[str]):
    """The same as looking through all of them."""
    labels = [xt.Label(f"id{i}", {"en": name}) for i, name in enumerate(names)]
    vocab = xt.Vocabulary(labels)
    for name in names:
        kept = [i for i, other in enumerate(names) if folded(other) == folded(name)]
        found = vocab.matches(name, language="en")
        assert found
        assert set(found) <= set(kept)
        if len(kept) == 1:
            assert found == kept
    assert [vocab.number(label.id) for label in labels] == list(range(len(labels)))
