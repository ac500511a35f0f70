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
    write(tmp_path / "strange.jsonl", ["totally unheard-of"], [["label 03"]])
    assert "no word of these 1 texts" in refused(capsys, "update", model, tmp_path / "strange.jsonl", "--to", model)
    args = ["train", world / "train.jsonl", "--to", tmp_path / "bare", "--holdout", "0", "-q"]
    assert cli.run([str(a) for a in args]) == 0
    assert "train --keep-rows" in refused(capsys, "update", tmp_path / "bare", world / "new.jsonl", "--to", model)
