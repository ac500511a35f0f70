"""Lines of many rows, which a kernel makes, are those of few rows, which Python makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_world import Run, write_jsonl


@pytest.mark.parametrize(
    ("command", "rest"),
    [("predict", ["-q", "-k", "4"]), ("tag", ["--lines", "--json", "-q", "-k", "4"])],
)
def test_many_rows_look_like_few(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, rest: list[str]
) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 700, seed=3)
    lines = data.read_text(encoding="utf-8").splitlines()
    lines[5], lines[300] = '{"text": "", "id": "ä\\n"}', '{"text": "zzyzx qqq", "id": [1, null]}'
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, many, _ = run(command, model, data, *rest)
    assert code == 0
    monkeypatch.setattr("xtrellis.cli.streams.lines.MANY", 10_000)
    code, few, _ = run(command, model, data, *rest)
    assert code == 0
    assert many == few
    assert len(many.splitlines()) == 700


def test_many_pairs_look_like_few(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 300, seed=4)
    assert run("predict", model, data, "--to", tmp_path / "many.txt", "-q")[0] == 0
    monkeypatch.setattr("xtrellis.cli.streams.lines.MANY", 10_000)
    assert run("predict", model, data, "--to", tmp_path / "few.txt", "-q")[0] == 0
    assert (tmp_path / "many.txt").read_bytes() == (tmp_path / "few.txt").read_bytes()
