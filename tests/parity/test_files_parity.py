"""Kernels that read rows from files beside the same kernels on arrays in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis._native import cluster, labels, linear
from xtrellis.store import row_files


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of very different lengths, some empty; mapped."""
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(0, 30, 2000), [9000, 0, 0, 8500], rng.integers(0, 5, 300)])
    columns = [np.sort(rng.choice(10_000, length, replace=False)) for length in lengths]
    X = sp.csr_array(
        (rng.random(lengths.sum(), np.float32), np.concatenate(columns), np.concatenate([[0], np.cumsum(lengths)])),
        shape=(len(lengths), 10_000),
    )
    Y = sp.csr_array(np.ones((len(lengths), 1), np.float32))
    folder = tmp_path_factory.mktemp("rows") / "data.xt"
    xt.write(xt.Dataset(X, Y), folder)
    found = xt.open(folder).X._checked
    assert row_files(found) is not None
    assert row_files(X) is None
    return found


def test_slices_of_files_are_found(rows, tmp_path):
    xt.write(xt.Dataset(sp.csr_array(rows.toarray()), sp.csr_array(np.ones((rows.shape[0], 1)))), tmp_path / "d.xt")
    part = xt.open(tmp_path / "d.xt").select(slice(500, 900)).X._checked
    ids, ids_at, values, values_at = row_files(part).tolist()
    assert ids_at == values_at == 4 * int(rows.indptr[500])
    assert ids != values


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2, 0.01])
def test_label_vectors(rows, share):
    """From all rows one after another to a few here and there."""
    rng = np.random.default_rng(1)
    chosen = [np.flatnonzero(rng.random(rows.shape[0]) < share).astype(np.int32) for _ in range(8)]
    offsets = np.concatenate([[0], np.cumsum([len(some) for some in chosen])]).astype(np.int64)
    members = np.concatenate(chosen)
    args = (offsets, members, rng.random(len(members), np.float32), rows.indptr, rows.indices, rows.data, 10_000, 0, 8)
    for one, other in zip(labels.pifa(*args), labels.pifa(*args, row_files(rows)), strict=True):
        assert np.array_equal(one, other)


def test_splits(rows):
    found = []
    for files in (None, row_files(rows)):
        members = np.arange(rows.shape[0], dtype=np.int32)
        cluster.split_balanced(
            rows.indptr, rows.indices, rows.data, 10_000, members, np.array([0, 700, rows.shape[0]]),
            np.array([3, 4], np.uint64), iterations=5, tolerance=1e-4, objectives=np.zeros(2), files=files,
        )  # fmt: skip
        found.append(members)
    assert np.array_equal(*found)


@pytest.mark.parametrize("loss", [0, 1])
def test_blocks(rows, loss, tmp_path):
    rng = np.random.default_rng(2)
    chosen = np.flatnonzero(rng.random(rows.shape[0]) < 0.6).astype(np.int32)
    positives = rng.integers(0, 40, len(chosen)).astype(np.int32)
    args = (
        rows.indptr, rows.indices, rows.data, 10_000, chosen, np.arange(len(chosen) + 1), positives,
        np.zeros(0, np.float32),
    )  # fmt: skip
    how = {
        "first": 0, "count": 40, "bias": 1.0, "loss": loss, "cost_positive": 1.0, "cost_negative": 1.0,
        "tolerance": 0.01, "epochs": 30, "threshold": 0.01, "max_weights": 0, "key": 7,
    }  # fmt: skip
    expected = linear.train(*args, **how)
    for files in (None, row_files(rows)):
        for spilled in ((0, 0), (1 << 12, 0), (1 << 12, 1 << 12), (1 << 12, 0, 100_000), (1 << 12, 0, 1 << 30)):
            linear.spill_to(str(tmp_path), *spilled)
            try:
                found = linear.train(*args, **how, files=files)
            finally:
                linear.spill_to("", 0, 0)
            for one, other in zip(expected, found, strict=True):
                assert np.array_equal(one, other)
    assert not list(tmp_path.iterdir())


def test_a_file_that_ends_too_soon_is_told(rows):
    files = row_files(rows)
    files[1] += 4 * int(rows.indptr[-1]) - 40  # reading begins at the end
    args = (np.array([0, 1]), np.array([2000], np.int32), np.ones(1, np.float32), rows.indptr, rows.indices, rows.data)
    with pytest.raises(RuntimeError, match="cannot be read"):
        labels.pifa(*args, 10_000, 0, 1, files)
