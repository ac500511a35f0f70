"""Every format gives back what was put in; damaged bytes give a Dataset or a DataError, never anything else."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import xtrellis as xt

FEATURE_FILES = {
    "xmc": ("a.txt", {}, {}),
    "xmc.gz": ("a.txt.gz", {}, {}),
    "xmc-split": ("trn", {"format": "xmc-split"}, {}),
    "svmlight": ("a.svm", {"index_base": 1}, {"index_base": 1}),
    "npz": ("X.npz", {}, {}),
    "npz folder": ("folder", {"format": "npz"}, {}),
}
TEXT_FILES = ["a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.jsonl.xz", "a.csv.zst"]

value = st.floats(width=32, allow_nan=False, allow_infinity=False)
name = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=6)
label_name = st.text(st.characters(codec="utf-8", exclude_characters="\n\r;"), min_size=1, max_size=6).filter(
    lambda s: s == s.strip()
)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[sp.csr_array, sp.csr_array]:
    n, d, labels = draw(st.integers(0, 6)), draw(st.integers(0, 5)), draw(st.integers(0, 5))
    X = draw(nps.arrays(np.float32, (n, d), elements=st.one_of(st.just(0.0), value)))
    Y = draw(nps.arrays(np.bool_, (n, labels)))
    return sp.csr_array(X), sp.csr_array(Y.astype(np.float32))


def same(a: sp.csr_array, b: sp.csr_array) -> None:
    assert a.shape == b.shape
    assert a.indptr.tolist() == b.indptr.tolist()
    assert a.indices.tolist() == b.indices.tolist()
    assert a.data.tobytes() == b.data.tobytes()  # bit for bit, not merely close


@pytest.mark.parametrize("kind", FEATURE_FILES)
@settings(max_examples=15)
@given(both=matrices(), named=st.booleans(), names=st.lists(name, min_size=10, max_size=10))
def test_features_round_trip(kind: str, both: tuple[sp.csr_array, sp.csr_array], named: bool, names: list[str]) -> None:
    file, write_options, read_options = FEATURE_FILES[kind]
    X, Y = both
    named = named and kind != "svmlight"
    data = xt.Dataset(
        X, Y, label_names=names[: Y.shape[1]] if named else None, feature_names=names[: X.shape[1]] if named else None
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        xt.write(data, path, **write_options)
        if kind == "svmlight":
            read_options = {**read_options, "n_features": X.shape[1], "n_labels": Y.shape[1]}
        got = xt.read(path, **read_options)
    same(got.X, data.X)
    same(got.Y, data.Y)
    assert got.label_names == data.label_names
    assert got.feature_names == data.feature_names


@settings(max_examples=15)
@given(both=matrices(), seed=st.integers(0, 100))
def test_filters_round_trip(both: tuple[sp.csr_array, sp.csr_array], seed: int) -> None:
    X, Y = both
    excluded = np.random.default_rng(seed).random(Y.shape) < 0.3
    data = xt.Dataset(X, Y, excluded=excluded)
    with tempfile.TemporaryDirectory() as folder:
        xt.write(data, folder, format="xmc-split", part="test")
        got = xt.read(folder, part="test")
    same(got.Y, data.Y)
    same(got.excluded, data.excluded)


@pytest.mark.parametrize("file", TEXT_FILES)
@settings(max_examples=15)
@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), max_size=12), st.sets(st.integers(0, 4))), max_size=6
    ),
    names=st.lists(label_name, min_size=5, max_size=5, unique=True),
)
def test_texts_round_trip(file: str, rows: list[tuple[str, set[int]]], names: list[str]) -> None:
    Y = np.zeros((len(rows), 5))
    for i, (_, labels) in enumerate(rows):
        Y[i, list(labels)] = 1
    data = xt.Dataset(None, Y, texts=[text for text, _ in rows], label_names=names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        xt.write(data, path)
        got = xt.read(path, labels=names)
        fresh = xt.read(path)
    assert got.texts == data.texts
    same(got.Y, data.Y)
    assert list(fresh.label_names) == sorted({names[i] for _, labels in rows for i in labels})
    assert [set(fresh.labels_of(i)) for i in range(len(rows))] == [{names[j] for j in labels} for _, labels in rows]


SOUND = {
    "a.txt": b"3 4 5\n0,2 0:1 3:0.5\n 1:2\n4,1 2:-1e-3 0:7\n",
    "a.svm": b"0,2 1:1 3:0.5\n 1:2 # c\n4,1 2:-1e-3 1:7\n",
    "a.jsonl": '{"text": "é", "labels": ["a", "\\u00e9"]}\n{"label": "b", "text": "x"}\n'.encode(),
    "a.csv": 'text,labels\n"a ""b""\nc",x; y\né,\n'.encode(),
    "a.tsv": b"label\ttext\nx\t q\n",
    "trn_X_Xf.txt": b"2 3\n0:1\n1:1\n",
    "trn_X_Y.txt": b"2 3\n0:1 2:1\n\n",
    "filter_labels_train.txt": b"0 1\n1 2\n",
    "labels.txt": "a\nb\né\nd\ne\n".encode(),
}
edit = st.tuples(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 255), st.integers(1, 8))


def read_or_refuse(path: Path, **options: int) -> None:
    try:
        data, message = xt.read(path, **options), None
    except xt.DataError as error:
        data, message = None, str(error)
    assert isinstance(data, xt.Dataset) if message is None else str(path.parent) in message


def mutate(content: bytes, edits: list[tuple[int, int, int, int]]) -> bytes:
    out = bytearray(content)
    for kind, at, byte, count in edits:
        at = at % (len(out) + 1)
        if kind == 0:
            out[at : at + 1] = bytes([byte])
        elif kind == 1:
            out[at:at] = bytes([byte]) * count
        elif kind == 2:
            del out[at : at + count]
        else:
            del out[at:]
    return bytes(out)


@pytest.mark.parametrize("file", SOUND)
@settings(max_examples=60)
@given(edits=st.lists(edit, min_size=1, max_size=4), threads=st.integers(1, 2))
def test_damaged_text_never_crashes(file: str, edits: list[tuple[int, int, int, int]], threads: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in {file, *(SOUND if "trn" in file or "filter" in file else {"a.txt"})} - {"labels.txt"}:
            (Path(folder) / name).write_bytes(SOUND[name])
        (Path(folder) / file).write_bytes(mutate(SOUND[file], edits))
        path = Path(folder) / (file if file.startswith("a.") else "a.txt" if file == "labels.txt" else "trn")
        options = {"index_base": 1} if file == "a.svm" else {}
        read_or_refuse(path, threads=threads, **options)


@pytest.mark.parametrize("file", ["X.npz", "a.parquet", "a.jsonl.gz", "a.jsonl.xz", "a.jsonl.zst"])
@settings(max_examples=25)
@given(edits=st.lists(edit, min_size=1, max_size=3))
def test_damaged_binary_never_crashes(file: str, edits: list[tuple[int, int, int, int]]) -> None:
    data = xt.Dataset(np.eye(3), np.eye(3), texts=["a", "b", "c"], label_names=["x", "y", "z"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        xt.write(data, path)
        path.write_bytes(mutate(path.read_bytes(), edits))
        read_or_refuse(path)
