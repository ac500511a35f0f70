"""Label cells of CSV files that pandas wrote."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xtrellis as xt


def read(tmp_path, *cells, column="labels", **options):
    path = tmp_path / "data.csv"
    path.write_text(f"text,{column}\n" + "".join(f'a text,"{cell.replace(chr(34), chr(34) * 2)}"\n' for cell in cells))
    data = xt.read(path, **options)
    return [data.labels_of(i) for i in range(data.n_rows)]


@pytest.mark.parametrize("column", ["labels", "label"])
def test_lists_are_lists(tmp_path, column):
    cells = ["['cheese', 'sauce']", "['cheese']", "[]", '["it\'s"]', "('b', 'a')", "['a; b | c',\n 'd']"]
    assert read(tmp_path, *cells, column=column) == [
        ["cheese", "sauce"], ["cheese"], [], ["it's"], ["a", "b"], ["a; b | c", "d"],
    ]  # fmt: skip


def test_what_pandas_writes(tmp_path):
    frame = pd.DataFrame({"text": ["a cat", "a dog"], "labels": [["it's", 'a "c"'], []]})
    frame.to_csv(tmp_path / "frame.csv")  # with its index as a column
    data = xt.read(tmp_path / "frame.csv")
    assert [data.labels_of(i) for i in range(2)] == [['a "c"', "it's"], []]


def test_what_only_begins_like_one_is_a_name(tmp_path):
    assert read(tmp_path, "[sic]; x", "(a)", "{b}") == [["[sic]", "x"], ["(a)"], ["{b}"]]


def test_arrays_that_lost_their_commas_are_refused(tmp_path):
    with pytest.raises(xt.DataError, match=r"looks like a list but is none.*'one', 'two'"):
        read(tmp_path, "['cheese' 'sauce']")


def test_a_separator_overrides(tmp_path):
    assert read(tmp_path, "['a', 'b']", label_separator=",") == [["'b']", "['a'"]]


def test_a_name_that_would_be_read_as_a_list_is_not_written(tmp_path):
    data = xt.Dataset(None, np.eye(2), texts=["x", "y"], label_names=["['a']", "b"])
    with pytest.raises(xt.InputError, match="would be read as a list"):
        xt.write(data, tmp_path / "out.csv")
    xt.write(data, tmp_path / "out.csv", label_separator="|")
    assert xt.read(tmp_path / "out.csv", label_separator="|").labels_of(0) == ["['a']"]
