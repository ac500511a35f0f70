"""Paths that no file can have are refused in one short line by every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_world import Run

LONG = "a" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ("tag", LONG, "text"), ("inspect", LONG), ("evaluate", LONG, LONG), ("train", LONG, "--to", "m"),
        ("predict", LONG, LONG), ("import-pecos", LONG, "--to", "m"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_path_of_5000_characters(words: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    found = run(*(str(tmp_path / word) if word == "m" else word for word in words))
    assert found.code == 2
    assert "file name too long" in found.err.lower()
    assert len(found.err) < 1000
