"""Blocks of features side by side, and dense features at the door."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import xtrellis as xt
from xtrellis.arrays.inputs import as_features


@settings(max_examples=40)
@given(
    arrays(np.float32, st.tuples(st.just(5), st.integers(0, 4)), elements=st.floats(-1e3, 1e3, width=32)),
    arrays(np.float64, st.tuples(st.just(5), st.integers(1, 4)), elements=st.sampled_from([0.0, -2.0, 0.5])),
)
def test_every_block_has_rows_of_length_1(dense, other):
    both = xt.concatenate_features(sp.csr_array(other), dense)
    assert both.shape == (5, other.shape[1] + dense.shape[1])
    for got, block in ((both[:, : other.shape[1]], other), (both[:, other.shape[1] :], dense)):
        block = block.astype(np.float64)
        lengths = np.linalg.norm(block, axis=1, keepdims=True)
        expected = np.divide(block, lengths, out=np.zeros_like(block), where=lengths > 0)
        np.testing.assert_allclose(got.toarray(), expected, atol=1e-6)


def test_as_they_are():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_array_equal(xt.concatenate_features(X, X, unit=False).toarray(), np.hstack([X, X]))


def test_what_is_refused():
    with pytest.raises(xt.InputError, match="at least one matrix"):
        xt.concatenate_features()
    with pytest.raises(xt.InputError, match=r"same number of rows; got \[2, 3\]"):
        xt.concatenate_features(np.ones((2, 2)), np.ones((3, 2)))
    with pytest.raises(xt.InputError, match="block 1 must be finite"):
        xt.concatenate_features(np.ones((2, 2)), np.full((2, 2), np.nan))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, bool])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_features_are_the_sparse_ones(dtype, zeros, order):
    rng = np.random.default_rng(0)
    dense = np.asarray(rng.integers(0 if zeros else 1, 4, (7, 5)).astype(dtype), order=order)
    got, expected = as_features(dense), as_features(sp.csr_array(dense.astype(np.float64)))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
        assert getattr(got, name).dtype == getattr(expected, name).dtype


def test_a_tree_learns_from_words_and_vectors_together():
    rng = np.random.default_rng(0)
    Y = np.eye(20)[rng.integers(0, 20, 400)]
    words = sp.csr_array(Y[:, :10] * (rng.random((400, 10)) < 0.9))  # one half of the labels is in the words
    vectors = (Y[:, 10:] @ rng.normal(size=(10, 16)) + 0.1 * rng.normal(size=(400, 16))).astype(np.float32)
    scores = {}
    for name, X in {"words": words, "vectors": vectors, "both": xt.concatenate_features(words, vectors)}.items():
        model = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=5)).fit(X[:300], Y[:300])
        scores[name] = xt.evaluate(sp.csr_array(Y[300:]), model.predict(X[300:], 1), ["P@1"])["P@1"]
    assert scores["both"] > max(scores["words"], scores["vectors"]) + 20


def test_blocks_have_weights():
    words, vectors = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [1.0, 0.0]])
    out = xt.concatenate_features(words, vectors, weights=(1, 0.5)).toarray()
    np.testing.assert_allclose(out, [[0.6, 0.8, 0, 0.5], [0, 0, 0.5, 0]], rtol=1e-6)
    for wrong in ((1.0,), (1.0, np.nan)):
        with pytest.raises(xt.InputError, match="weights"):
            xt.concatenate_features(words, vectors, weights=wrong)
