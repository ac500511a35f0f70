"""A tagger with a vocabulary: data by ids or names, answers with both, labels that no row has, groups with names."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.store import State

sys.path.insert(0, str(Path(__file__).parent / "vocabulary"))
from vocabulary_world import birds

TEXTS = [
    "an eagle flies high",
    "an owl at night",
    "a bird in the bath",
    "the owl and the eagle",
    "feathers of a bird",
] * 8
LABELS = [["kotkat"], ["p3"], ["fowl"], ["OWLS", "eagles"], ["feathers", "linnut"]] * 8


def trained(model: xt.Model | None = None, **more: object) -> xt.Tagger:
    made = xt.Tagger(xt.Vectorizer(), model or xt.LinearTree(), vocabulary=birds(), **more)  # type: ignore[arg-type]
    return made.fit(TEXTS, LABELS)


def test_labels_go_by_ids_and_are_shown_by_names():
    tagger = trained(language="fi")
    assert list(tagger.label_ids) == ["p2", "p3", "p4", "p5"]
    assert list(tagger.label_names) == ["linnut", "pöllöt", "kotkat", "feathers"]
    best = tagger.tag("owl night", k=1)[0]
    assert (best.id, best.label) == ("p3", "pöllöt")
    assert best == (best.label, best.score)
    assert repr(best).startswith("Tag(id='p3', label='pöllöt', score=")
    assert tagger.title(1) == "pöllöt (p3)"
    named = tagger.tag_many(["owl", "eagle"], k=1)
    assert [tags[0].id for tags in named] == ["p3", "p4"]


def test_the_model_is_the_same_as_one_trained_on_ids():
    by_ids = [[{"kotkat": "p4", "fowl": "p2", "OWLS": "p3", "eagles": "p4", "feathers": "p5", "linnut": "p2"}.get(n, n)
               for n in row] for row in LABELS]  # fmt: skip
    plain = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(TEXTS, by_ids)
    assert list(plain.label_ids) == list(plain.label_names) == list(trained().label_ids)
    ours, theirs = trained().predict(TEXTS, 3), plain.predict(TEXTS, 3)
    assert np.array_equal(ours.labels, theirs.labels)
    assert np.array_equal(ours.scores, theirs.scores)
    assert plain.tag("owl")[0].id == plain.tag("owl")[0].label == "p3"


def test_saved_and_loaded(tmp_path: Path):
    tagger = trained(language="fi")
    tagger.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    assert again.language == "fi"
    assert again.vocabulary == birds()
    assert again.tag("owl night") == tagger.tag("owl night")
    assert [tag.id for tag in again.tag("owl night")] == [tag.id for tag in tagger.tag("owl night")]
    assert again.clone().vocabulary is again.vocabulary
    again.language = "en"
    assert again.tag("owl night", k=1)[0].label == "owls"


@pytest.mark.parametrize("asked", ["p3", "owls", "PÖLLÖT", "night birds", "p6"])
def test_a_label_is_named_as_one_likes(asked: str):
    tagger = trained()
    why = tagger.explain("owl at night", asked)
    assert (why.id, why.label) == ("p3", "owls")
    assert why.to_dict()["id"] == "p3"
    assert tagger.tag("an eagle", k=4, labels=[asked])[0].id == "p3"


def test_unknown_labels_are_refused_with_the_nearest():
    tagger = trained()
    with pytest.raises(xt.InputError, match=r"the model has no label 'birdz'; did you mean 'birds' \(p2\)\?"):
        tagger.explain("x", "birdz")
    with pytest.raises(xt.InputError, match=r"has not learned the label 'animals' \(p1\)"):
        tagger.explain("x", "animals")
    assert tagger.find_label("eath", part=True) == 3
    assert tagger.find_label("öllö", part=True) == 1  # of a name in another language
    with pytest.raises(xt.InputError, match="has no label 'eath'"):
        tagger.find_label("eath")
    with pytest.raises(xt.InputError, match=r"3 labels have 's' in their names|4 labels have 's' in their names"):
        tagger.find_label("s", part=True)


def test_parts_of_names_without_a_vocabulary():
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree())
    tagger.fit(["owl", "bird", "bath"] * 9, [["p3 owls"], ["p2 birds"], ["p9 water birds"]] * 9)
    assert tagger.label_names[tagger.find_label("birds", part=True)] == "p2 birds"
    assert tagger.label_names[tagger.find_label("p9", part=True)] == "p9 water birds"
    assert tagger.label_names[tagger.find_label("wat", part=True)] == "p9 water birds"
    with pytest.raises(xt.InputError, match="2 labels have 'bird' in their names: 'p2 birds', 'p9 water birds'"):
        tagger.find_label("bird", part=True)


def test_unknown_replaced_and_retired_labels_of_data():
    texts = ["owl", "dragon", "night", "bird", "eagle"]
    Y = np.eye(5)
    Y[3, 0] = 1
    names = ["night birds", "dragons", "birdz", "Mercury", "eagles"]
    resolved = birds().resolve(xt.Dataset(None, Y, texts=texts, label_names=names), language="en")
    assert resolved.replaced == {"night birds": "p3"}
    assert [(one.label, one.rows, one.reason, one.nearest_id) for one in resolved.unknown] == [
        ("birdz", 1, "not in the vocabulary", "p2"),
        ("dragons", 1, "retired", ""),
    ]
    assert list(resolved.dataset.label_names) == ["p3", "p4", "p8"]
    assert resolved.dataset.texts == ["owl", "bird", "eagle"]  # the others have nothing left
    assert resolved.emptied == 2
    assert "2 are not known ('birdz', 'dragons')" in str(resolved)
    kept = birds().resolve(xt.Dataset(None, Y, texts=texts, label_names=names), unknown="keep").dataset
    assert kept.n_rows == 5
    assert "dragons" in list(kept.label_names)


def test_a_name_of_several_labels_is_listed():
    vocab = xt.Vocabulary([xt.Label("a", {"en": "bank"}), xt.Label("b", {"en": "bank"})])
    data = xt.Dataset(None, np.eye(2), texts=["x", "y"], label_names=["bank", "a"])
    assert vocab.resolve(data).unknown[0].reason == "means 2 labels: a, b"


def test_data_that_has_nothing_to_do_with_it():
    with pytest.raises(xt.InputError, match="none of the 1 labels of the data is in the vocabulary: such as 'zzz'"):
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(), vocabulary=birds()).fit(["a", "b"], [["zzz"], ["zzz"]])
    with pytest.raises(xt.InputError, match="numbers for labels and no names"):
        birds().resolve(xt.Dataset(None, np.eye(2), texts=["x", "y"]))


def test_measuring_by_any_name():
    tagger = trained(language="en")
    data = xt.Dataset(
        None, np.eye(3), texts=["owl", "eagle", "feathers bird"], label_names=["pöllöt", "p4", "nonsense"]
    )
    assert tagger.evaluate(data, ["P@1"])["P@1"] == pytest.approx(200 / 3)
    plain = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(TEXTS, [["p3"] if "owl" in t else ["p2"] for t in TEXTS])
    assert tagger.compare(plain, data, ["P@1"]) is not None


def test_labels_without_rows_are_answered_by_their_names():
    tagger = trained(xt.NameMatcher(), language="en")
    assert list(tagger.label_ids) == ["p1", "p2", "p3", "p4", "p5", "p8", "p9"]  # all in use
    assert tagger.tag("all about animals", k=1)[0].id == "p1"  # no row has it
    assert tagger.tag("of brids", k=1)[0].id == "p2"  # a hidden name
    assert "p9" not in [tag.id for tag in tagger.tag("Merkurius", k=3)]  # Finnish
    every = trained(xt.NameMatcher())
    assert every.tag("Merkurius", k=1)[0].id == "p9"


@pytest.mark.parametrize("kind", [xt.LinearTree, xt.SoftmaxTree])
def test_the_vocabulary_as_hierarchy_and_group_names(kind: type, tmp_path: Path):
    tagger = trained(kind(index=xt.GivenTree()), language="fi")
    tree = tagger.model.tree if kind is xt.LinearTree else tagger.model.network.tree
    assert "p2" in list(tree.node_names or ())
    tagger.save(tmp_path / "m")
    for one in (tagger, xt.load(tmp_path / "m")):
        steps = one.explain("an owl", "owls").explanation.paths[0].steps
        assert [step.group for step in steps] == ["linnut", None]
        assert one.explain("an owl", "owls").to_dict()["paths"][0]["steps"][0]["group"] == "linnut"


def test_a_ring_is_no_tree():
    ring = xt.Vocabulary([xt.Label("a", {"en": "x"}, broader=("b",)), xt.Label("b", {"en": "y"}, broader=("a",))])
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree(index=xt.GivenTree()), vocabulary=ring)
    with pytest.raises(xt.InputError, match=r"runs in a ring: 'a' → 'b' → 'a'; take out one of these relations"):
        tagger.fit(["one", "two"] * 5, [["a"], ["b"]] * 5)


def test_groups_of_a_hierarchy_without_a_vocabulary_have_names_too():
    index = xt.GivenTree(parents={"owls": "birds", "eagles": "birds", "birds": "", "stones": "", "hills": ""})
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree(index=index))
    tagger.fit(["owl", "eagle", "stone", "hill"] * 9, [["owls"], ["eagles"], ["stones"], ["hills"]] * 9)
    assert tagger.explain("an owl", "owls").explanation.paths[0].steps[0].group == "birds"


def test_what_is_refused():
    with pytest.raises(
        xt.InputError, match=r"vocabulary must be an xt\.Vocabulary or None; got 'v\.ttl': xt\.Vocabulary"
    ):
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(), vocabulary="v.ttl")  # type: ignore[arg-type]
    with pytest.raises(xt.InputError, match="no names in language 'sv'; its languages: en, fi, la"):
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(), vocabulary=birds(), language="sv")
    with pytest.raises(xt.InputError, match="this tagger has none"):
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(), language="en")


def test_stored_parts_that_do_not_fit():
    state = trained().to_state()
    for change in (
        {"arrays": {**state.arrays, "label_numbers": np.array([0, 1, 2, 99])}},
        {"arrays": {**state.arrays, "label_numbers": np.array([0])}},
        {"parts": {**state.parts, "vocabulary": state.parts["vectorizer"]}},
        {"meta": {**state.meta, "language": 3}},
    ):
        with pytest.raises(xt.StoreError):
            xt.Tagger.from_state(
                {}, State(**{"meta": state.meta, "arrays": state.arrays, "parts": state.parts, **change})
            )
    without = {name: array for name, array in state.arrays.items() if name != "label_numbers"}
    tagger = xt.Tagger.from_state({}, State(state.meta, without, state.parts))
    assert tagger.tag("owl", k=1)[0].label == "owls"  # found again
