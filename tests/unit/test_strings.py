"""Strings in two arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtrellis.arrays.strings import StringTable
from xtrellis.core.errors import InputError, StoreError

ANY = st.lists(st.text(st.characters()))  # surrogates too


@given(ANY)
def test_it_is_the_list_it_was_made_of(strings):
    table = StringTable.of(strings)
    assert len(table) == len(strings)
    assert list(table) == strings
    assert table == strings
    assert table[::2] == strings[::2]
    assert StringTable.from_arrays(table.to_arrays("x"), "x") == table
    for i, string in enumerate(strings):
        assert table[i] == table[i - len(strings)] == string
        assert table.find(string) == strings.index(string)


def test_it_is_a_sequence():
    table = StringTable.of(["a", "", "é💡", "a"])
    assert "é💡" in table
    assert table.index("a") == 0
    assert table.count("a") == 2
    assert table.find("b") is None
    assert table[np.int64(2)] == "é💡"
    for outside in (4, -5):
        with pytest.raises(IndexError):
            table[outside]
    with pytest.raises(IndexError):
        StringTable.of([])[0]
    assert repr(table) == "StringTable(['a', '', 'é💡', …], n=4)"
    assert repr(StringTable.of([])) == "StringTable([], n=0)"
    assert StringTable.of(table) is table
    assert StringTable.of(iter(["x"])) == ["x"]


def test_equality():
    assert StringTable.of(["ab", "c"]) != StringTable.of(["a", "bc"])
    assert StringTable.of(["a"]) != ["b"]
    assert StringTable.of(["a", "b"]) != "ab"
    assert StringTable.of(["a"]) != 3
    with pytest.raises(TypeError):
        hash(StringTable.of([]))


@pytest.mark.parametrize("wrong", ["one string", [1, 2], ["a", None], [b"x"], None, 3])
def test_only_strings(wrong):
    with pytest.raises(InputError, match="a list of strings is needed"):
        StringTable.of(wrong)


TEXT = np.frombuffer(b"abcdef", np.uint8)
BIG = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        (TEXT, np.array([], np.int64)),
        (TEXT, np.array([1, 6])),
        (TEXT, np.array([0, 5])),
        (TEXT, np.array([0, 7])),
        (TEXT, np.array([0, 4, 2, 6])),
        (TEXT, np.array([0, -1, 6])),
        (TEXT, np.array([0, BIG, -BIG - 1, -1, 6])),  # every difference wraps around to a positive one
        (TEXT, np.array([0, 6], np.int32)),
        (TEXT, np.array([[0, 6]])),
        (TEXT.astype(np.int8), np.array([0, 6])),
        (TEXT.reshape(2, 3), np.array([0, 6])),
    ],
)
def test_arrays_that_do_not_fit_are_refused(text, offsets):
    with pytest.raises(StoreError, match=r"n\.offsets"):
        StringTable.from_arrays({"n.text": text, "n.offsets": offsets}, "n")


def test_missing_arrays_are_named():
    with pytest.raises(StoreError, match=r"'n\.offsets' is missing"):
        StringTable.from_arrays({"n.text": TEXT}, "n")


def test_bytes_that_are_no_text():
    table = StringTable.from_arrays({"n.text": np.array([0xFF, 97], np.uint8), "n.offsets": np.array([0, 1, 2])}, "n")
    assert table[1] == "a"
    with pytest.raises(StoreError, match="string 0 of 2 is not UTF-8"):
        table[0]


def test_some_of_them():
    table = StringTable.of(["a", "", "ä€", "\ud800", "last"])
    assert table.some([4, 2, 2, 1, 3]) == ["last", "ä€", "ä€", "", "\ud800"]
    assert table.some([]) == []
    stored = StringTable(table.text, table.offsets.astype(np.dtype("<i8")))  # as files name what is native here
    assert stored.some([2]) == ["ä€"]
    with pytest.raises(StoreError, match="string 1 of 2 is not UTF-8"):
        StringTable(np.frombuffer(b"a\xff", np.uint8), np.array([0, 1, 2])).some([0, 1])
