"""Data folders: what is read from them is what was written, also by other readers, appended, cut off and damaged."""

from __future__ import annotations

import filecmp
import json

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.data import Writer, concatenate
from xtrellis.store import file_array, let_go


def same(one, other):
    assert (one.X is None) == (other.X is None)
    if one.X is not None:
        assert one.X.shape == other.X.shape
        assert (one.X != other.X).nnz == 0
    assert one.Y.shape == other.Y.shape
    assert (one.Y != other.Y).nnz == 0
    assert (one.texts is None) == (other.texts is None)
    assert one.texts is None or list(one.texts) == list(other.texts)
    assert one.label_names == other.label_names


def tagged(n, seed, first=0):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(60)]
    return [
        {
            "text": " ".join(rng.choice(words, 8)),
            "labels": [f"é{i}" for i in rng.choice(np.arange(first, first + 20), rng.integers(0, 3), replace=False)],
        }
        for _ in range(n)
    ]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def numbers():
    return xt.synthetic(n_rows=700, n_labels=60, n_features=500, seed=1)


def test_features_survive_whatever_file_they_come_from(tmp_path, numbers):
    xt.write(numbers, tmp_path / "a.xt")
    same(xt.open(tmp_path / "a.xt", verify=True), numbers)
    for name, options in (("a.txt", {}), ("a.svm", {"index_base": 1, "n_features": 500, "n_labels": 60})):
        written = {"index_base": 1} if options else {}
        xt.write(numbers, tmp_path / name, **written)
        xt.convert(tmp_path / name, tmp_path / f"{name}.xt", **options)
        same(xt.open(tmp_path / f"{name}.xt", verify=True), numbers)
    (tmp_path / "split").mkdir()
    xt.write(numbers, tmp_path / "split", format="xmc-split", part="train")
    xt.convert(tmp_path / "split", tmp_path / "split.xt")
    same(xt.open(tmp_path / "split.xt"), numbers)


def test_texts_are_numbered_as_read_numbers_them(tmp_path):
    files = [lines(tmp_path / "a.jsonl", tagged(300, 1)), lines(tmp_path / "b.jsonl", tagged(200, 2, first=10))]
    xt.convert(files, tmp_path / "both.xt")
    same(xt.open(tmp_path / "both.xt", verify=True), concatenate([xt.read(file) for file in files]))


def test_rows_are_appended_and_old_labels_keep_their_numbers(tmp_path):
    first, second = lines(tmp_path / "a.jsonl", tagged(300, 1)), lines(tmp_path / "b.jsonl", tagged(200, 2, first=10))
    xt.convert(first, tmp_path / "a.xt")
    before = list(xt.open(tmp_path / "a.xt").label_names)
    xt.convert(second, tmp_path / "a.xt", append=True)
    grown = xt.open(tmp_path / "a.xt", verify=True)
    assert list(grown.label_names)[: len(before)] == before
    assert [set(grown.labels_of(i)) for i in range(500)] == [
        set(row["labels"]) for row in tagged(300, 1) + tagged(200, 2, first=10)
    ]
    assert list(grown.texts) == [row["text"] for row in tagged(300, 1) + tagged(200, 2, first=10)]


def test_a_failed_append_leaves_the_folder_as_it_was(tmp_path, numbers):
    xt.write(numbers, tmp_path / "a.xt")
    before = {file.name: file.read_bytes() for file in (tmp_path / "a.xt").iterdir()}
    wrong = xt.Dataset(numbers.X[:, :400], numbers.Y)
    with pytest.raises(xt.InputError, match="features"), Writer(tmp_path / "a.xt", append=True) as out:
        out.add(wrong)
    assert {file.name: file.read_bytes() for file in (tmp_path / "a.xt").iterdir()} == before
    with pytest.raises(xt.DataError, match="append to it"):
        xt.write(numbers, tmp_path / "a.xt")


def test_nothing_is_left_of_a_folder_that_could_not_be_made(tmp_path):
    bad = lines(tmp_path / "a.jsonl", [*tagged(5, 1), {"text": 3, "labels": [[]]}])
    with pytest.raises(xt.DataError, match="line 6"):
        xt.convert(bad, tmp_path / "a.xt")
    assert list(tmp_path.iterdir()) == [bad]


def test_parts_of_rows_are_those_of_a_data_set(tmp_path, numbers):
    xt.write(numbers, tmp_path / "a.xt")
    stored = xt.open(tmp_path / "a.xt")
    for one, other in zip(stored.split(0.3, seed=5), numbers.split(0.3, seed=5), strict=True):
        same(one, other)
    same(stored.select(slice(100, 300)).select(slice(50, 60)), numbers.select(slice(150, 160)))
    assert stored.select(slice(100, 300)).select(slice(50, 60)).rows == (150, 160)
    same(stored.select([5, 3, -1]), numbers.select([5, 3, -1]))


def test_the_same_model_as_from_memory(tmp_path, numbers):
    xt.write(numbers, tmp_path / "a.xt")
    for name, data in (("memory", numbers), ("disk", xt.open(tmp_path / "a.xt"))):
        xt.LinearTree(index=xt.BalancedTree(max_leaf=10), n_trees=2, seed=4).fit(data).save(tmp_path / name)
    left = filecmp.dircmp(tmp_path / "memory", tmp_path / "disk")
    assert not left.diff_files
    assert left.same_files


def test_texts_are_vectorised_as_they_lie(tmp_path):
    file = lines(tmp_path / "a.jsonl", tagged(300, 1))
    xt.convert(file, tmp_path / "a.xt")
    stored, read = xt.open(tmp_path / "a.xt"), xt.read(file)
    one, other = xt.Vectorizer(ngrams=2).fit(stored.texts), xt.Vectorizer(ngrams=2).fit(read.texts)
    assert one.feature_names == other.feature_names
    assert (one.transform(stored.texts) != other.transform(read.texts)).nnz == 0


def test_a_folder_that_was_cut_off_or_changed_is_refused(tmp_path, numbers):
    xt.write(numbers, tmp_path / "a.xt")
    ids = tmp_path / "a.xt" / "x.ids"
    content = ids.read_bytes()
    ids.write_bytes(content[:-4])
    with pytest.raises(xt.DataError, match="cut off"):
        xt.open(tmp_path / "a.xt")
    ids.write_bytes(content[:40] + b"\xff\xff\xff\x7f" + content[44:])
    with pytest.raises(xt.DataError, match="damaged"):  # a column that is not there
        xt.open(tmp_path / "a.xt")
    ids.write_bytes(content)
    values = tmp_path / "a.xt" / "x.values"
    values.write_bytes(np.float32(0.123).tobytes() + values.read_bytes()[4:])
    xt.open(tmp_path / "a.xt")
    with pytest.raises(xt.DataError, match="hash"):
        xt.open(tmp_path / "a.xt", verify=True)
    ids.unlink()
    with pytest.raises(xt.DataError, match="not whole"):
        xt.open(tmp_path / "a.xt")
    (tmp_path / "a.xt" / "data.json").write_text("{}")
    with pytest.raises(xt.DataError, match="damaged"):
        xt.open(tmp_path / "a.xt")
    with pytest.raises(xt.DataError, match="no data folder"):
        xt.open(tmp_path)


def test_pages_that_were_let_go_come_back(tmp_path):
    array = file_array(100_000, np.float32, tmp_path)
    array[:] = np.arange(100_000)
    let_go()
    assert (array == np.arange(100_000)).all()
    assert not list(tmp_path.iterdir())
