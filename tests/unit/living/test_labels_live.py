"""Retire, restore, rename, merge: at once, the same bits for everything else."""

from __future__ import annotations

import numpy as np
import pytest
from living_world import files, rows, tagger

import xtrellis as xt

PRESETS = ["xr-linear", "overlap", "neighbors", "names", "best", "xr-linear,neighbors", "xr-linear++", "softmax-tree"]


@pytest.fixture(scope="module")
def trained() -> dict[str, xt.Tagger]:
    return {name: tagger(name, keep_rows=False) for name in PRESETS}


TEXTS, _ = rows(range(30), 2, seed=5)
NEW = rows(range(28, 33), 2, seed=3)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("many", [False, True])
def test_retired_labels_are_skipped_and_others_take_their_place(trained, tmp_path, name, many):
    trained[name].save(tmp_path / "m")
    live = xt.load(tmp_path / "m")
    if name.startswith("xr-linear") or name == "overlap":
        exact = live.model if name in ("xr-linear", "overlap") else None
        if exact is not None:
            exact.beam = None  # a beam may hold other nodes when some are closed
    k, gone = 5, {"label 03", "label 07", "label 08"} if not many else {f"label {i:02}" for i in range(25)}
    before = live.predict(TEXTS, 30)
    live.retire(sorted(gone))
    after = live.predict(TEXTS, k)
    ids = [i for i, label in enumerate(live.label_names) if label in gone]
    for found, scores, now, now_scores in zip(before.labels, before.scores, after.labels, after.scores, strict=True):
        left = ~np.isin(found, ids) & (found >= 0)
        n = min(k, int(left.sum()))
        if name != "softmax-tree" or n:
            common = dict(zip(found[left].tolist(), scores[left].tolist(), strict=True))
            assert (now[:n] >= 0).all()
            for label, score in zip(now.tolist(), now_scores.tolist(), strict=True):
                if label in common:
                    assert score == common[label]
        if name in ("neighbors", "names", "softmax-tree", "xr-linear", "overlap", "best"):
            np.testing.assert_array_equal(now[:n], found[left][:n])


@pytest.mark.parametrize("name", PRESETS)
def test_one_text_and_many_agree_when_labels_are_retired(trained, tmp_path, name):
    trained[name].save(tmp_path / "m")
    live = xt.load(tmp_path / "m").retire(["label 03", "label 07"])
    many = live.tag_many(TEXTS[:20], k=4)
    assert [[t.label for t in tags] for tags in many] == [[t.label for t in live.tag(x, k=4)] for x in TEXTS[:20]]
    assert not {"label 03", "label 07"} & {t.label for tags in many for t in tags}


