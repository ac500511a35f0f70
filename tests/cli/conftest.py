"""A text file with labels, a model trained on it, and a way to run commands."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_world import Result, Run, write_jsonl

from xtrellis import cli


@pytest.fixture(scope="session", autouse=True)
def same_date() -> Iterator[None]:
    """Models carry the date of their training; tests compare all of their bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("tag", model, "text")` as the program would: exit code, stdout, stderr."""

    def call(*args: object, stdin: str | None = None) -> Result:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = cli.run([str(arg) for arg in args])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def train_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("data") / "train.jsonl", 400, seed=1)


@pytest.fixture(scope="session")
def test_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("data") / "test.jsonl", 60, seed=2)


@pytest.fixture(scope="session")
def model(train_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "topics"
    assert cli.run(["train", str(train_file), "--to", str(path), "--preset", "one-vs-all", "--holdout", "0", "-q"]) == 0
    return path
