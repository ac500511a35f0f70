"""Lines of JSON that are parsed together give what they give one by one."""

from __future__ import annotations

import importlib
import io
import json

import pytest

from xtrellis.core import DataError
from xtrellis.data import stream
from xtrellis.data.streams import objects
from xtrellis.data.streams.objects import parse_objects

READER = importlib.import_module("xtrellis.data.streams.stream")  # the function of that name hides it
GOOD = [{"text": "a", "id": 7}, {"text": 'ä \U0001f600 \\ "', "labels": ["x", {"y": []}]}, {"text": "", "n": 1.5e300}]


def lines_of(rows: list[object], *, ascii_only: bool = False) -> list[bytes]:
    return [json.dumps(row, ensure_ascii=ascii_only).encode("utf-8") for row in rows]


def test_objects_of_lines() -> None:
    assert parse_objects(lines_of(GOOD)) == GOOD
    lines = lines_of(GOOD)
    assert parse_objects([b"", b" \t", lines[0], b"", lines[1], lines[2], b"\r"]) == GOOD
    assert parse_objects([b"", b" "]) == []
    assert parse_objects(lines_of(GOOD[:1] + GOOD[2:], ascii_only=True)) == GOOD[:1] + GOOD[2:]


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"text": "a"}', b"nothing"],
        [b'{"text": "a"}', b"[1]"],
        [b'{"text": "a"}', b"7"],
        [b'{"text": "a"},{"text": "b"}'],
        [b'{"text": "a"},{"text": "b"}', b'{"text": "c", "more": [{"b": 1}', b'{"c": 2}]}'],  # one line goes on
        [b'{"text": "a", "more": [', b"]}"],
        [b'{"text": "\\ud83d"}'],
        [b'{"text": "\xff"}'],
        [b'{"text": "\xed\xa0\x80"}'],
        [b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"],
        [b'{"n": ' + b"9" * 5000 + b"}"],
        [f'{{"a": 1}},{objects._BETWEEN},{{"a": 2}}'.encode(), b'{"text": "c", "d": [{}', b"{}]}"],
    ],
)
def test_what_is_unusual_is_left_to_those_who_look_closer(lines: list[bytes]) -> None:
    assert parse_objects(lines) is None


@pytest.mark.parametrize("together", [1, 2, 1024])
def test_blocks_are_the_same_however_many_lines_are_parsed_together(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = lines_of([{"text": f"t{i}", "id": i, "more": [i]} for i in range(7)])
    rows[2], rows[4], rows[6] = b"", b'{"id": 4}', b'{"text": null}'
    monkeypatch.setattr(READER, "TOGETHER", together)

    def blocks() -> list[object]:
        data = io.BytesIO(b"\n".join(rows) + b"\n")
        found = list(stream(data, format="jsonl", keep=["more"], skip_bad_rows=True))
        return [(list(block.texts or []), block.passed, block.faults) for block in found]

    found = blocks()
    monkeypatch.setattr(READER, "parse_objects", lambda lines: None)
    assert found == blocks()
    assert found[0][0] == ["t0", "t1", "t3", "", "t5", ""]
    assert list(found[0][2]) == [3]
    assert "line 5" in found[0][2][3] or ":5" in found[0][2][3]


def test_the_bad_line_is_named() -> None:
    rows = [b'{"text": "a"}'] * 9
    rows[7] = b'{"text": "a"'
    with pytest.raises(DataError, match=r"8"):
        list(stream(io.BytesIO(b"\n".join(rows)), format="jsonl"))