def test_retiring_and_restoring_gives_the_same_bytes(tmp_path):
    live = tagger("best")
    live.save(tmp_path / "a")
    before = live.predict(TEXTS, 7)
    live.retire(["label 01", "label 02"]).merge("label 05", into="label 06")
    live.restore(["label 02", "label 05", "label 01"])
    live.save(tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    after = live.predict(TEXTS, 7)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
    assert [e["what"] for e in live.history()] == ["train", "retire", "merge", "restore"]


def test_merged_labels_are_answered_as_one(trained, tmp_path):
    trained["xr-linear"].save(tmp_path / "m")
    live = xt.load(tmp_path / "m")
    text = "w4x0 w4x1 w4x2 w5x0 w5x1"
    plain = {t.label: t.score for t in live.tag(text, k=30, guess=True)}
    live.merge("label 04", into="label 05")
    tags = live.tag(text, k=5)
    found = {t.label: t.score for t in tags}
    assert len(tags) == 5
    assert "label 04" not in found
    assert found["label 05"] == max(plain["label 04"], plain["label 05"])
    live.merge(["label 05"], into="label 06")  # what was merged goes along
    assert live.merged == {"label 04": "label 06", "label 05": "label 06"}
    assert live.tag(text, k=1)[0].label == "label 06"
    live.retire("label 06")
    assert not {"label 04", "label 05", "label 06"} & {t.label for t in live.tag(text, k=10)}


def test_names_change_and_stay_unique(trained, tmp_path):
    trained["xr-linear"].save(tmp_path / "m")
    live = xt.load(tmp_path / "m")
    text = "w4x0 w4x1 w4x2"
    live.rename({"label 04": "fourth"})
    assert live.tag(text, k=1)[0].label == "fourth"
    with pytest.raises(xt.InputError, match=r"'label 05' already; tagger\.merge"):
        live.rename({"fourth": "label 05"})
    live.rename({"fourth": "label 05", "label 05": "fourth"})  # they change places
    assert live.tag(text, k=1)[0].label == "label 05"
    live.save(tmp_path / "again")
    assert xt.load(tmp_path / "again").tag(text, k=1)[0].label == "label 05"


def test_what_makes_no_sense_is_refused_and_changes_nothing(trained, tmp_path):
    trained["xr-linear"].save(tmp_path / "m")
    live = xt.load(tmp_path / "m")
    for call, message in (
        (lambda: live.retire("lable 03"), "did you mean 'label 03'"),
        (lambda: live.retire([]), "at least one name"),
        (lambda: live.retire([3]), "must hold names; got int 3"),
        (lambda: live.retire(list(live.label_names)), "at least one must stay"),
        (lambda: live.restore("label 03"), "neither retired nor merged"),
        (lambda: live.merge("label 03", into="label 03"), "into itself"),
        (lambda: live.merge("label 03", into="nothing"), "no label 'nothing'"),
        (lambda: live.rename({}), "at least one label"),
        (lambda: live.rename({"label 03": " "}), "without space around it"),
        (lambda: live.update(["x"], [["y"]]), "keep_rows=True"),
        (lambda: live.forget([0]), "kept no training rows"),
        (lambda: live.refresh(), "kept no training rows"),
        (lambda: tagger("neighbors", keep_rows=False).update(*NEW).at_version(0), "kept no training rows"),
    ):
        with pytest.raises(xt.XtrellisError, match=message):
            call()
    assert live.version == 0
    assert live.history()[1:] == []
    with pytest.raises(xt.InputError, match=r"is retired; tagger\.restore"):
        live.retire("label 01").merge("label 02", into="label 01")
    with pytest.raises(xt.InputError, match="is retired, so no text gets it"):
        live.explain("w1x0", "label 01")
    live.merge("label 02", into="label 03")
    with pytest.raises(xt.InputError, match="was merged into 'label 03': retire that"):
        live.retire("label 02")
    with pytest.raises(xt.InputError, match="was merged into 'label 03': ask for that"):
        live.explain("w1x0", "label 02")


def test_labels_asked_for_are_those_that_are_there(trained, tmp_path):
    trained["best"].save(tmp_path / "m")
    live = xt.load(tmp_path / "m").retire("label 01")
    some = live.prepare_labels(["label 01", "label 02", "label 03"])
    assert {t.label for t in live.tag("w1x0 w1x1 k0x1", k=5, labels=some)} == {"label 02", "label 03"}
    with pytest.raises(xt.InputError, match="all of them are retired"):
        live.tag("w1x0", labels=["label 01"])


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "neighbors", "names", "best"])
def test_explanations_agree_with_answers(trained, tmp_path, name):
    trained[name].save(tmp_path / "m")
    live = xt.load(tmp_path / "m").retire(["label 03", "label 09"])
    for text in [f"{text} label 12" for text in TEXTS[:5]]:
        best = live.tag(text, k=1)[0]
        assert live.explain(text, best.label).score == pytest.approx(best.score, rel=1e-5)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_changes_of_labels_are_undone_without_any_training(tmp_path, keep_rows, monkeypatch):
    live = tagger("xr-linear", keep_rows=keep_rows)
    if keep_rows:
        live.update(*rows(range(28, 33), 6, seed=3))
    first = live.version
    live.save(tmp_path / str(first))
    steps = [
        lambda: live.retire(["label 02", "label 03"]),
        lambda: live.rename({"label 05": "label 06", "label 06": "label 05", "label 02": "second"}),
        lambda: live.merge("label 07", into="label 05"),
        lambda: live.restore("second"),
        lambda: live.merge("label 05", into="label 09"),
        lambda: live.rename({"label 05": "another"}),
        lambda: live.restore("label 07"),
    ]
    for step in steps:
        step()
        live.save(tmp_path / str(live.version))
    monkeypatch.setattr(xt.Tagger, "fit", lambda *_, **__: pytest.fail("something was trained"))
    for version in range(first, live.version + 1):
        back = live.at_version(version)
        back.save(tmp_path / "again")
        assert files(tmp_path / "again") == files(tmp_path / str(version)), version
        before = xt.load(tmp_path / str(version))
        assert xt.load(tmp_path / "again").history() == before.history()
        assert (back.retired, back.merged, list(back.label_names)) == (
            before.retired, before.merged, list(before.label_names),
        )  # fmt: skip
    assert live.version == first + len(steps)
