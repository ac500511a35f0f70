"""`TrainingData`: checked once, and its fingerprint tells trainings apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays.strings import StringTable
from xtrellis.data import training
from xtrellis.data.training import TrainingData, hash_files
from xtrellis.tagger import PreparedData

X = np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0], [0, 0, 0]], np.float32)
Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], np.float32)
TEXTS = ["one", "two", "three", ""]
NAMES = ["ab", "c"]
F = np.array([[1, 0, 0, 7], [0, 2, 0, 0]], np.float32)


def made(**changes: Any) -> TrainingData:
    given = {"X": X, "Y": Y, "texts": TEXTS, "label_names": NAMES, "label_features": F, **changes}
    return TrainingData.of(given.pop("X"), given.pop("Y"), **given)


# ── at the door ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, np.ndarray.tolist]
)
def test_whatever_users_have_becomes_what_kernels_want(form: Any) -> None:
    data = TrainingData.of(form(X), form(Y), label_features=form(F))
    for matrix, expected in ((data.X, X), (data.Y, Y), (data.label_features, F)):
        assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.float32, np.int32, np.int64)
        assert matrix.toarray().tolist() == expected.tolist()
    assert (data.n_rows, data.n_features, data.n_labels) == (4, 3, 2)
    assert data.label_counts.tolist() == [2, 2]
    assert data.texts is None
    assert data.label_names is None
    assert data.fingerprint == TrainingData.of(X, Y, label_features=F).fingerprint


def test_weights_of_labels_and_stored_zeros_do_not_count() -> None:
    heavy = sp.csr_array((np.array([3.0, 0, 1, 1, 9]), np.array([0, 1, 0, 1, 1]), [0, 2, 4, 4, 5]), shape=(4, 2))
    data = TrainingData.of(X, heavy)
    assert data.Y.toarray().tolist() == Y.tolist()
    assert data.fingerprint == TrainingData.of(X, Y).fingerprint


def test_it_passes_as_it_is() -> None:
    data = made()
    assert TrainingData.of(data, None) is data
    for beside in ({"texts": TEXTS}, {"label_names": NAMES}, {"label_features": F}):
        with pytest.raises(xt.InputError, match="give nothing beside it"):
            TrainingData.of(data, None, **beside)
    with pytest.raises(xt.InputError, match="give nothing beside it"):
        TrainingData.of(data, Y)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"Y": None}, "training needs labels"),
        ({"Y": Y[:3]}, "Y has 3 rows; X has 4"),
        ({"Y": Y[:, :0], "label_names": None, "label_features": None}, "at least one row and one label; got 4 rows, 0"),
        ({"X": X[:0], "Y": Y[:0], "texts": None}, "at least one row and one label; got 0 rows, 2 labels"),
        ({"X": np.full((4, 3), np.nan)}, "X must be finite"),
        ({"Y": -Y}, "Y must be 0, or positive"),
        ({"texts": TEXTS[:2]}, "one text for each row; got 2 texts and 4 rows"),
        ({"texts": "four"}, "got one str"),
        ({"texts": ["a", "b", "c", 4]}, r"texts\[3\] is 4 \(int\)"),
        ({"label_names": ["ab"]}, "label_names must be 2 names, one for each label; got 1"),
        ({"label_names": "ab"}, "a list of strings is needed"),
        ({"label_features": F[:1]}, "label features have 1 rows; Y has 2 labels"),
        ({"label_features": np.full((2, 1), np.inf)}, "label features must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(xt.InputError, match=says):
        made(**changes)


def test_some_of_the_rows() -> None:
    data = made()
    some = data.select([2, 0, 2])
    assert some.X.toarray().tolist() == X[[2, 0, 2]].tolist()
    assert some.Y.toarray().tolist() == Y[[2, 0, 2]].tolist()
    assert some.texts == ["three", "one", "three"]
    assert some.label_names is data.label_names
    assert some.label_features is data.label_features
    assert some.label_counts.tolist() == [1, 0]
    assert some.fingerprint["X"] != data.fingerprint["X"]
    assert some.fingerprint["label names"] == data.fingerprint["label names"]
    assert made(texts=None).select(np.array([1])).texts is None
    prepared = PreparedData(data.X, data.Y, vectorizer=xt.Vectorizer())
    assert prepared.select([0]).vectorizer is prepared.vectorizer


# ── fingerprints ────────────────────────────────────────────────────────────────────────────────────────────────────


def changed_matrix(matrix: Any, row: int, column: int, value: float) -> Any:
    out = matrix.copy()
    out[row, column] = value
    return out


CHANGES = {
    "X": [
        changed_matrix(X, 0, 0, 1.0000001), changed_matrix(X, 3, 1, 1), X[[1, 0, 2, 3]], X[:, ::-1],
        np.column_stack([X, np.zeros(4)]), -X,
    ],
    "Y": [changed_matrix(Y, 2, 0, 1), changed_matrix(Y, 0, 0, 0), Y[::-1], Y[:, ::-1]],
    "texts": [None, ["one", "two", "three", " "], ["onet", "wo", "three", ""], ["", "one", "two", "three"]],
    "label names": [None, ["a", "bc"], ["c", "ab"], ["ab", "C"], ["ab", "c\0"]],
    "label features": [None, changed_matrix(F, 1, 1, 3), F[::-1], F[:, :3], np.column_stack([F, np.zeros(2)])],
}  # fmt: skip


@pytest.mark.parametrize(("part", "number"), [(part, i) for part, some in CHANGES.items() for i in range(len(some))])
def test_a_change_of_one_thing_changes_its_hash_and_no_other(part: str, number: int) -> None:
    before = made().fingerprint
    after = made(**{part.replace(" ", "_"): CHANGES[part][number]}).fingerprint
    assert {name for name in before if before[name] != after[name]} == {part}


def test_what_is_the_same_has_the_same_hash() -> None:
    first = made().fingerprint
    assert set(first) == {"X", "Y", "texts", "label names", "label features"}
    other = made(
        X=sp.csc_array(X.astype(np.float64)), Y=sp.csr_array((Y * 2).astype(int)), texts=tuple(TEXTS),
        label_names=StringTable.of(NAMES), label_features=sp.coo_array(F),
    )  # fmt: skip
    assert other.fingerprint == first
    assert made(texts=StringTable.of(TEXTS), label_names=(name for name in NAMES)).fingerprint == first
    assert first["X"].startswith("4×3 ")
    assert first["texts"].startswith("4 ")
    nothing = TrainingData.of(X, Y).fingerprint
    assert [name for name, value in nothing.items() if value is None] == ["texts", "label names", "label features"]


# ── what a model is made from ───────────────────────────────────────────────────────────────────────────────────────


def given(path: Path, **params: Any) -> xt.LinearTree:
    return xt.LinearTree(index=xt.GivenTree(path=str(path)), **{"threads": 1, **params})


@pytest.fixture
def hierarchy(tmp_path: Path) -> Path:
    path = tmp_path / "hierarchy.tsv"
    path.write_text("ab\tgroup\nc\tgroup\ngroup\t\n")
    return path


def test_a_model_is_made_from_data_parameters_and_the_files_they_name(hierarchy: Path) -> None:
    data = made()
    first = given(hierarchy).made_from(data)
    assert first["version"] == xt.__version__
    assert {name: first[name] for name in data.fingerprint} == data.fingerprint
    assert list(first["files"]) == [str(hierarchy)]
    for params, changes in (
        ({"threads": 2, "memory_limit": "1GB"}, set()),  # of this computer only
        ({"beam": 3, "search": "best-first"}, set()),  # asked for later
        ({"cost": 3.0}, {"params"}),
        ({"seed": 1}, {"params"}),
        ({"transform": "sigmoid"}, {"params"}),  # counts in training too
    ):
        now = given(hierarchy, **{"threads": 1, **params}).made_from(data)
        assert {name for name in first if now[name] != first[name]} == changes, params
    assert given(hierarchy).made_from(made(texts=None)) != first

    os.utime(hierarchy, (1, 1))
    assert given(hierarchy).made_from(data) == first
    hierarchy.write_text("ab\tgroup\nc\tgroop\ngroup\t\n")  # as long as before
    second = given(hierarchy).made_from(data)
    assert {name for name in first if first[name] != second[name]} == {"files"}
    hierarchy.unlink()
    assert given(hierarchy).made_from(data)["files"] == {str(hierarchy): None}
    assert xt.LinearTree().made_from(data)["files"] == {}


def test_files_of_models_within_models_count(hierarchy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("ab\t\nc\t\n")
    model = xt.Ensemble(models=[xt.LinearTree(), xt.Reranked(base=given(hierarchy)), given(other)])
    first = model.made_from(made())
    assert set(first["files"]) == {str(hierarchy), str(other)}
    other.write_text("c\t\nab\t\n")
    assert model.made_from(made())["files"] != first["files"]
    assert model.made_from(made())["files"][str(hierarchy)] == first["files"][str(hierarchy)]


def test_a_training_does_not_go_on_after_its_file_was_changed(hierarchy: Path, tmp_path: Path) -> None:
    data = made(label_features=None)
    first = given(hierarchy).fit(data, checkpoint=tmp_path / "c")
    again = given(hierarchy).fit(data, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(again.predict(X, 2).scores, first.predict(X, 2).scores)
    with pytest.raises(xt.StoreError, match="belongs to another training: label names is"):
        given(hierarchy).fit(X, Y, texts=TEXTS, label_names=["ab", "group"], checkpoint=tmp_path / "c")
    hierarchy.write_text("ab\t\nc\tab\n")
    with pytest.raises(xt.StoreError, match=r"belongs to another training: .*hierarchy\.tsv is"):
        given(hierarchy).fit(data, checkpoint=tmp_path / "c")
    first.discard_checkpoint()
    assert not (tmp_path / "c").exists()
    assert given(hierarchy).fit(data, checkpoint=tmp_path / "c").fitted


def test_files_and_folders_by_what_they_hold(tmp_path: Path) -> None:
    folder, lone = tmp_path / "model", tmp_path / "lone"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_bytes(b"one")
    (folder / "deep" / "b").write_bytes(b"two")
    lone.write_bytes(b"one")

    def now() -> Any:
        return hash_files([folder])[str(folder)]

    first = now()
    assert first.startswith("2 ")
    assert now() == first
    assert hash_files([lone])[str(lone)] != first
    (folder / "deep" / "b").rename(folder / "deep" / "c")
    renamed = now()
    assert renamed != first
    (folder / "deep" / "c").write_bytes(b"owt")
    assert now() not in (first, renamed)
    (folder / "deep" / "c").rename(folder / "deep" / "b")
    (folder / "a").write_bytes(b"onet")  # a byte over the border between two files
    (folder / "deep" / "b").write_bytes(b"wo")
    assert now() != first
    assert hash_files([tmp_path / "nothing"]) == {str(tmp_path / "nothing"): None}
    (tmp_path / "empty").mkdir()
    assert hash_files([tmp_path / "empty"]) == {str(tmp_path / "empty"): None}


def test_of_large_files_both_ends_and_the_size_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SAMPLED", 4)
    path = tmp_path / "large"

    def hashed(content: bytes) -> Any:
        path.write_bytes(content)
        return hash_files([path])[str(path)]

    first = hashed(b"abcd....wxyz")
    assert hashed(b"abcd...wxyz") != first
    assert hashed(b"abcD....wxyz") != first
    assert hashed(b"abcd....Wxyz") != first
    assert hashed(b"abcd.,,.wxyz") == first
    for small in (b"abcdefg", b"abcdefgh", b"a", b""):  # up to twice as much, every byte counts
        for i in range(len(small)):
            assert hashed(small[:i] + b"_" + small[i + 1 :]) != hashed(small)
