"""What reports of a test run stand on: sources can be parsed whatever garbage lies about (see tests/conftest.py)."""

from __future__ import annotations

import ast
from pathlib import Path

import xtrellis


class Parses:
    """Garbage that only the collector of cycles finds, and that parses something on its way out."""

    gone = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        ast.parse("(a + b)")
        Parses.gone += 1


def test_sources_are_parsed_while_garbage_is_collected():
    for path in Path(xtrellis.__file__).parent.rglob("*.py"):
        for _ in range(50):
            Parses()
        assert isinstance(ast.parse(path.read_text()), ast.Module)
    assert Parses.gone
