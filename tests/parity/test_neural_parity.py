"""The kernels of native/neural beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from xtrellis._native import neural as native
from xtrellis.arrays.csr import transpose
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.neural.glas.search import LabelIndex
from xtrellis.neural.scoring import exact


def rows(n=40, d=30, density=0.2, seed=0):
    return as_features(sp.random_array((n, d), density=density, format="csr", rng=np.random.default_rng(seed)))


def parts(X):
    return X.indptr, X.indices, X.data


def test_taking_rows_with_and_without_dropout():
    X = rows()
    chosen = np.array([3, 3, 17, 0], np.int32)
    offsets, ids, values = native.take(*parts(X), chosen, 1.0, 5)
    taken = sp.csr_array((values, ids, offsets), shape=(4, 30))
    np.testing.assert_array_equal(taken.toarray(), X.toarray()[chosen])
    big = rows(2000, 300, 0.1)
    everything = np.arange(2000, dtype=np.int32)
    offsets, ids, values = native.take(*parts(big), everything, 0.8, 5)
    kept = sp.csr_array((values, ids, offsets), shape=big.shape).toarray()
    assert abs(len(ids) / big.nnz - 0.8) < 0.01
    full = big.toarray()
    np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])
    # keyed by the row: the same entries stay, whatever comes with it
    lone = native.take(*parts(big), everything[7:8], 0.8, 5)
    np.testing.assert_array_equal(lone[1], ids[offsets[7] : offsets[8]])
    assert (
        len(native.take(*parts(big), everything, 0.8, 6)[1]) != len(ids)
        or (native.take(*parts(big), everything, 0.8, 6)[1] != ids).any()
    )


@pytest.mark.parametrize("columns", [30, 5000, 3_000_000])
def test_a_batch_by_columns(columns):
    rng = np.random.default_rng(1)
    X = sp.csr_array(
        (rng.random(300).astype(np.float32), (rng.integers(0, 25, 300), rng.integers(0, columns, 300))),
        shape=(25, columns),
    )
    X = as_features(X)
    ids, offsets, found, values = native.by_column(*parts(X), columns)
    expected = X.tocsc()
    used = np.flatnonzero(np.diff(expected.indptr))
    np.testing.assert_array_equal(ids, used)
    np.testing.assert_array_equal(np.diff(offsets), np.diff(expected.indptr)[used])
    np.testing.assert_array_equal(found, expected.indices)
    np.testing.assert_array_equal(values, expected.data)


def test_an_empty_batch_by_columns():
    X = as_features(sp.csr_array((3, 10)))
    ids, offsets, found, _ = native.by_column(*parts(X), 10)
    assert (len(ids), offsets.tolist(), len(found)) == (0, [0], 0)


@pytest.mark.parametrize("dim", [1, 16, 37])
def test_sums_of_embeddings_and_their_steps(dim):
    X, rng = rows(), np.random.default_rng(2)
    W = rng.standard_normal((30, dim)).astype(np.float32)
    out = np.empty((40, dim), np.float32)
    native.bag(*parts(X), W, 0, 40, out)
    np.testing.assert_allclose(out, X @ W, atol=1e-5)
    G = rng.standard_normal((40, dim)).astype(np.float32)
    sums = rng.random(30).astype(np.float32)
    gradient = X.T @ G
    new_sums = sums + (gradient**2).sum(1)
    expected = W - (0.3 / (np.sqrt(new_sums) + 1e-8))[:, None] * gradient
    columns = native.by_column(*parts(X), 30)
    change, after, after_sums = np.zeros(dim), W.copy(), sums.copy()
    half = len(columns[0]) // 2
    for span in ((0, half), (half, len(columns[0]))):
        native.update_bag(*columns, *span, G, after, after_sums, 0.3, 1e-8, change)
    np.testing.assert_allclose(after, expected, atol=1e-5)
    np.testing.assert_allclose(after_sums, new_sums, rtol=1e-5)
    np.testing.assert_allclose(change, (expected**2).sum(0) - (W.astype(np.float64) ** 2).sum(0), atol=1e-4)


def test_steps_along_the_sphere():
    rng = np.random.default_rng(3)
    V = rng.standard_normal((9, 20)).astype(np.float32)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    ids, G = np.array([1, 4, 8], np.int32), rng.standard_normal((3, 20)).astype(np.float32)
    after, sums = V.copy(), np.zeros(9, np.float32)
    native.update_unit(ids, G, after, sums, 0.1, 1e-8)
    tangent = G - (G * V[ids]).sum(1, keepdims=True) * V[ids]
    stepped = V[ids] - 0.1 * tangent / np.linalg.norm(tangent, axis=1, keepdims=True)
    np.testing.assert_allclose(after[ids], stepped / np.linalg.norm(stepped, axis=1, keepdims=True), atol=1e-6)
    untouched = np.setdiff1d(np.arange(9), ids)
    np.testing.assert_array_equal(after[untouched], V[untouched])
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1, atol=1e-6)


def test_known_labels_and_meetings():
    rng = np.random.default_rng(4)
    Y = as_labels((rng.random((60, 25)) < 0.15).astype(np.float32))
    block = np.array([0, 3, 4, 11, 20, 24], np.int32)
    chosen = np.array([5, 9, 50], np.int32)
    batch, positions = native.known(Y.indptr, Y.indices, chosen, block)
    dense = np.zeros((3, 6))
    dense[batch, positions] = 1
    np.testing.assert_array_equal(dense, Y.toarray()[chosen][:, block])
    label_rows = transpose(Y)
    expected = (Y.T @ Y).toarray()[np.ix_(block, block)]
    for first, last in ((0, 6), (2, 5)):
        offsets, ids, counts = native.together(
            Y.indptr, Y.indices, label_rows.indptr, label_rows.indices, block, first, last
        )
        found = sp.csr_array((counts, ids, offsets), shape=(last - first, 6)).toarray()
        np.testing.assert_array_equal(found, expected[first:last])


@pytest.mark.parametrize("dim", [5, 16, 64, 100])
def test_the_largest_products(dim):
    rng = np.random.default_rng(5)
    Q, V = (rng.standard_normal((n, dim)).astype(np.float32) for n in (70, 1203))
    products = Q.astype(np.float64) @ V.T.astype(np.float64)
    labels, scores = exact(Q, V, 10, threads=2)
    np.testing.assert_array_equal(labels, np.argsort(-products, axis=1)[:, :10])
    np.testing.assert_allclose(scores, -np.sort(-products, axis=1)[:, :10], rtol=1e-4)
    lone = exact(Q[33:34], V, 10)
    np.testing.assert_array_equal(lone[1][0], scores[33])  # the same bits alone
    out = np.empty((70, 1203), np.float32)
    native.products(Q, V, out)
    np.testing.assert_allclose(out, products, atol=1e-4)


def test_ties_go_to_the_smaller_label_and_few_labels_are_padded():
    Q, V = np.ones((1, 4), np.float32), np.ones((3, 4), np.float32)
    labels, scores = np.empty((1, 5), np.int32), np.empty((1, 5), np.float32)
    native.best_of_all(Q, V, labels, scores)
    assert labels.tolist() == [[0, 1, 2, -1, -1]]
    assert scores.tolist() == [[4, 4, 4, 0, 0]]
    labels, scores = exact(Q, V, 5)  # no more than there are
    assert (labels.tolist(), scores.tolist()) == ([[0, 1, 2]], [[4, 4, 4]])


@pytest.mark.parametrize(("labels", "dim"), [(1, 1), (64, 8), (333, 37), (5000, 24)])
def test_sums_of_codes_are_the_twins(labels, dim):
    """The kernel's sums against those of the codes unpacked again, for every label and byte."""
    rng = np.random.default_rng(labels)
    V = rng.standard_normal((labels, dim)).astype(np.float32)
    index = LabelIndex.build(V)
    blocks, width = len(index.codes), index.codes.shape[1] // 64
    table = rng.integers(0, 64, (2 * width, 16)).astype(np.uint8)
    sums = np.empty((blocks, 64), np.uint16)
    native.sum_codes(index.codes, table, sums)
    codes = np.zeros((blocks * 64, 4 * width), np.int64)
    codes[:labels, :dim] = np.abs(V[:, :, None] - index.levels).argmin(axis=2)  # the nearest level
    halves = codes[:, ::2] + 4 * codes[:, 1::2]
    np.testing.assert_array_equal(sums.ravel(), table[np.arange(2 * width), halves].sum(axis=1))


