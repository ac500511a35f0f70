"""A vocabulary is replaced by a newer one: states of its labels become states of the tagger's."""

from __future__ import annotations

import pytest
from living_world import files

import xtrellis as xt

WORDS = ("bread", "cheese", "soup", "cake", "fish", "rice")
TEXTS = ["fresh bread", "old cheese", "warm soup", "sweet cake", "fish and chips", "boiled rice"] * 15
NAMED = [["v:0"], ["v:1"], ["v:2"], ["v:3"], ["v:4"], ["v:5"]] * 15


def vocabulary(**changed: dict) -> xt.Vocabulary:
    """Six labels, some of them changed, or more: `v3={"state": "retired"}`."""
    made = {f"v:{i}": {"names": {"en": word}} for i, word in enumerate(WORDS)}
    for id, how in changed.items():
        made[f"v:{id[1:]}"] = {**made.get(f"v:{id[1:]}", {}), **how}
    return xt.Vocabulary([xt.Label(id, **how) for id, how in made.items() if how])


def tagger(model: str = "xr-linear", **more: object) -> xt.Tagger:
    made = xt.Tagger(
        xt.Vectorizer(), xt.preset(model, threads=1), vocabulary=vocabulary(**more), keep_rows=True, language="en"
    )
    return made.fit(TEXTS, NAMED)


RETIRED, BACK = {"state": "retired"}, {"state": "active"}


def test_in_training_what_is_out_of_use_is_no_label_and_what_was_replaced_is_its_successor():
    made = tagger(v1=RETIRED, v2={"state": "retired", "replaced_by": "v:3"})
    assert list(made.label_ids) == ["v:0", "v:3", "v:4", "v:5"]
    assert made.tag("warm soup", k=1)[0].id == "v:3"
    assert "v:1" not in [tag.id for tag in made.tag("old cheese", k=4)]
    assert made.label_counts[made.find_label("cake")] == 30


@pytest.mark.parametrize("model", ["xr-linear", "neighbors", "xr-linear+neighbors+names"])
def test_states_of_the_new_vocabulary_are_carried_over(model):
    live = tagger(model)
    newer = vocabulary(
        v0={"names": {"en": "loaf"}}, v1=RETIRED, v2={"state": "retired", "replaced_by": "v:3"},
        v4={"state": "retired", "replaced_by": "v:9"}, v9={"names": {"en": "seafood"}}, v7={"names": {"en": "pizza"}},
    )  # fmt: skip
    plan = live.planned_change(newer)
    assert live.version == 0
    assert (plan.retired, plan.merged, plan.became) == (["v:1"], {"v:2": "v:3"}, {"v:4": "v:9"})
    assert plan.added == (["v:7"] if "names" in model else [])
    live.change_vocabulary(newer)
    assert live.retired == ["v:1"]
    assert live.merged == {"v:2": "v:3"}
    assert [(t.id, t.label) for t in live.tag("fresh bread", k=1)] == [("v:0", "loaf")]
    assert live.tag("warm soup", k=1)[0].id == "v:3"
    assert "v:1" not in [tag.id for tag in live.tag("old cheese", k=5)]
    assert [(t.id, t.label) for t in live.tag("fish and chips", k=1)] == [("v:9", "seafood")]
    if "names" in model:
        assert live.tag("a pizza, please", k=1)[0].id == "v:7"  # by its name: no row has it
    told = live.history()[-1]
    assert told["what"] == "vocabulary"
    assert (told["retired"], told["became"]) == (["v:1"], {"v:4": "v:9"})
    live.update(["warm and sweet chips", "sweet warm chips"] * 10, [["pizza"]] * 20)
    assert live.tag("warm sweet chips", k=1)[0].id == "v:7"
    assert live.label_counts[live.find_label("seafood")] == 15


def test_what_is_in_use_again_is_answered_again_but_not_what_somebody_retired():
    live = tagger().retire("soup")
    live.change_vocabulary(vocabulary(v1=RETIRED, v3={"state": "retired", "replaced_by": "v:0"}))
    assert live.retired == ["v:1", "v:2"]
    assert live.merged == {"v:3": "v:0"}
    live.change_vocabulary(vocabulary())
    assert live.retired == ["v:2"]
    assert live.merged == {}
    assert live.tag("old cheese", k=1)[0].id == "v:1"
    assert live.tag("sweet cake", k=1)[0].id == "v:3"


def test_what_the_new_one_lacks_stays_as_it_is():
    live = tagger("xr-linear+names")
    newer = xt.Vocabulary([label for label in vocabulary() if label.id != "v:5"])
    assert live.planned_change(newer).gone == ["v:5"]
    live.change_vocabulary(newer)
    assert [(t.id, t.label) for t in live.tag("boiled rice", k=1)] == [("v:5", "v:5")]
    live.update(["more bread"] * 3, [["bread"]] * 3)
    assert live.tag("boiled rice", k=1)[0].id == "v:5"


