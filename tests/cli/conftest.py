"""A small world for the command line: a text file with labels, a model trained on it, and a way to run commands."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from xtrellis import cli

TOPICS = {
    "fruit": "apple pear banana juice sweet ripe orchard harvest",
    "traffic": "car bus road wheel engine driver lane signal",
    "music": "violin piano concert melody rhythm singer chorus tempo",
    "weather": "rain cloud wind storm sunny cold snow forecast",
}


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Texts of words from one topic, labelled with it and with their first word."""
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        topic = rng.choice(sorted(TOPICS))
        words = [rng.choice(TOPICS[topic].split()) for _ in range(8)]
        out.append({"text": " ".join(words), "labels": [topic, f"ünïque/{words[0]}"]})
    return out


def write_jsonl(path: Path, n: int, seed: int) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(n, seed)), encoding="utf-8")
    return path


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
