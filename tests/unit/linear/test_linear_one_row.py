"""One csr row goes straight to the kernel: the same answers, and the same errors, as by the long way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.linear.search import search_one


@pytest.fixture(scope="module", params=[True, False], ids=["unit", "as they are"])
def model(request):
    data = xt.synthetic(n_rows=400, n_labels=300, n_features=200, seed=3)
    index = xt.BalancedTree(arity=4, max_leaf=10)
    return xt.LinearTree(index=index, seed=1, threads=1, normalize_rows=request.param, beam=3).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def rows():
    X = sp.csr_matrix(xt.synthetic(n_rows=40, n_labels=300, n_features=200, seed=3, first_row=400).X, dtype=np.float32)
    X.data *= np.linspace(0.3, 3, X.nnz, dtype=np.float32)  # not of unit length
    return sp.vstack([X, sp.csr_matrix((1, 200), dtype=np.float32)], format="csr")  # the last one is empty


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)
    assert a.n_labels == b.n_labels


def test_the_same_bits_as_in_a_batch(model, rows):
    whole = model.predict(rows, k=7)
    for i in range(rows.shape[0]):
        row = rows[[i]]
        one = search_one(model.trees[0], row, 7, 3, unit=model.normalize_rows)
        same(one, model.predict(row, k=7))
        same(one, xt.TopK(whole.labels[[i]], whole.scores[[i]], 300))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_is_well_formed_takes_the_short_way(model, rows, dtype):
    row = rows[[0]]
    row.indptr = row.indptr.astype(dtype)
    same(search_one(model.trees[0], row, 5, 3, unit=model.normalize_rows), model.predict(row, k=5))
    loose = sp.csr_matrix((1, 200), dtype=np.float32)  # holds more than it uses
    loose.data, loose.indices = np.append(row.data, np.float32(9)), np.append(row.indices, np.int32(1))
    loose.indptr = row.indptr
    same(search_one(model.trees[0], loose, 5, 3, unit=model.normalize_rows), model.predict(row, k=5))


def test_anything_else_takes_the_long_way(model, rows):
    row, tree = rows[[0]], model.trees[0]
    backwards = sp.csr_matrix((row.data[::-1].copy(), row.indices[::-1].copy(), row.indptr), shape=row.shape)
    doubles = row.astype(np.float64)
    for odd in (row.toarray(), row.tocsc(), backwards, doubles, rows[:2], row.toarray().tolist(), None):
        assert search_one(tree, odd, 5, 3, unit=model.normalize_rows) is None
    for odd in (row.toarray(), row.tocsc(), backwards, doubles):
        same(model.predict(odd, k=5), model.predict(row, k=5))


def test_errors_stay_what_they_are(model, rows):
    with pytest.raises(xt.InputError, match="trained with 200"):
        model.predict(sp.csr_matrix((1, 199), dtype=np.float32))
    wrong = rows[[0]]
    wrong.data[0] = np.nan
    with pytest.raises(xt.InputError, match="must be finite"):
        model.predict(wrong)
    wrong.data[0] = 1e30
    with pytest.raises(xt.InputError, match="must lie within"):
        model.predict(wrong)


def test_more_labels_than_there_are(model, rows):
    assert model.predict(rows[[0]], k=10_000).labels.shape == (1, 300)
