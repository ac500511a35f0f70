"""Rows that are nearly right: null texts, white space around label names. One rule for all formats, told once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.data import stream
from xtrellis.data.formats.tidy import Tidy


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    notes: list[str] = []
    monkeypatch.setattr(progress, "note", notes.append)
    return notes


def names_and_rows(data: xt.Dataset) -> tuple[list[str], list[list[str]]]:
    return list(data.label_names or []), [data.labels_of(i) for i in range(data.n_rows)]


def test_blanks_around_names_in_every_format(tmp_path: Path, told: list[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    labels = [["fruit "], [" fruit", "car"], ["\tfruit"]]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": "x", "labels": row}) + "\n" for row in labels))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": "x", "label": row[0]}) + "\n" for row in labels))
    (tmp_path / "c.csv").write_text("text,label\n" + "".join(f'x,"{row[0]}"\n' for row in labels))
    (tmp_path / "d.csv").write_text("text,labels\n" + "".join(f'x,"{";".join(row)}"\n' for row in labels))
    table = pyarrow.table({"text": ["x"] * 3, "labels": labels})
    parquet.write_table(table, tmp_path / "e.parquet")
    for name, several in (
        ("a.jsonl", True),
        ("b.jsonl", False),
        ("c.csv", False),
        ("d.csv", True),
        ("e.parquet", True),
    ):
        told.clear()
        names, rows = names_and_rows(xt.read(tmp_path / name))
        assert names == (["car", "fruit"] if several else ["fruit"]), name
        assert rows == [["fruit"], ["car", "fruit"] if several else ["fruit"], ["fruit"]]
        if name != "d.csv":  # where names are cut out of a cell, blanks beside the separator mean nothing
            assert told == [f"{name}: 3 label names have white space around them, which was taken off"]


def test_a_name_of_blanks_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x", "labels": ["  "]}\n')
    with pytest.raises(xt.DataError, match="line 1: expected label names; got an empty one"):
        xt.read(tmp_path / "a.jsonl")


def test_null_is_empty(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"text": null, "labels": ["a"]}\n{"text": "x", "labels": null}\n{"text": null, "labels": []}\n'
    )
    data = xt.read(tmp_path / "a.jsonl")
    assert data.texts == ["", "x", ""]
    assert names_and_rows(data) == (["a"], [["a"], [], []])
    assert told == [
        "a.jsonl: 2 texts are null and were read as empty; 1 rows have null for labels and were read as having none"
    ]
    (tmp_path / "b.jsonl").write_text('{"texts": "x", "labels": ["a"]}\n')
    with pytest.raises(xt.DataError, match="expected 'text' to be a string; it is missing"):
        xt.read(tmp_path / "b.jsonl")


def test_null_in_a_stream(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "x"}\n')
    found = [text for block in stream(tmp_path / "a.jsonl") for text in block.texts or []]
    assert found == ["", "x"]
    assert told == ["a.jsonl: 1 texts are null and were read as empty"]


def test_null_in_parquet(tmp_path: Path, told: list[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"text": ["x", None], "labels": [None, ["a"]]})
    parquet.write_table(table, tmp_path / "e.parquet")
    data = xt.read(tmp_path / "e.parquet")
    assert data.texts == ["x", ""]
    assert names_and_rows(data) == (["a"], [[], ["a"]])
    assert len(told) == 1


def test_names_beside_xmc_data_stand_as_they_are(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "d.txt").write_text("1 2 2\n0,1 0:1 1:2\n")
    (tmp_path / "labels.txt").write_text("fruit \nfruit\n")  # each names a column: there is nothing to mistake
    assert list(xt.read(tmp_path / "d.txt").label_names or []) == ["fruit ", "fruit"]
    assert told == []


def test_a_model_that_knows_a_name_with_blanks(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x", "labels": ["fruit ", "car", "road", "house"]}\n')
    data = xt.read(tmp_path / "a.jsonl", labels=["fruit ", "car", " road", "road"])
    assert data.labels_of(0) == ["fruit ", "car", "road"]
    assert data.dropped_labels == 1


def test_writers_refuse_what_readers_would_change(tmp_path: Path) -> None:
    data = xt.Dataset(None, [[1, 0]], texts=["x"], label_names=["fruit ", "car "])
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        with pytest.raises(xt.InputError, match="'fruit '"):
            xt.write(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_tell(told: list[str]) -> None:
    tidy = Tidy()
    assert (tidy.text("x"), tidy.labels(["a"]), tidy.name("a b")) == ("x", ["a"], "a b")
    tidy.tell("file")
    assert told == []
