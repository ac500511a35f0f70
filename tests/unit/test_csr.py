"""The few things done to rows of sparse matrices, against naive loops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xtrellis.arrays import Rows, as_features, join_parts, ranges, row_numbers, spans_of_work, take_rows
from xtrellis.arrays.csr import assemble, for_scipy, n_bytes_of, transpose, unit_rows, unit_values
from xtrellis.core import InputError

SIZES = st.lists(st.integers(0, 5), max_size=8)


def matrix(seed: int, n: int, width: int, density: float = 0.4) -> Any:
    """A checked matrix with some rows of nothing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, width)) * (rng.random((n, width)) < density) * (rng.random((n, 1)) < 0.8)
    return as_features(values.astype(np.float32))


def is_plain(found: Any) -> bool:
    """As kernels want it."""
    return (found.data.dtype, found.indices.dtype, found.indptr.dtype) == (np.float32, np.int32, np.int64)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5)), max_size=8), st.sampled_from([np.int32, np.int64]))
def test_ranges(pairs: list[tuple[int, int]], dtype: Any) -> None:
    begins, counts = (np.array([pair[i] for pair in pairs], dtype) for i in range(2))
    expected = [place for begin, count in pairs for place in range(begin, begin + count)]
    found = ranges(begins, counts)
    assert found.tolist() == expected
    assert found.dtype == np.int64


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.data())
def test_take_rows(seed: int, n: int, width: int, data: Any) -> None:
    whole = matrix(seed, n, width)
    chosen = data.draw(st.lists(st.integers(0, n - 1), max_size=9))
    dense = whole.toarray()
    for rows in (chosen, np.array(chosen, np.int32), np.array(chosen, np.int64)):
        found = take_rows(whole, rows)
        assert found.shape == (len(chosen), width)
        assert is_plain(found)
        assert found.toarray().tolist() == [dense[i].tolist() for i in chosen]
        for i, row in enumerate(chosen):  # entry by entry, stored zeros too
            at, source = slice(*found.indptr[i : i + 2]), slice(*whole.indptr[row : row + 2])
            assert found.indices[at].tolist() == whole.indices[source].tolist()
            assert found.data[at].tolist() == whole.data[source].tolist()
    bare = Rows(whole.data, whole.indices, whole.indptr, whole.shape)
    assert take_rows(bare, chosen).toarray().tolist() == dense[chosen].tolist()


def test_take_rows_by_mask_slice_and_from_the_end() -> None:
    whole = matrix(3, 6, 4)
    dense = whole.toarray()
    mask = np.array([True, False, True, True, False, False])
    for rows in (mask, slice(1, 5), slice(None, None, -2), [-1, 0, -6]):
        assert take_rows(whole, rows).toarray().tolist() == dense[rows].tolist()
    with pytest.raises(IndexError):
        take_rows(whole, [6])
    offsets = whole.indptr.astype(np.int32)  # as users have them
    assert is_plain(take_rows(assemble(whole.data, whole.indices, offsets, whole.shape), [1, 0]))


@given(st.integers(0, 2**32 - 1), SIZES)
def test_join_parts_puts_them_one_below_the_other(seed: int, heights: list[int]) -> None:
    blocks = [matrix(seed + i, height, 5) for i, height in enumerate([*heights, 1])]
    offsets, ids, values = join_parts([(block.indptr, block.indices, block.data) for block in blocks])
    assert (offsets.dtype, ids.dtype, values.dtype) == (np.int64, np.int32, np.float32)
    joined = assemble(values, ids, offsets, (sum(block.shape[0] for block in blocks), 5))
    assert joined.toarray().tolist() == [row for block in blocks for row in block.toarray().tolist()]
    expected = [0]
    for block in blocks:
        before = expected[-1]
        expected += [before + int(end) for end in block.indptr[1:]]
    assert offsets.tolist() == expected
    (alone,) = join_parts([(block.indptr,) for block in blocks])
    assert alone.tolist() == expected


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 12))
def test_spans_of_work(work: list[int], parts: int) -> None:
    upto = np.concatenate([[0], np.cumsum(np.array(work, np.int64))])
    spans = spans_of_work(upto, parts)
    assert len(spans) <= parts
    assert [i for first, last in spans for i in range(first, last)] == list(range(len(work)))  # all, in order, once
    assert all(first < last for first, last in spans)
    share = sum(work) / parts
    for first, last in spans:  # a run ends where its share is full: the last thing may be over it
        assert sum(work[first : last - 1]) <= share + 1e-9
    ends = [last for _, last in spans]
    for i in range(1, parts):  # where a loop would cut: before the first thing that i shares are done at
        cut = next(j for j in range(len(upto)) if upto[j] >= np.linspace(0, sum(work), parts + 1)[i])
        assert cut in (0, *ends)


