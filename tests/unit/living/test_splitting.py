"""A label becomes several: rows are shared out, only what is new is learned, all else keeps its bits."""

from __future__ import annotations

import numpy as np
import pytest
from living_world import files, rows, tagger

import xtrellis as xt

TEXTS, LABELS = rows(range(30), 3, seed=9)


def two_kinds(seed: int = 4) -> tuple[list[str], list[list[str]]]:
    """Rows of one label that means two things, with words of their own."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"w{30 + i % 2}x{j}" for j in rng.integers(0, 6, 5)) for i in range(40)]
    return texts, [["both"]] * 40


def split_one(name: str, **how: object) -> xt.Tagger:
    live = tagger(name).update(*two_kinds())
    rule = {"first": lambda text: "w30" in text, "second": lambda text: "w31" in text}
    return live.split("both", rule, **how)


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "neighbors", "best", "one-vs-all"])
def test_each_part_is_answered_where_it_is_meant_and_the_label_is_not(name):
    live = split_one(name)
    assert live.retired == ["both"]
    assert live.n_labels == 33
    texts, _ = two_kinds(seed=5)
    for i, text in enumerate(texts):
        tags = live.tag(text, k=5)
        assert tags[0].label == ("first", "second")[i % 2]
        assert "both" not in [tag.label for tag in tags]
    right = [live.tag(text, k=1)[0].label == own for text, (own,) in zip(TEXTS, LABELS, strict=True)]
    assert np.mean(right) > 0.9
    counts = dict(zip(live.label_names, live.label_counts.tolist(), strict=True))
    assert (counts["first"], counts["second"]) == (20, 20)


@pytest.mark.parametrize("name", ["xr-linear", "neighbors"])
def test_what_has_nothing_to_do_with_it_keeps_its_bits_and_the_label_comes_back(name):
    live = tagger(name).update(*two_kinds())
    texts = [" ".join(f"w{label}x{i} k{label // 5}x{i}" for i in range(4)) for label in range(30)]
    mine = two_kinds(seed=6)[0]
    before, was = live.predict(texts, 1), {t.label: t.score for t in live.tag(mine[0], k=1)}
    live.split("both", {"first": [360], "second": [361]})
    after = live.predict(texts, 1)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
    live.restore("both")
    assert {t.label: t.score for t in live.tag(mine[0], k=4) if t.label == "both"} == was


def test_rows_go_by_their_numbers_and_to_several():
    live = tagger("xr-linear").update(*two_kinds())
    mine = live.label_rows("both")
    assert len(mine) == 40
    assert all("w30" in text or "w31" in text for text in mine.values())
    numbers = sorted(mine)
    live.split("both", {"first": numbers[:30], "second": np.array(numbers[20:]), "label 03": numbers[:5]})
    assert [len(live.label_rows(label)) for label in ("first", "second", "label 03")] == [30, 20, 12 + 5]
    told = live.history()[-1]
    assert told["what"] == "split"
    assert told["into"] == {"first": 30, "second": 20, "label 03": 5}
    assert told["left"] == 0


@pytest.mark.parametrize("name", ["xr-linear", "best"])
def test_with_keep_the_label_stays_for_the_rows_that_are_left(name):
    live = tagger(name).update(*two_kinds())
    live.split("both", {"first": lambda text: "w30" in text}, keep=True)
    assert live.retired == []
    assert len(live.label_rows("both")) == len(live.label_rows("first")) == 20
    texts, _ = two_kinds(seed=5)
    assert [live.tag(text, k=1)[0].label for text in texts] == ["first", "both"] * 20
    live.forget([sorted(live.label_rows("first"))[0]])
    assert len(live.label_rows("first")) == 19


@pytest.mark.parametrize("name", ["xr-linear", "best", "neighbors"])
def test_the_journal_done_again_gives_the_same_model(tmp_path, name):
    live = split_one(name)
    live.save(tmp_path / "2")
    live.update(*rows(range(30, 33), 3, seed=1)).split("first", {"z": [360], "a": [362, 364]}, keep=True)
    live.save(tmp_path / "4")
    live.restore("both").refresh()
    live.save(tmp_path / "6")
    for version in (2, 4, 6):
        live.at_version(version).save(tmp_path / "again")
        assert files(tmp_path / "again") == files(tmp_path / str(version)), version
    loaded = xt.load(tmp_path / "4")
    assert loaded.label_rows("z") == live.label_rows("z")
    assert loaded.update(*two_kinds(7)).n_labels == live.at_version(4).n_labels


def test_threads_make_no_difference(tmp_path):
    for threads in (1, 2):
        live = tagger("overlap", threads=threads).update(*two_kinds())
        live.split("both", {"first": [360, 362], "second": [361, 365]}).save(tmp_path / str(threads))
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_a_refresh_knows_the_parts_alone():
    live = split_one("xr-linear").refresh()
    assert {"first", "second"} <= set(live.label_names)
    assert "both" not in list(live.label_names)


def test_what_makes_no_sense_is_refused_and_changes_nothing():
    live = tagger("xr-linear").update(*two_kinds())
    some = {"first": [360], "second": [361]}
    for call, message in (
        (lambda: live.split("bothe", some), "did you mean 'both'"),
        (lambda: live.split("both", {"first": [360]}), "two labels or more"),
        (lambda: live.split("both", ["first", "second"]), "into must be {name: rows or rule}"),
        (lambda: live.split("both", {"first": [360], "second": [3]}), "row 3 does not have the label 'both'"),
        (lambda: live.split("both", {"first": [360], "second": []}), "none of the 40 rows of 'both' is given to it"),
        (lambda: live.split("both", {"first": [360], "both": [361]}), "is what is split"),
        (lambda: live.split("both", {"first": [360], " ": [361]}), "without space around it"),
        (lambda: live.split("both", {"first": lambda _: True}, keep=True), "none is left to keep it by"),
        (lambda: live.split("both", {"first": "360", "second": [361]}), "must be numbers of kept rows, or a function"),
        (lambda: tagger("xr-linear", keep_rows=False).split("label 01", some), "kept no training rows"),
        (lambda: tagger("softmax-tree").split("label 01", some), "cannot learn on"),
    ):
        with pytest.raises(xt.InputError, match=message):
            call()
    assert live.version == 1
    assert live.n_labels == 31
    live.retire("label 02")
    with pytest.raises(xt.InputError, match=r"'label 02' is not answered any more; tagger\.restore"):
        live.split("both", {"first": [360], "label 02": [361]})
