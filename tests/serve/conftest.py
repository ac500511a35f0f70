"""One model and one server for most tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from serve_world import Server, trained

import xtrellis as xt

sys.path.insert(0, str(Path(__file__).parents[2]))  # the attacks, whose results the fuzzing adds to


@pytest.fixture(scope="session")
def tagger() -> xt.Tagger:
    return trained()


@pytest.fixture(scope="session")
def folder(tagger: xt.Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "topics"
    tagger.save(path)
    return path


@pytest.fixture(scope="session")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(
        folder, "--feedback", tmp_path_factory.mktemp("feedback"), "--max-body", 300_000, "--max-text", 100_000
    )
    yield made
    assert made.stop() == 0
