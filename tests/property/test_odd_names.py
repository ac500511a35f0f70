"""What `write` takes, `read` gives back, whatever labels, features and columns are called."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import xtrellis as xt

ODD = [
    "\ufeff", "|", ";", ",", " ", "\t", "\n", "\r", '"', "'", "\\", "#", "{", ":", "\0", "\x1c", "\x85", "\u2028",
    "\ud800",
]  # fmt: skip
TEXT_FILES = ["a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.csv.gz"]
FEATURE_FILES = {"xmc": "a.txt", "xmc-split": "trn", "npz": "folder"}

string = st.lists(st.sampled_from([*ODD, "a", "b", "é"]), min_size=1, max_size=4).map("".join)
names_of = st.lists(string, min_size=3, max_size=3, unique=True)
rows_of = st.lists(st.tuples(string | st.just(""), st.sets(st.integers(0, 2), max_size=2)), max_size=4)
column = st.sampled_from([None, "text", "label", "labels", "\ufefftext", 'a"b', "a,b\tc\n", " "])
separator = st.sampled_from([None, None, None, ";", "|", "aa", "||", "ab", " ", "; ", "\t", ",", '"', "\n"])


def labels_of(data: xt.Dataset) -> list[list[str]]:
    return [sorted(data.labels_of(i)) for i in range(data.n_rows)]


@pytest.mark.parametrize("file", TEXT_FILES)
@settings(max_examples=120)
@given(names=names_of, rows=rows_of, text_column=column, label_column=column, label_separator=separator)
@example([" a", "|", "b"], [("", {1}), ("", set())], None, None, None)
@example(["\ufeffa", "b|", "c"], [("\ufeff", {0, 1}), ("a", {1})], "\ufefftext", None, None)
@example(["ba", "b", "ab"], [("x", {0, 1}), ("y", {1, 2})], None, None, "aa")
@example(["a", "b", "c"], [("x", {0, 1})], None, "label", None)
@example(["a", "b", "c"], [("x", {0, 1})], "label", None, None)
def test_texts(
    file: str,
    names: list[str],
    rows: list[tuple[str, set[int]]],
    text_column: str | None,
    label_column: str | None,
    label_separator: str | None,
) -> None:
    options: dict[str, Any] = {}
    if file != "a.jsonl":
        options = {"text_column": text_column, "label_column": label_column}
    if "sv" in file:
        options["label_separator"] = label_separator
    Y = np.zeros((len(rows), 3))
    for i, (_, labels) in enumerate(rows):
        Y[i, list(labels)] = 1
    data = xt.Dataset(None, Y, texts=[text for text, _ in rows], label_names=names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        try:
            xt.write(data, path, **options)
        except (xt.InputError, xt.ParameterError):
            assert list(Path(folder).iterdir()) == []
            return
        got, fresh = xt.read(path, labels=names, **options), xt.read(path, **options)
    assert got.texts == fresh.texts == data.texts
    assert labels_of(got) == labels_of(fresh) == labels_of(data)
    assert (got.Y != data.Y).nnz == 0


@pytest.mark.parametrize("kind", FEATURE_FILES)
@settings(max_examples=80)
@given(names=st.lists(string | st.just(""), min_size=5, max_size=5))
@example(["\ufeff", "", "", "", ""])
@example(["\ufeff\ufeffa", "b", "c", "\ufeff", "\ufeff"])
def test_features(kind: str, names: list[str]) -> None:
    data = xt.Dataset(np.eye(4, 2), np.eye(4, 3), label_names=names[:3], feature_names=names[3:])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FEATURE_FILES[kind]
        try:
            xt.write(data, path, format=kind)
        except xt.InputError:
            assert any("\n" in name or name.endswith("\r") or "\ud800" in name for name in names)
            return
        xt.write(data, path, format=kind)  # the names that are there are the same
        got = xt.read(path)
    assert got.label_names == data.label_names
    assert got.feature_names == data.feature_names


@pytest.mark.parametrize("file", ["a.csv", "a.tsv", "a.parquet"])
def test_what_no_reader_would_take(file: str, tmp_path: Path) -> None:
    data = xt.Dataset(None, np.eye(2), texts=["x", "y"], label_names=["", "b"])
    with pytest.raises(xt.InputError, match=r"empty|does not fit a cell"):
        xt.write(data, tmp_path / file)
    with pytest.raises(xt.ParameterError, match="columns of different names; both are 'labels'"):
        xt.write(xt.Dataset(None, np.eye(1), texts=["x"], label_names=["a"]), tmp_path / file, text_column="labels")
    if file == "a.parquet":
        with pytest.raises(xt.InputError, match="UTF-8"):
            xt.write(xt.Dataset(None, np.eye(1), texts=["x"], label_names=["\ud800"]), tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_bars_without_a_semicolon_are_written_as_single_labels(tmp_path: Path) -> None:
    data = xt.Dataset(None, np.eye(2), texts=["x", "y"], label_names=["a|b", "c"])
    xt.write(data, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "text,label\nx,a|b\ny,c\n"
    with pytest.raises(xt.InputError, match=r"labels contain '\|'.*give label_separator"):
        xt.write(data, tmp_path / "b.csv", label_column="tags")
    xt.write(data, tmp_path / "b.csv", label_column="tags", label_separator=";")
    assert labels_of(xt.read(tmp_path / "b.csv", label_column="tags", label_separator=";")) == [["a|b"], ["c"]]