def test_codes_find_what_exact_search_finds_with_the_same_scores():
    rng = np.random.default_rng(6)
    Q, V = (rng.standard_normal((n, 40)).astype(np.float32) for n in (50, 3000))
    index, expected = LabelIndex.build(V), exact(Q, V, 7)
    labels, scores = index.search(Q, V, 7, beam=3000)  # compares all
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_array_equal(scores, expected[1])
    labels, scores = index.search(Q, V, 7, beam=100)
    assert np.mean(scores >= expected[1][:, -1:]) > 0.95
    alone = index.search(Q[13:14], V, 7, beam=100)
    np.testing.assert_array_equal(alone[0][0], labels[13])
    np.testing.assert_array_equal(alone[1][0], scores[13])
    # The twin of the choice: the labels whose levels have the largest products, within what 6 bits a table entry round.
    approximate = Q @ np.take_along_axis(index.levels, np.abs(V[:, :, None] - index.levels).argmin(2).T, axis=1)
    edge = -np.sort(-approximate, axis=1)[:, 99:100]
    found = np.empty((50, 100), np.int32)
    native.scan(index.codes, index.levels, Q, V, 100, found, np.empty((50, 100), np.float32))
    assert (np.take_along_axis(approximate, found, axis=1) > edge - 0.05 * np.abs(edge)).all()


def test_codes_of_equal_vectors_zeros_and_no_numbers():
    V = np.zeros((200, 5), np.float32)
    V[100:] = [1, 2, 3, 4, 5]
    index = LabelIndex.build(V)
    assert index.search(np.ones((1, 5), np.float32), V, 3, beam=1)[0].tolist() == [[100, 101, 102]]
    assert index.search(np.zeros((1, 5), np.float32), V, 2, beam=1)[1].tolist() == [[0, 0]]
    index.search(np.array([[np.nan, np.inf, 1, 2, 3]], np.float32), V, 3, beam=4)
    Q, V = np.ones((1, 2), np.float32), np.zeros((3, 2), np.float32)
    nothing = LabelIndex.build(V)
    assert nothing.search(Q, V, 5, beam=1)[0].tolist() == [[0, 1, 2]]  # no more than there are
    labels, scores = np.empty((1, 5), np.int32), np.empty((1, 5), np.float32)
    native.scan(nothing.codes, nothing.levels, Q, V, 3, labels, scores)
    assert labels.tolist() == [[0, 1, 2, -1, -1]]
