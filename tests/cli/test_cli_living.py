"""`update`, `labels` and `history`: a model changes, tells of it, and goes back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis import cli

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "living"))
from living_world import rows


def write(path: Path, texts: list[str], labels: list[list[str]]) -> Path:
    lines = (json.dumps({"text": t, "labels": row}) for t, row in zip(texts, labels, strict=True))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    write(folder / "train.jsonl", *rows(range(30), 12))
    write(folder / "new.jsonl", *rows(range(28, 36), 6, seed=3))
    args = ["train", str(folder / "train.jsonl"), "--to", str(folder / "model"), "--keep-rows", "--holdout", "0", "-q"]
    assert cli.run(args) == 0
    return folder


def said(capsys, *args: object) -> str:
    capsys.readouterr()
    assert cli.run([str(a) for a in args]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys, *args: object) -> str:
    capsys.readouterr()
    assert cli.run([str(a) for a in args]) == 2
    return capsys.readouterr().err


def test_a_model_learns_changes_and_goes_back(world, tmp_path, capsys):
    model, second = world / "model", tmp_path / "second"
    out = said(capsys, "update", model, world / "new.jsonl", "--to", second, "-q")
    assert "Version 1: learned 48 rows, 6 new labels" in out
    assert "It knows 36 labels now, 6 more than before." in out
    assert xt.load(model).version == 0
    weights = {p.name: p.read_bytes() for p in second.glob("*.safetensors")}
    assert "retired label 03" in said(capsys, "labels", second, "retire", "label 03")
    assert "renamed label 04 to fourth" in said(capsys, "labels", second, "rename", "label 04", "fourth")
    assert "merged label 05 into fourth" in said(capsys, "labels", second, "merge", "label 05", "--into", "fourth")
    shown = said(capsys, "labels", second)
    assert "36 labels, 1 retired, 1 merged" in shown
    assert "label 05 → fourth" in shown
    assert "restored label 03" in said(capsys, "labels", second, "restore", "label 03")
    assert weights == {p.name: p.read_bytes() for p in second.glob("*.safetensors")}
    assert "fourth" in said(capsys, "tag", second, "w5x0 w5x1 w5x2 w5x3", "-k", "1")
    told = said(capsys, "history", second)
    assert [line.split()[0] for line in told.splitlines()[:6]] == ["0", "1", "2", "3", "4", "5"]
    assert "since the last full training: 48 rows" in told
    said(capsys, "history", second, "--back", 1, "--to", tmp_path / "first", "-q")
    assert weights == {p.name: p.read_bytes() for p in (tmp_path / "first").glob("*.safetensors")}
    out = json.loads(said(capsys, "update", second, "--forget", "0,4-6", "--refresh", "--to", second, "--json", "-q"))
    assert [e["what"] for e in out["changes"]] == ["forget", "refresh"]
    assert out["changes"][0]["rows"] == [0, 4, 5, 6]
    assert out["drift"]["rows"] == 0
    assert json.loads(said(capsys, "history", second, "--json"))["history"][-1]["rows"] == 30 * 12 + 48 - 4
    assert json.loads(said(capsys, "labels", second, "--json"))["labels"] == 35


def test_a_label_is_split_by_words_or_by_a_list_of_rows(world, tmp_path, capsys):
    model, parts = world / "model", tmp_path / "parts"
    listed = said(capsys, "labels", model, "rows", "label 07").splitlines()
    assert len(listed) == 12
    _, text = listed[0].split("\t")
    assert "w7x" in text
    out = said(
        capsys, "labels", model, "split", "label 07", "--into", "low=w7x0,w7x1,W7X2", "--into", "high=w7x3,w7x4,w7x5",
        "--to", parts, "-q",
    )  # fmt: skip
    assert "split label 07 into low (" in out
    assert "; it is retired." in out
    assert xt.load(model).version == 0
    assert xt.load(parts).retired == ["label 07"]
    assert {"high", "low"} <= set(xt.load(parts).label_names)
    file = tmp_path / "rows.tsv"
    file.write_text("".join(f"{line}\tone\n" for line in listed[:4]) + f"\n{listed[5].split()[0]}\ttwo\n")
    said(capsys, "labels", parts, "restore", "label 07")
    told = json.loads(said(capsys, "labels", parts, "split", "label 07", "--rows", file, "--keep", "--json", "-q"))
    assert told["retired"] == []
    assert {name: len(xt.load(parts).label_rows(name)) for name in ("one", "two", "label 07")} == {
        "one": 4, "two": 1, "label 07": 7,
    }  # fmt: skip
    assert "split label 07 into one (4 rows), two (1 rows)" in said(capsys, "history", parts)
    file.write_text("5 one\n")
    assert "rows.tsv, line 1: must be NUMBER TAB LABEL" in refused(
        capsys, "labels", parts, "split", "label 07", "--rows", file
    )
    assert "--into of split must be NAME=word,word" in refused(
        capsys, "labels", parts, "split", "label 07", "--into", "x"
    )
    assert "split needs --into NAME=word,word" in refused(capsys, "labels", parts, "split", "label 07")


def test_a_stopped_update_goes_on(world, tmp_path, capsys, monkeypatch):
    from xtrellis.linear.living.relearn import Relearner

    model, whole = world / "model", tmp_path / "whole"
    said(capsys, "update", model, world / "new.jsonl", "--to", whole, "-q", "--threads", 1)
    train = Relearner._train

    def stops(self, task, before):
        raise KeyboardInterrupt

    monkeypatch.setattr(Relearner, "_train", stops)
    assert cli.run(["update", str(model), str(world / "new.jsonl"), "--to", str(tmp_path / "m"), "--threads", "1"]) != 0
    assert not (tmp_path / "m").exists()
    left = tmp_path / "m.update-checkpoint"
    monkeypatch.setattr(Relearner, "_train", train)
    assert left.exists()
    said(capsys, "update", model, world / "new.jsonl", "--to", tmp_path / "m", "--resume", "-q", "--threads", 1)
    assert not left.exists()
    assert {p.name: p.read_bytes() for p in whole.glob("*.safetensors")} == {
        p.name: p.read_bytes() for p in (tmp_path / "m").glob("*.safetensors")
    }


def test_mistakes_are_told_and_change_nothing(world, tmp_path, capsys):
    model = world / "model"
    content = {p.name: p.read_bytes() for p in model.iterdir()}
    for args, message in (
        (("update", model, world / "new.jsonl"), "--to is missing"),
        (("update", model, "--to", tmp_path / "x"), "there is nothing to do"),
        (("update", model, "--forget", "1-", "--to", tmp_path / "x"), "--forget must be numbers of rows"),
        (("update", model, "--forget", "99999", "--to", tmp_path / "x"), "from 0 to 359"),
        (("update", model, world / "none.jsonl", "--to", model), "none.jsonl"),
        (("labels", model, "retire"), "retire takes at least one label"),
        (("labels", model, "retire", "lable 03"), "did you mean 'label 03'"),
        (("labels", model, "rename", "label 03"), "rename takes two names"),
        (("labels", model, "merge", "label 03"), "merge needs --into"),
        (("labels", model, "retier", "label 03"), "ACTION must be one of"),
        (("history", model, "--back", 1), "--back VERSION and --to MODEL2 go together"),
        (("history", model, "--back", 1, "--to", tmp_path / "x"), "version must be an integer"),
    ):
        assert message in refused(capsys, *args), args
    assert content == {p.name: p.read_bytes() for p in model.iterdir() if p.name != "journal.jsonl" or p.stat().st_size}
    assert not (tmp_path / "x").exists()
    write(tmp_path / "strange.jsonl", ["?! ..."], [["label 03"]])
    assert "these 1 texts have no word" in refused(capsys, "update", model, tmp_path / "strange.jsonl", "--to", model)
    args = ["train", world / "train.jsonl", "--to", tmp_path / "bare", "--holdout", "0", "-q"]
    assert cli.run([str(a) for a in args]) == 0
    assert "train --keep-rows" in refused(capsys, "update", tmp_path / "bare", world / "new.jsonl", "--to", model)


def test_an_update_lists_labels_that_the_vocabulary_lacks(world, tmp_path, capsys):
    words = tmp_path / "words.jsonl"
    labels = ({"id": f"v:{i}", "names": {"en": f"label {i:02}"}} for i in range(33))
    words.write_text("".join(json.dumps(label) + "\n" for label in labels))
    model, listed = tmp_path / "model", tmp_path / "unknown.tsv"
    train = ["--keep-rows", "--holdout", 0, "-q"]
    said(capsys, "train", world / "train.jsonl", "--to", model, "--vocabulary", words, *train)
    said(capsys, "update", model, world / "new.jsonl", "--to", model, "--unknown", listed, "-q")
    listing = [line.split("\t")[0] for line in listed.read_text().splitlines()]
    assert sorted(listing[1:]) == [f"label {i}" for i in range(33, 36)]
    new = world / "new.jsonl"
    nowhere = tmp_path / "nowhere" / "u.tsv"
    assert "there is no folder" in refused(capsys, "update", model, new, "--to", model, "--unknown", nowhere)
    assert "which is not given" in refused(capsys, "update", model, "--refresh", "--to", model, "--unknown", listed)
    plain = world / "model"
    assert "goes with a vocabulary" in refused(
        capsys, "update", plain, new, "--to", tmp_path / "x", "--unknown", listed
    )
    assert xt.load(model).version == 1
