from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core.rng import key
from xtrellis.data.dataset import split_rows


def small(**extra: object) -> xt.Dataset:
    X = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    return xt.Dataset(X, Y, **extra)  # type: ignore[arg-type]


def test_what_goes_in_is_converted_and_counted() -> None:
    data = small(label_names=["a", "b"], texts=("x", "y", "z"))
    assert (data.n_rows, data.n_labels, data.n_features, len(data)) == (3, 2, 3, 3)
    assert data.X is not None
    assert data.X.dtype == np.float32
    assert data.X.indptr.dtype == data.X.indices.dtype == np.int32
    assert data.X.tocoo().nnz == data.X.nnz  # SciPy's own functions work on it
    assert data.Y.data.tolist() == [1, 1, 1]
    assert data.texts == ["x", "y", "z"]
    assert data.labels_of(2) == ["a", "b"]
    assert small().labels_of(0) == ["0"]
    assert data.labels_of(-1) == ["a", "b"]
    with pytest.raises(IndexError):
        data.labels_of(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"X": None}, "features .X. or texts"),
        ({"Y": np.ones((2, 2))}, "Y has 2 rows; X has 3"),
        ({"texts": ["a"]}, "1 texts for 3 rows"),
        ({"texts": ["a", "b", 3]}, r"texts\[2\] is 3 \(int\)"),
        ({"texts": "abc"}, "a list of strings; got one str"),
        ({"label_names": ["a"]}, "label_names has 1 names; there are 2 labels"),
        ({"feature_names": ["a"]}, "feature_names has 1 names; there are 3 features"),
        ({"X": None, "texts": ["a", "b", "c"], "feature_names": ["a"]}, "without features"),
        ({"X": np.full((3, 3), np.nan)}, "finite"),
        ({"excluded": np.ones((3, 5))}, "excluded has 5 labels"),
    ],
)
def test_inconsistent_parts_are_refused(fields: dict[str, object], message: str) -> None:
    parts: dict[str, object] = {"X": np.eye(3), "Y": np.ones((3, 2)), **fields}
    with pytest.raises(xt.InputError, match=message):
        xt.Dataset(**parts)  # type: ignore[arg-type]


def test_excluded_pairs_leave_y() -> None:
    data = small(excluded=np.array([[1, 0], [0, 1], [0, 1]]))
    assert data.Y.toarray().tolist() == [[0, 0], [0, 0], [1, 0]]
    assert data.select([2]).excluded.toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "rows", [[2, 0], np.array([-1, 0]), slice(None, None, -2), [2, 0, 2], [], np.array([True, False, True])]
)
def test_select_is_numpy_indexing(rows: object) -> None:
    data = small(texts=["x", "y", "z"], label_names=["a", "b"])
    got = data.select(rows)
    chosen = np.arange(3)[np.asarray(rows, dtype=None if len(rows) else int) if isinstance(rows, list) else rows]  # type: ignore[arg-type,index]
    assert got.X.toarray().tolist() == data.X.toarray()[chosen].tolist()
    assert got.Y.toarray().tolist() == data.Y.toarray()[chosen].tolist()
    assert got.texts == [data.texts[i] for i in chosen]
    assert got.label_names == ["a", "b"]


@pytest.mark.parametrize("rows", [[3], [-4], [0.5], [[0]], [True]])
def test_select_refuses_what_is_not_rows(rows: object) -> None:
    with pytest.raises(xt.InputError):
        small().select(rows)


def test_a_rows_side_depends_on_seed_and_position_alone() -> None:
    train, held = split_rows(1000, holdout=0.3, seed=5)
    assert sorted([*train, *held]) == list(range(1000))
    assert held.tolist() == [i for i in range(1000) if (key(5, "split", i) >> 11) * 2.0**-53 < 0.3]
    assert held[held < 500].tolist() == split_rows(500, holdout=0.3, seed=5)[1].tolist()
    assert set(split_rows(1000, holdout=0.1, seed=5)[1]) < set(held)
    assert held.tolist() != split_rows(1000, holdout=0.3, seed=6)[1].tolist()
    assert 250 < len(held) < 350


def test_split_keeps_columns() -> None:
    data = small(label_names=["a", "b"])
    train, held = data.split(holdout=0.5, seed=1)
    assert len(train) + len(held) == 3
    assert train.Y.shape[1] == held.Y.shape[1] == 2
    for holdout in (0, 1.5, -1, "x"):
        with pytest.raises(xt.ParameterError, match="holdout"):
            data.split(holdout=holdout)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["csc", "coo", "bsr"])
def test_matrices_that_point_outside_themselves_are_refused(kind: str) -> None:
    bad = sp.csr_array(np.eye(4)).asformat(kind)
    if kind == "coo":
        bad.coords[0][1] = 9
    else:
        bad.indices[1] = 10**6
    with pytest.raises(xt.InputError, match=f"not a valid {kind}"):
        xt.Dataset(bad, np.ones((4, 1)))
