"""Label columns of one data set as those of another, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis.arrays.strings import StringTable
from xtrellis.data.align import align, labels_from_pairs

NAMES = StringTable.of(["ant", "bee", "cat", "dog"])
FOUND = ["dog", "eel", "bee", "fox"]
Y = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], np.float32)


def dataset(labels: Any = Y, names: Any = FOUND, **more: Any) -> xt.Dataset:
    return xt.Dataset(np.eye(len(labels), dtype=np.float32), labels, label_names=names, **more)


def test_unknown_labels_are_dropped_and_counted() -> None:
    data = dataset(name="zoo", texts=list("abcd"), feature_names=list("pqrs"))
    out = align(data, NAMES)
    assert list(out.label_names) == list(NAMES)
    assert out.Y.toarray().tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert out.dropped_labels == 4
    assert align(dataset(dropped_labels=3), NAMES, unknown="drop").dropped_labels == 7
    assert (out.name, out.texts, list(out.feature_names)) == ("zoo", list("abcd"), list("pqrs"))
    assert (out.X != data.X).nnz == 0
    assert data.Y.toarray().tolist() == Y.tolist()


def test_unknown_labels_keep_columns_after_the_others() -> None:
    out = align(dataset(), NAMES, unknown="keep")
    assert list(out.label_names) == ["ant", "bee", "cat", "dog", "eel", "fox"]
    assert out.Y.toarray().tolist() == [
        [0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 1, 1]
    ]  # fmt: skip
    assert out.dropped_labels == 0
    for row in range(4):
        assert sorted(out.labels_of(row)) == sorted(dataset().labels_of(row))


@pytest.mark.parametrize("unknown", ["drop", "keep"])
def test_excluded_pairs_move_with_their_labels(unknown: Any) -> None:
    excluded = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    out = align(dataset(excluded=excluded), NAMES, unknown=unknown)
    expected = np.zeros((4, 4 if unknown == "drop" else 6))
    expected[0, 1] = expected[2, 3] = 1
    if unknown == "keep":
        expected[1, 4] = expected[2, 5] = 1
    assert out.excluded.toarray().tolist() == expected.tolist()
    assert align(dataset(), NAMES, unknown=unknown).excluded is None


@pytest.mark.parametrize("unknown", ["drop", "keep"])
def test_the_same_names_change_nothing(unknown: Any) -> None:
    data = dataset(names=list(NAMES))
    assert align(data, NAMES, unknown=unknown) is data
    known = align(dataset(names=["dog", "cat", "bee", "ant"]), NAMES, unknown=unknown)
    assert known.Y.toarray().tolist() == Y[:, ::-1].tolist()
    assert list(known.label_names) == list(NAMES)


def test_without_names_numbers_must_mean_the_same() -> None:
    narrow = align(dataset(Y[:, :2], None), NAMES, unknown="keep")
    assert narrow.Y.toarray().tolist() == np.column_stack([Y[:, :2], np.zeros((4, 2))]).tolist()
    assert list(narrow.label_names) == list(NAMES)
    wide = np.column_stack([Y, np.zeros((4, 3))])  # more columns, of which none is used
    assert align(dataset(wide, None), NAMES, unknown="keep").Y.toarray().tolist() == Y.tolist()
    for other in (Y[:, :2], wide):  # to read with a model's labels, nothing may be left to guess
        with pytest.raises(xt.InputError, match=r"labels and no names for them; expected 4"):
            align(dataset(other, None), NAMES)
    assert align(dataset(Y, None), NAMES).Y.toarray().tolist() == Y.tolist()
    wide[2, 4] = 1
    for unknown in ("drop", "keep"):
        with pytest.raises(xt.InputError, match="the data has 7 labels and no names for them; 4 are known"):
            align(dataset(wide, None), NAMES, unknown=unknown)


@pytest.mark.parametrize("unknown", ["keep"])
def test_excluded_pairs_beyond_the_known_labels_do_not_move_to_other_rows(unknown: Any) -> None:
    wide = np.column_stack([Y, np.zeros((4, 3))])
    excluded = np.zeros((4, 7))
    excluded[0, 5] = excluded[1, 4] = excluded[1, 0] = 1
    out = align(dataset(wide, None, excluded=excluded), NAMES, unknown=unknown)
    assert out.excluded.toarray().tolist() == excluded[:, :4].tolist()
    assert out.Y.toarray().tolist() == Y.tolist()


def test_names_that_mean_two_columns_are_refused() -> None:
    with pytest.raises(xt.ParameterError, match="distinct names; 'ant' occurs twice"):
        align(dataset(), StringTable.of(["bee", "ant", "ant"]))


def test_columns_of_one_name_become_one() -> None:
    out = align(dataset(names=["dog", "dog", "bee", "fox"]), NAMES)
    assert out.Y.toarray().tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1]]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True),
    st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_it_is_what_a_loop_would_do(found: list[str], names: list[str], seed: int) -> None:
    labels = np.random.default_rng(seed).random((3, len(found))) < 0.4
    data = dataset(labels.astype(np.float32), found)
    kept, cut = align(data, StringTable.of(names), unknown="keep"), align(data, StringTable.of(names))
    assert list(kept.label_names)[: len(names)] == names == list(cut.label_names)
    dropped = 0
    for row in range(3):
        has = [name for name, there in zip(found, labels[row], strict=True) if there]
        assert sorted(kept.labels_of(row)) == sorted(has)
        assert sorted(cut.labels_of(row)) == sorted(name for name in has if name in names)
        dropped += sum(name not in names for name in has)
    assert cut.dropped_labels == dropped


def test_labels_from_pairs() -> None:
    out = labels_from_pairs(np.array([2, 0, 2, 2, 0]), np.array([1, 4, 0, 1, 0]), (4, 5))
    assert out.toarray().tolist() == [[1, 0, 0, 0, 1], [0] * 5, [1, 1, 0, 0, 0], [0] * 5]
    assert (out.data.dtype, out.indices.dtype, out.indptr.dtype) == (np.float32, np.int32, np.int64)
    assert labels_from_pairs(np.zeros(0, int), np.zeros(0, int), (2, 0)).shape == (2, 0)
