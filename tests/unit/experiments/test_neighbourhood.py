"""A few rows of a data set that share labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.experiments.data import prepare
from xtrellis.experiments.neighbourhood import neighbourhood


@pytest.fixture(scope="module")
def parts() -> tuple[xt.Dataset, xt.Dataset]:
    train, test = xt.synthetic(n_rows=800, n_labels=300, n_features=200, seed=0).split(0.25, seed=0)
    return train, test


def test_rows_share_labels(parts: tuple[xt.Dataset, xt.Dataset]) -> None:
    train, _ = parts
    near, _ = neighbourhood(*parts, 100)
    drawn = train.select(np.random.default_rng(0).permutation(train.n_rows)[:100])
    assert near.n_rows == 100
    assert near.Y.nnz / near.n_labels > drawn.Y.nnz / len(np.unique(drawn.Y.indices))


def test_parts_fit_together(parts: tuple[xt.Dataset, xt.Dataset]) -> None:
    near, of_test = neighbourhood(*parts, 100)
    assert near.n_labels == of_test.n_labels
    assert near.n_features == of_test.n_features
    assert near.X is not None
    assert len(np.unique(near.Y.indices)) == near.n_labels  # nothing is left over
    assert len(np.unique(near.X.indices)) == near.n_features
    assert (np.diff(of_test.Y.indptr) > 0).all()
    assert 0 < of_test.n_rows < parts[1].n_rows


def test_test_rows_keep_the_labels_that_are_there() -> None:
    X, names = np.eye(4, dtype=np.float32), [str(i) for i in range(6)]
    train = xt.Dataset(X, np.eye(4, 6), label_names=names)
    test = xt.Dataset(X[:3], [[1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]], label_names=names)
    near, few = neighbourhood(train, test, 4)
    assert list(near.label_names or ()) == names[:4]
    assert {tuple(few.labels_of(i)) for i in range(few.n_rows)} == {("0",), ("0", "1")}


def test_the_same_rows_each_time_and_no_more_than_there_are(parts: tuple[xt.Dataset, xt.Dataset]) -> None:
    first, second = (neighbourhood(*parts, 50)[0] for _ in range(2))
    assert first.X is not None
    assert second.X is not None
    assert (first.X != second.X).nnz == 0
    assert neighbourhood(*parts, 10**6)[0].n_rows <= parts[0].n_rows


def test_asked_for_by_name(parts: tuple[xt.Dataset, xt.Dataset], tmp_path: Path) -> None:
    for name, part in zip(("train", "test"), parts, strict=True):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    few = prepare(f"{tmp_path}@60", threads=1)
    assert few.name == f"{tmp_path}@60"
    assert few.train.n_rows == 60