def test_spans_of_even_work_are_even() -> None:
    assert spans_of_work(np.arange(13), 4) == [(0, 3), (3, 6), (6, 9), (9, 12)]
    assert spans_of_work(np.arange(4), 10) == [(0, 1), (1, 2), (2, 3)]
    assert spans_of_work(np.array([0]), 3) == []
    assert spans_of_work(np.array([0, 0, 0]), 3) == [(0, 2)]
    assert spans_of_work(np.array([0, 100, 101, 102]), 2) == [(0, 1), (1, 3)]


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 6))
def test_row_numbers_and_transposes(seed: int, n: int, width: int) -> None:
    some = matrix(seed, n, width)
    assert row_numbers(some).tolist() == [i for i, (a, b) in enumerate(pairwise(some.indptr)) for _ in range(b - a)]
    turned = transpose(some)
    assert is_plain(turned)
    assert turned.toarray().tolist() == some.toarray().T.tolist()
    assert turned.shape == (width, n)


def test_columns_that_are_only_announced_are_not_turned_into_rows() -> None:
    wide = as_features(sp.csr_array((np.ones(2), np.array([0, 2**31 - 2]), np.array([0, 2])), shape=(1, 2**31 - 1)))
    with pytest.raises(InputError, match=r"2 entries in 2147483647 columns: .* 17 GB; leave out labels"):
        transpose(wide)


def test_rows_of_length_one() -> None:
    some = matrix(1, 20, 8)
    dense = some.toarray().astype(np.float64)
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    expected = np.divide(dense, norms, out=np.zeros_like(dense), where=norms > 0)
    np.testing.assert_allclose(unit_rows(some).toarray(), expected, rtol=1e-6)
    assert (norms == 0).any()
    large = as_features(np.array([[3e30, 4e30], [0, 0], [1e-30, 0]], np.float32))
    np.testing.assert_allclose(unit_values(large), [0.6, 0.8, 1], rtol=1e-6)


def test_for_scipy_makes_dtypes_alike_without_a_copy_where_it_can() -> None:
    some = matrix(2, 10, 6)
    alike = for_scipy(some)
    assert alike.indices.dtype == alike.indptr.dtype == np.int32
    assert np.shares_memory(alike.data, some.data)
    assert np.shares_memory(alike.indices, some.indices)
    assert for_scipy(alike) is alike
    assert sp.vstack([alike, alike]).toarray().tolist() == [*some.toarray().tolist(), *some.toarray().tolist()]
    assert n_bytes_of(some, None) == some.nnz * 8 + 8 * 11
    assert n_bytes_of(some, some) == 2 * n_bytes_of(some)


@pytest.mark.parametrize("n", [0, 1, 3, 64, 65])
def test_few_rows_are_assembled_as_scipy_would(n: int) -> None:
    plain = matrix(5, n, 7)
    made, other = (assemble(plain.data, plain.indices, plain.indptr, (n, 7)) for _ in range(2))
    expected = sp.csr_array(plain)
    assert made.shape == (n, 7)
    assert type(made) is type(expected)
    assert vars(made).keys() - {"_has_sorted_indices", "_has_canonical_format"} <= vars(expected).keys() | {"maxprint"}
    assert (made != expected).nnz == 0
    assert (made @ np.ones(7)).tolist() == (expected @ np.ones(7)).tolist()
    made.data = np.zeros(0, np.float32)  # nobody else has it
    assert other.nnz == plain.nnz
