"""Labels in the forms that people have them in: understood, or refused with the cure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MultiLabelBinarizer

import xtrellis as xt
from xtrellis.arrays import as_features, as_labels
from xtrellis.core import InputError

IDS = [[3, 17], [5], [], [17, 0, 5]]


def expected(lists, width):
    out = np.zeros((len(lists), width), np.float32)
    for row, labels in enumerate(lists):
        out[row, list(labels)] = 1
    return out


@pytest.mark.parametrize(
    "given",
    [
        IDS,
        tuple(map(tuple, IDS)),
        [set(row) for row in IDS],
        [np.array(row, np.int64) for row in IDS],
        np.array([np.array(row, np.int64) for row in IDS], dtype=object),
        pd.Series(IDS),
    ],
)
def test_lists_of_ids(given):
    np.testing.assert_array_equal(as_labels(given).toarray(), expected(IDS, 18))
    np.testing.assert_array_equal(as_labels(given, n_labels=30).toarray(), expected(IDS, 30))


def test_lists_of_ids_of_one_length_are_not_a_matrix():
    np.testing.assert_array_equal(as_labels([[3, 17], [5, 8]]).toarray(), expected([[3, 17], [5, 8]], 18))
    model = xt.LinearTree().fit(np.eye(2, dtype=np.float32), [[3, 17], [5, 8]])
    assert model.n_labels == 18
    report = xt.evaluate([[3, 17], [5, 8]], model.predict(np.eye(2, dtype=np.float32), 2), ["P@2"])
    assert report["P@2"] == 100


def test_an_id_that_comes_twice_counts_once():
    np.testing.assert_array_equal(as_labels([[2, 2], [1]]).toarray(), expected([[2], [1]], 3))


def test_matrices_stay_matrices():
    matrix = [[0, 1, 1], [1, 0, 0]]
    np.testing.assert_array_equal(as_labels([[0, 1], [1, 0]]).toarray(), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(as_labels([[0, 1], [1, 0]], n_labels=3).toarray(), [[1, 1, 0], [1, 1, 0]])
    for given in (np.array(matrix), sp.csr_array(np.array(matrix)), matrix, [[0.0, 1, 1], [1, 0, 0]]):
        np.testing.assert_array_equal(as_labels(given).toarray(), matrix)
    binarized = MultiLabelBinarizer().fit_transform([["a", "b"], ["c"]])
    np.testing.assert_array_equal(as_labels(binarized).toarray(), [[1, 1, 0], [0, 0, 1]])


def test_names_with_their_numbers():
    names = ["apple", "pear", "plum"]
    X = np.eye(2, dtype=np.float32)
    data = xt.Dataset(X, [["plum", "apple"], ["pear"]], label_names=names)
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 1, 0]])
    assert xt.LinearTree().fit(X, [["plum"], ["pear"]], label_names=names).n_labels == 3
    with pytest.raises(xt.InputError, match="'fig', which is not among label_names"):
        xt.LinearTree().fit(X, [["plum"], ["fig"]], label_names=names)


def test_tables():
    np.testing.assert_array_equal(as_labels(pd.DataFrame({"a": [0, 1], "b": [1, 1]})).toarray(), [[0, 1], [1, 1]])
    np.testing.assert_array_equal(as_features(pd.DataFrame({"a": [0.5, 1], "b": [2, 0]})).toarray(), [[0.5, 2], [1, 0]])
    with pytest.raises(xt.InputError, match="column 'b' of the DataFrame does not"):
        as_features(pd.DataFrame({"a": [0.5, 1], "b": ["x", "y"]}))
    with pytest.raises(xt.InputError, match=r"pass one column of lists, frame\['labels'\]"):
        as_labels(pd.DataFrame({"a": ["x", "y"]}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0], [1]], "an id, or whether it has the only label"),
        ([["a"], ["b", "c"]], r"lists labels by name, such as 'a'.*xt.Tagger"),
        ([3, 5], r"pass \[\[label\] for label in Y\]"),
        (pd.Series([3, 5]), r"pass \[\[label\] for label in Y\]"),
        (np.array([3, 5]), r"pass \[\[label\] for label in Y\]"),
        (["['cheese']", "['sauce']"], "ast.literal_eval"),
        ([[3, -1], [2]], "from 0 to .*; got -1"),
        ([[2**40], [1]], "got 1099511627776"),
        ([[1, [2]], [1]], "must be a matrix of numbers"),
    ],
)
def test_the_rest_is_refused_with_the_cure(given, message):
    with pytest.raises(xt.InputError, match=message):
        as_labels(given)


def test_a_missing_list_is_an_empty_one():
    for missing in (None, float("nan"), np.nan):
        for given in ([[3], missing, [1, 3]], pd.Series([[3], missing, [1, 3]], dtype=object)):
            np.testing.assert_array_equal(as_labels(given).toarray(), expected([[3], [], [1, 3]], 4))


@pytest.mark.parametrize(
    "given",
    [
        np.array([[3, 17], [5, 8]]),
        pd.DataFrame([[3, 17], [5, 8]]),
        [[3.0, 17.0], [5.0, 8.0]],
        np.array([[1.0, 0], [0, 2]]),
    ],
)
def test_ids_in_a_table_are_not_taken_for_0_and_1(given):
    with pytest.raises(
        InputError, match=r"^Y must hold 0 and 1, a column for each label; row \d, column \d is [23]; ids go"
    ):
        xt.LinearTree().fit(np.eye(2, dtype=np.float32), given)
    np.testing.assert_array_equal(as_labels(np.asarray(given) > 0).toarray(), np.asarray(given) > 0)  # the cure
    counts = sp.csr_array(np.asarray(given))
    np.testing.assert_array_equal(as_labels(counts).toarray(), counts.toarray() > 0)  # as somebody counted them


def test_lists_of_floats_are_told_in_words():
    with pytest.raises(InputError, match=r"^Y must have lists of ids, or be a matrix; got 3\.0 in one of its lists$"):
        as_labels([[3.0, 17.0], [5.0]])
