"""The program itself: help, version, mistakes, and what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_world import Run

import xtrellis
from xtrellis import cli

PROGRAM = [sys.executable, "-c", "from xtrellis.cli import main; main()"]


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"xtrellis {xtrellis.__version__}\n", "")


def test_help_names_every_command(run: Run) -> None:
    for args in ([], ["--help"], ["-h"]):
        code, out, err = run(*args)
        assert code == 0
        assert err == ""
        for command in ("demo", "train", "predict", "evaluate", "tag", "inspect"):
            assert f" {command} " in out


@pytest.mark.parametrize("command", ["demo", "train", "predict", "evaluate", "tag", "inspect"])
def test_every_command_has_help(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "--debug" in out


def test_help_is_light() -> None:
    script = (
        "import sys\n"
        "from xtrellis.cli import run\n"
        "assert run(['train', '--help']) == 0\n"
        "heavy = {'numpy', 'scipy', 'torch', 'safetensors', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["trian"], "No such command 'trian'"),
        (["train", "x"], "--to"),
        (["train", "x", "--to", "m", "--bogus"], "--bogus"),
        (["tag", "m", "t", "-k", "0"], "-k"),
        (["tag", "no/such/model", "text"], "there is no model at"),
        (["predict", "no/such/model", "x"], "there is no model at"),
        (["evaluate", "no/such/model", "x"], "there is no model at"),
        (["inspect", "no/such/path"], "no/such/path: there is no such file or folder"),
        (["train", "no/such/data", "--to", "m"], "no/such/data"),
        (["train", "x", "--to", "m", "--preset", "bonzai"], "bonzai"),
        (["train", "x", "--to", "m", "--set", "beam"], "--set must be key=value"),
        (["train", "x", "--to", "m", "--set", "baem=3"], "did you mean 'beam'"),
        (["train", "x", "--to", "m", "--set", "beam=lots"], "beam must be an integer"),
        (["train", "x", "--to", "m", "--set", "vectorizer.ngram=2"], "did you mean 'ngrams'"),
        (["train", "x", "--to", "m", "--set", "vectorizer=2"], "vectorizer.ngrams=2"),
        (["train", "x", "--to", "m", "--read", "lable_column=x"], "did you mean 'label_column'"),
        (["train", "x", "--to", "m", "--read", "index_base=one"], "index_base must be an integer"),
        (["train", "x", "--to", "m", "--test", "y", "--holdout", "0.5"], "give one of them"),
        (["train", "x", "--to", "m", "--holdout", "1.5"], "--holdout"),
    ],
)
def test_a_mistake_costs_one_line_and_code_2(
    run: Run, args: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*args)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_debug_lets_the_traceback_through(run: Run) -> None:
    with pytest.raises(xtrellis.XtrellisError, match="there is no model"):
        run("tag", "no/such/model", "text", "--debug")


def test_a_bug_is_one_line_too_and_code_1(run: Run, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("xtrellis.tagger.Tagger.predict", broken)
    code, out, err = run("tag", model, "text")
    assert (code, out) == (1, "")
    assert err == "error: internal error, ZeroDivisionError: oh (run again with --debug to see where)\n"


def test_an_error_of_the_system_names_the_file(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", "big.file")

    monkeypatch.setattr("xtrellis.tagger.Tagger.predict", full)
    assert run("tag", model, "text") == (2, "", "error: big.file: no space left on device\n")


def test_a_reader_that_goes_away_is_no_error(model: Path, train_file: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_bytes(train_file.read_bytes() * 20)
    command = [*PROGRAM, "predict", str(model), str(many), "-q", "-k", "36"]  # more than a pipe holds
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"labels": [')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_works_in_a_terminal_that_knows_only_ascii(model: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "tag", str(model), "apple banana juice", "--json"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"fruit" in done.stdout


def test_main_is_the_entry_point(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["xtrellis", "--version"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("xtrellis ")
