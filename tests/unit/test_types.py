"""TopK, the answer of every model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xtrellis.arrays.topk import TopK
from xtrellis.core.errors import InputError, ParameterError


def top():
    labels = np.array([[4, 1, 0], [2, -1, -1], [-1, -1, -1]], np.int32)
    scores = np.array([[0.9, 0.5, 0.5], [0.1, 0, 0], [0, 0, 0]], np.float32)
    return TopK(labels, scores, 6)


def test_rows_without_padding():
    rows = list(top())
    assert [[label for label, _ in row] for row in rows] == [[4, 1, 0], [2], []]
    assert rows[1][0][1] == pytest.approx(0.1)
    assert all(type(label) is int and type(score) is float for row in rows for label, score in row)
    assert (len(top()), top().k) == (3, 3)


def test_parts():
    assert top()[:2].labels.tolist() == [[4, 1, 0], [2, -1, -1]]
    assert top()[np.array([2, 0])].labels[1].tolist() == [4, 1, 0]
    assert top().cut(1).labels.tolist() == [[4], [2], [-1]]
    assert top().cut(99).k == 3


@pytest.mark.parametrize("k", [0, -1, 1.5, None, True])
def test_k_is_checked(k):
    with pytest.raises(ParameterError, match="k must be an integer ≥ 1"):
        top().cut(k)
    with pytest.raises(ParameterError, match="k must be an integer ≥ 1"):
        TopK.from_csr(sp.csr_array((2, 3)), k)


def test_shapes_are_checked():
    with pytest.raises(InputError, match="must be n×k and alike"):
        TopK(np.zeros((2, 3), np.int32), np.zeros((2, 2), np.float32), 5)
    with pytest.raises(InputError, match="must be n×k and alike"):
        TopK(np.zeros(3, np.int32), np.zeros(3, np.float32), 5)


def test_to_csr():
    out = top().to_csr()
    assert isinstance(out, sp.csr_array)
    assert out.shape == (3, 6)
    assert out.has_sorted_indices
    assert out.indices.tolist() == [0, 1, 4, 2]
    assert out.data.dtype == np.float32


def test_explicit_zeros_are_predictions():
    scores = sp.csr_array((np.array([0.0, -1.0, 2.0]), np.array([3, 0, 1]), np.array([0, 3])), shape=(1, 4))
    found = TopK.from_csr(scores, 5)
    assert found.labels.tolist() == [[1, 3, 0, -1, -1]]
    assert found.scores.tolist() == [[2, 0, -1, 0, 0]]
    assert found.to_csr().nnz == 3


def test_from_csr_sums_duplicates_and_leaves_the_matrix_alone():
    scores = sp.csr_array((np.array([1.0, 1.0, 1.5]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3))
    assert TopK.from_csr(scores, 3).labels.tolist() == [[2, 0, -1]]
    assert scores.nnz == 3


def test_empty():
    assert TopK.from_csr(sp.csr_array((0, 5)), 3).labels.shape == (0, 3)
    assert TopK.from_csr(sp.csr_array((2, 0)), 1).labels.tolist() == [[-1], [-1]]
    assert top()[:0].to_csr().shape == (0, 6)


@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_from_csr_against_sorting(n, n_labels, k, seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-2, 3, (n, n_labels)) * rng.integers(0, 2, (n, n_labels))
    found = TopK.from_csr(sp.csr_array(dense.astype(np.float32)), k)
    for row, pairs in zip(dense, found, strict=True):
        expected = sorted(((int(i), float(s)) for i, s in enumerate(row) if s), key=lambda pair: (-pair[1], pair[0]))
        assert pairs == expected[:k]
    if k >= n_labels:
        assert np.array_equal(found.to_csr().toarray(), dense)
