"""`--log json`, and completion in shells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from cli_world import Run

PROGRAM = [sys.executable, "-m", "xtrellis"]


def test_progress_as_json_lines(run: Run, train_file: Path, tmp_path: Path) -> None:
    code, out, err = run("train", train_file, "--to", tmp_path / "m", "--log", "json")
    assert code == 0
    assert "rows it has not seen" in out
    events = [json.loads(line) for line in err.splitlines()]
    assert {event["event"] for event in events} >= {"begin", "end", "note"}
    assert all(event["time"].endswith("Z") for event in events)
    ended = {event["title"]: event for event in events if event["event"] == "end"}
    assert ended["counting words"]["done"] == ended["counting words"]["total"]
    assert ended["counting words"]["seconds"] >= 0
    assert any("400 rows" in event.get("message", "") for event in events)


def test_a_mistake_as_json(run: Run, tmp_path: Path) -> None:
    code, out, err = run("train", tmp_path / "none.jsonl", "--to", tmp_path / "m", "--log", "json")
    assert (code, out) == (2, "")
    assert json.loads(err.splitlines()[-1])["event"] == "error"
    assert "no such file" in json.loads(err.splitlines()[-1])["message"]
    code, _, err = run("train", tmp_path / "none.jsonl", "--to", tmp_path / "m")
    assert err.startswith("error: ")  # the next run is as before
    code, _, err = run("train", "x", "--to", "m", "--log", "xml")
    assert (code, "must be plain or json" in err) == (2, True)


def test_a_command_line_that_cannot_be_parsed_as_json(run: Run, train_file: Path) -> None:
    for words in (["train", train_file, "--no-such-option", "--log", "json"], ["train", "--log=json"]):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert [json.loads(line)["event"] for line in err.splitlines()] == ["error"]


def test_an_error_to_be_debugged_as_json(run: Run, tmp_path: Path) -> None:
    code, _, err = run("inspect", tmp_path / "none.jsonl", "--log", "json", "--debug")
    found = json.loads(err.splitlines()[-1])
    assert (code, found["event"]) == (2, "error")
    assert "DataError" in found["traceback"]


def test_warnings_of_libraries_as_json(run: Run, train_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xtrellis import data

    def describe(dataset: object) -> object:
        warnings.warn("it is late", UserWarning, stacklevel=1)
        return found(dataset)

    found = data.describe
    monkeypatch.setattr(data, "describe", describe)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, _, err = run("inspect", train_file, "--log", "json")
    assert [json.loads(line)["message"] for line in err.splitlines() if "warning" in line] == ["it is late"]


def test_notes_of_what_streams_in_are_heard(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": null}\n{"text": "violin"}\n')
    assert "1 texts are null and were read as empty" in run("predict", model, data, "-k", "1").err


def test_quiet_is_quiet(run: Run, train_file: Path, tmp_path: Path) -> None:
    assert run("train", train_file, "--to", tmp_path / "m", "--log", "json", "-q").err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    def complete(line: str) -> str:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_TYPER_COMPLETE_ARGS": line}
        asked = {"_XTRELLIS_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        program = [sys.executable, "-c", "from xtrellis.cli import main; main()"]
        done = subprocess.run(
            program, env={**os.environ, **words, **asked}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "train" in complete("xtrellis tr")
    assert "--threshold" in complete("xtrellis predict --thr")
    # Which shell it is typer finds out by itself; a test may run below any.
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*PROGRAM, "--show-completion", shell], env=named, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "_XTRELLIS_COMPLETE" in done.stdout
