from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt


def features() -> xt.Dataset:
    return xt.Dataset(np.array([[0.1, 0], [0, 0]]), np.array([[1, 0, 1], [0, 0, 0]]), label_names=list("abc"))


def texts(**extra: object) -> xt.Dataset:
    given: dict[str, object] = {"texts": ["one", "two"], "label_names": list("abc"), **extra}
    return xt.Dataset(None, np.array([[1, 0, 1], [0, 0, 0]]), **given)  # type: ignore[arg-type]


def test_what_is_written(tmp_path: Path) -> None:
    xt.write(features(), tmp_path / "new" / "train.txt")
    assert (tmp_path / "new" / "train.txt").read_bytes() == b"2 2 3\n0,2 0:0.1\n \n"
    assert (tmp_path / "new" / "labels.txt").read_text() == "a\nb\nc\n"
    xt.write(features(), tmp_path / "a.svm", index_base=1)
    assert (tmp_path / "a.svm").read_bytes() == b"0,2 1:0.1\n \n"
    xt.write(texts(), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'text,labels\none,a;c\ntwo,""\n'
    xt.write(texts(), tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text().splitlines()[0] == '{"text": "one", "labels": ["a", "c"]}'
    assert not [f for f in tmp_path.rglob("*") if f.name.startswith(".")]


def test_compressed_files_are_reproducible(tmp_path: Path) -> None:
    for suffix in (".gz", ".xz", ".zst"):
        xt.write(texts(), tmp_path / f"a.jsonl{suffix}")
        xt.write(texts(), tmp_path / f"b.jsonl{suffix}")
        assert (tmp_path / f"a.jsonl{suffix}").read_bytes() == (tmp_path / f"b.jsonl{suffix}").read_bytes()
        assert xt.read(tmp_path / f"a.jsonl{suffix}").texts == ["one", "two"]


@pytest.mark.parametrize(
    ("dataset", "name", "options", "message"),
    [
        (texts(), "a.txt", {}, "only texts; vectorise"),
        (features(), "a.jsonl", {}, "has none; write xmc"),
        (texts(label_names=None), "a.csv", {}, "give it label_names"),
        (texts(label_names=["a;b", "b", "c"]), "a.csv", {}, "label 'a;b' does not fit"),
        (texts(texts=["\ud800", ""]), "a.jsonl", {}, "UTF-8"),
        (texts(texts=["\ud800", ""]), "a.parquet", {}, "UTF-8"),
        (features(), "a.npz", {}, "two files"),
        (features(), "a.svm", {}, "index_base"),
        (features(), "a.what", {}, "cannot tell the format"),
        (features(), "a.txt", {"part": "train"}, "part is for"),
        (features(), "a.txt", {"label_separator": ";"}, "label_separator is for"),
    ],
)
def test_refusals(tmp_path: Path, dataset: xt.Dataset, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(xt.XtrellisError, match=message):
        xt.write(dataset, tmp_path / name, **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_names_of_other_data_are_left_alone(tmp_path: Path) -> None:
    xt.write(features(), tmp_path / "train.txt")
    xt.write(features(), tmp_path / "test.txt")
    other = xt.Dataset(np.eye(1), np.eye(1), label_names=["z"])
    with pytest.raises(xt.InputError, match="holds other names"):
        xt.write(other, tmp_path / "more.txt")
    assert (tmp_path / "labels.txt").read_text() == "a\nb\nc\n"
    assert not (tmp_path / "more.txt").exists()
    with pytest.raises(xt.InputError, match="does not fit on a line"):
        xt.write(xt.Dataset(np.eye(1), np.eye(1), label_names=["a\nb"]), tmp_path / "n" / "a.txt")


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(xt.DataError, match="cannot be written"):
        xt.write(texts(), tmp_path / "file" / "a.jsonl")


@pytest.mark.parametrize(
    ("library", "extra", "name"), [("pyarrow", "columnar", "a.parquet"), ("zstandard", "zstd", "a.jsonl.zst")]
)
def test_missing_libraries_name_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, extra: str, name: str
) -> None:
    xt.write(texts(), tmp_path / name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(xt.MissingExtraError, match=extra):
        xt.read(tmp_path / name)
    with pytest.raises(xt.MissingExtraError, match=extra):
        xt.write(texts(), tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    xt.write(texts(), path)
    before = path.read_bytes()
    with pytest.raises(xt.InputError):
        xt.write(texts(texts=["fine", "\udc80"]), path)
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["a.jsonl"]