@pytest.mark.parametrize("model", ["xr-linear", "xr-linear+neighbors+names"])
def test_the_journal_done_again_gives_the_same_model(tmp_path, model):
    live = tagger(model)
    steps = [
        lambda: live.change_vocabulary(
            vocabulary(v1=RETIRED, v4={"replaced_by": "v:9"}, v9={"names": {"en": "seafood"}})
        ),
        lambda: live.update(["a pan", "a fresh pan"] * 5, [["v:9"], ["cake"]] * 5),
        lambda: live.change_vocabulary(vocabulary(v2={"replaced_by": "v:3"}, v9={"names": {"en": "sea food"}})),
        lambda: live.refresh(),
    ]  # fmt: skip
    live.save(tmp_path / "0")
    for i, step in enumerate(steps):
        step()
        live.save(tmp_path / str(i + 1))
    loaded = xt.load(tmp_path / "4")
    for version in range(5):
        loaded.at_version(version).save(tmp_path / "again")
        assert files(tmp_path / "again") == files(tmp_path / str(version)), version
    assert [e["what"] for e in loaded.history()] == ["train", "vocabulary", "update", "vocabulary", "refresh"]


def test_what_makes_no_sense_is_refused_and_changes_nothing():
    live = tagger()
    for newer, message in (
        ("v.ttl", r"must be an xt\.Vocabulary; got 'v.ttl': xt\.Vocabulary\.read"),
        (xt.Vocabulary.of(["a", "b"], language="en"), "it is another vocabulary, not a newer one"),
        (
            xt.Vocabulary([xt.Label(f"v:{i}", {"fi": word}) for i, word in enumerate(WORDS)]),
            "no names in language 'en'",
        ),
        (vocabulary(**{f"v{i}": RETIRED for i in range(6)}), "retires all 6 labels"),
    ):
        with pytest.raises(xt.InputError, match=message):
            live.change_vocabulary(newer)
    plain = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear")).fit(TEXTS, NAMED)
    with pytest.raises(xt.InputError, match="no vocabulary to replace"):
        plain.change_vocabulary(vocabulary())
    assert live.version == 0
    assert live.retired == []


def test_a_name_given_here_outlives_the_vocabulary(tmp_path):
    live = tagger()
    live.save(tmp_path / "m")
    live.rename({"cheese": "brie", "v:2": "broth"}).write_changes(tmp_path / "m", since=0)
    for one in (live, xt.load(tmp_path / "m")):
        assert one.renamed == {"v:1": "brie", "v:2": "broth"}
        assert (one.tag("old cheese", k=1)[0].label, one.tag("old cheese", k=1)[0].id) == ("brie", "v:1")
        assert one.find_label("brie") == one.find_label("cheese") == one.find_label("v:1")
        one.update(["fresh brie"] * 3, [["brie"]] * 3)
        assert one.label_counts[one.find_label("v:1")] == 18
        replaced = {"state": "retired", "replaced_by": "v:9"}
        newer = vocabulary(v1={"names": {"en": "hard cheese"}}, v2=replaced, v9={"names": {"en": "stew"}})
        one.change_vocabulary(newer)
        assert one.tag("old cheese", k=1)[0].label == "brie"
        assert one.find_label("hard cheese") == one.find_label("brie")
        assert one.renamed == {"v:1": "brie", "v:9": "broth"}  # what became of it keeps the name
        one.rename({"brie": "hard cheese"})
        assert one.renamed == {"v:9": "broth"}
        assert one.tag("old cheese", k=1)[0].label == "hard cheese"
        assert one.refresh().tag("warm soup", k=1)[0].label == "broth"
    live.save(tmp_path / "a"), live.at_version(live.version).save(tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert live.at_version(1).tag("old cheese", k=1)[0].label == "brie"
    for names, message in (
        ({"v:1": "bread"}, r"calls another label 'bread' \(v:0\)"),
        ({"v:1": "broth"}, "there is a label 'broth' already"),
        ({"v:1": " "}, "without space around it"),
        ({"chese": "brie"}, "no label 'chese'"),
        ({}, "at least one label"),
    ):
        with pytest.raises(xt.InputError, match=message):
            live.rename(names)


def test_a_label_is_split_into_labels_of_the_vocabulary():
    live = tagger()
    live.change_vocabulary(vocabulary(v7={"names": {"en": "rye bread"}}, v8={"names": {"en": "white bread"}}))
    numbers = sorted(live.label_rows("bread"))
    with pytest.raises(xt.InputError, match="the vocabulary has no label 'toast'"):
        live.split("bread", {"rye bread": numbers[:5], "toast": numbers[5:]})
    live.split("bread", {"rye bread": numbers[:5], "v:8": numbers[5:]})
    assert live.retired == ["v:0"]
    assert {tag.id for tag in live.tag("fresh bread", k=2)} == {"v:7", "v:8"}
