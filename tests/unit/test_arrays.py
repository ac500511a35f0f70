"""The door: anything reasonable comes in, checked; nothing of the caller's changes; nothing bad reaches a kernel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xtrellis import arrays
from xtrellis.arrays.inputs import as_features, as_labels, as_row, as_rows
from xtrellis.core.errors import InputError

DENSE = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, 0, -4]])


def right(out, dense):
    """What a kernel relies on."""
    assert isinstance(out, sp.csr_array)
    assert (out.data.dtype, out.indices.dtype, out.indptr.dtype) == (np.float32, np.int32, np.int64)
    assert out.shape == dense.shape
    assert all(a.flags.c_contiguous and a.ndim == 1 for a in (out.data, out.indices, out.indptr))
    assert out.indptr[0] == 0
    assert out.indptr[-1] == len(out.data) == len(out.indices)
    for begin, end in zip(out.indptr, out.indptr[1:], strict=False):
        assert (np.diff(out.indices[begin:end]) > 0).all()
    assert np.array_equal(out.toarray(), dense.astype(np.float32))


FORMS = {
    "ndarray": np.asarray,
    "list": lambda d: d.tolist(),
    "tuple": lambda d: tuple(map(tuple, d.tolist())),
    "fortran": np.asfortranarray,
    "strided": lambda d: np.repeat(d, 2, axis=1)[:, ::2],
    "read-only": lambda d: np.broadcast_to(d, d.shape),
    "float16": lambda d: d.astype(np.float16),
    "longdouble": lambda d: d.astype(np.longdouble),
    "swapped": lambda d: d.astype(">f8"),
    "np.matrix": lambda d: d.view(np.matrix),  # whose parts never lose a dimension
    **{f: (lambda d, f=f: sp.coo_array(d).asformat(f)) for f in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    **{f"{f}_matrix": getattr(sp, f"{f}_matrix") for f in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form(form):
    right(as_features(form(DENSE)), DENSE)
    right(as_labels(form(np.abs(DENSE))), DENSE != 0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_every_dtype(dtype):
    dense = np.array([[0, 1], [1, 0]]).astype(dtype)
    right(as_features(dense), dense)
    right(as_features(sp.csr_array(dense)), dense)
    right(as_labels(sp.csr_matrix(dense)), dense)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", ">i4", ">i8", ">u4", ">u8"])
def test_numbers_of_the_other_byte_order(dtype):
    dense = np.array([[0, 1, 3], [2, 0, 0]]).astype(dtype)
    right(as_features(dense), dense)
    right(as_labels((dense != 0).astype(dtype)), dense != 0)
    for kind in ("csr", "csc", "coo", "dia", "bsr"):
        matrix = sp.coo_array(dense.astype(np.int64)).asformat(kind)
        matrix.data = matrix.data.astype(dtype)
        for name in ("indices", "indptr", "offsets"):
            if hasattr(matrix, name):
                setattr(matrix, name, getattr(matrix, name).astype(">i4"))
        right(as_features(matrix), dense)
        rows = as_rows(matrix, n_features=3)
        right(sp.csr_array(as_features(sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(2, 3)))), dense)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("pointer", [np.int32, np.int64])
def test_index_types_even_mixed(index, pointer):
    matrix = sp.csr_array((2, 4))
    matrix.data, matrix.indices = np.array([1.0, 2.0, 3.0]), np.array([0, 3, 2], index)
    matrix.indptr = np.array([0, 2, 3], pointer)
    right(as_features(matrix), np.array([[1, 0, 0, 2], [0, 0, 3, 0]]))


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 3)])
def test_empty_matrices(shape):
    right(as_features(sp.csr_array(shape)), np.zeros(shape))
    right(as_labels(np.zeros(shape)), np.zeros(shape))


def hand_made(indptr, indices, data, shape=(2, 3)):
    matrix = sp.csr_array(shape)
    matrix.indptr, matrix.indices, matrix.data = np.asarray(indptr), np.asarray(indices), np.asarray(data, float)
    return matrix


def test_unsorted_and_duplicate_entries():
    matrix = hand_made([0, 3, 5], [2, 0, 2, 1, 1], [1, 2, 3, 4, -4])
    kept = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    out = as_features(matrix)
    right(out, np.array([[2, 0, 4], [0, 0, 0]]))
    assert out.nnz == 3  # 4 - 4 stays, as an explicit zero
    for before, after in zip(kept, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        assert np.array_equal(before, after)


def test_duplicates_of_small_integers_do_not_wrap():
    matrix = sp.csr_array((np.full(4, 100, np.int8), np.array([0, 0, 1, 1]), np.array([0, 4])), shape=(1, 2))
    assert as_features(matrix).toarray().tolist() == [[200, 200]]
    many = sp.csr_array((np.ones(256, np.uint8), np.zeros(256, int), np.array([0, 256])), shape=(1, 1))
    assert as_labels(many).toarray().tolist() == [[1]]


def test_flags_that_lie_are_not_believed():
    matrix = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert matrix.has_canonical_format
    matrix.indices[:] = [1, 0]
    right(as_features(matrix), np.array([[2, 1]]))
    matrix.indices[:] = [1, 1]
    right(as_features(matrix), np.array([[0, 3]]))


def test_spare_room_at_the_end_is_cut():
    right(as_features(hand_made([0, 1, 2], [0, 1, 99, -7], [1, 2, np.nan, 4])), np.array([[1, 0, 0], [0, 2, 0]]))


def test_explicit_zeros_are_features_but_not_labels():
    matrix = sp.csr_array((np.array([1.0, 0.0, 5.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert as_features(matrix).nnz == 3
    out = as_labels(matrix)
    right(out, np.array([[1, 0, 0], [0, 0, 1]]))
    assert out.nnz == 2
    assert matrix.nnz == 3
    right(as_labels(sp.csr_array((np.zeros(2), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))), np.zeros((1, 2)))


def test_nothing_is_copied_that_need_not_be():
    out = as_features(DENSE)
    again = as_features(out)
    assert np.shares_memory(out.data, again.data)
    assert np.shares_memory(out.indices, again.indices)
    labels = as_labels(DENSE != 0)
    assert np.shares_memory(labels.data, as_labels(labels).data)


def test_the_callers_matrix_never_changes():
    for form in ("csr", "csc", "coo"):
        matrix = sp.coo_array(DENSE).asformat(form)
        before = matrix.copy()
        as_labels(abs(matrix))
        out = as_features(matrix)
        out.sum_duplicates()
        assert matrix.dtype == before.dtype
        assert (matrix != before).nnz == 0


BROKEN = {
    "too few offsets": hand_made([0, 1], [0], [1]),
    "too many offsets": hand_made([0, 1, 1, 1], [0], [1]),
    "not from 0": hand_made([1, 1, 1], [0], [1]),
    "falling": hand_made([0, 1, 0], [0], [1]),
    "falling, unsigned": hand_made(np.array([0, 5, 2], np.uint64), [0, 1], [1, 1]),
    "wrapping": hand_made([0, 2**63 - 1, 0], [0], [1]),
    "past the end": hand_made([0, 1, 2], [0], [1]),
    "past the data": hand_made([0, 1, 2], [0, 1], [1]),
    "negative column": hand_made([0, 1, 1], [-1], [1]),
    "column too large": hand_made([0, 1, 1], [3], [1]),
    "column far too large": hand_made([0, 1, 1], [2**40], [1]),
    "float columns": hand_made([0, 1, 1], [0.0], [1]),
    "float offsets": hand_made([0.0, 1.0, 1.0], [0], [1]),
    "two dimensions": hand_made([0, 1, 1], [[0]], [[1]]),
}


@pytest.mark.parametrize("matrix", BROKEN.values(), ids=BROKEN)
def test_broken_csr_is_refused(matrix):
    for door in (as_features, as_labels):
        with pytest.raises(InputError, match="is not a valid csr matrix"):
            door(matrix)


def test_broken_csc_coo_and_bsr_are_refused():
    csc = sp.csc_array(DENSE)
    csc.indices = csc.indices.copy()
    csc.indices[0] = 1000
    with pytest.raises(InputError, match="not a valid csc matrix: index 1000"):
        as_features(csc)
    for place, value in ((0, 10**6), (1, 10**6), (0, -(10**6)), (1, 4)):
        coo = sp.coo_array(DENSE)
        coo.coords[place][0] = value
        with pytest.raises(InputError, match="not a valid coo matrix"):
            as_features(coo)
    bsr = sp.bsr_array(DENSE[:2], blocksize=(2, 2))
    bsr.indices[0] = 1000
    with pytest.raises(InputError, match="not a valid bsr matrix"):
        as_features(bsr)
    lil = sp.lil_array(DENSE)
    lil.rows[0][0] = 1000
    with pytest.raises(InputError, match="not a valid lil matrix: index 1000"):
        as_features(lil)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array, lambda d: d.tolist()])
def test_features_must_be_finite(value, form):
    dense = DENSE.copy()
    dense[2, 3] = value
    with pytest.raises(InputError, match="X must be finite in float32; row 2, column 3 is"):
        as_features(form(dense))


@pytest.mark.parametrize("value", [1.1e18, -1.1e18, 1e38, -3.4e38])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda d: sp.csr_array(d.astype(np.float32)), sp.coo_array])
def test_features_that_would_overflow_in_a_models_sums(value, form):
    """Data sets may hold them; models are never asked."""
    dense = DENSE.copy()
    dense[2, 3] = value
    assert as_features(form(dense)).data.max() <= np.finfo(np.float32).max
    for ask in (
        lambda: as_rows(form(dense), n_features=4),
        lambda: as_row(form(dense[2:]), n_features=4),
        lambda: as_features(form(dense), largest=arrays.LARGEST_FEATURE),
    ):
        with pytest.raises(InputError, match=r"^[Xx] must lie within ±1e\+18, or sums .*; row [02], column 3 is"):
            ask()


@pytest.mark.parametrize("value", [9.9e17, -9.9e17])
def test_large_features_that_fit(value):
    dense = np.full((2, 3), value, np.float32)
    with np.errstate(all="raise"):
        for form in (sp.csr_array, np.asarray):  # the first takes the quick way or falls back, by the sum of squares
            assert as_rows(form(dense), n_features=3).data.tolist() == [dense[0, 0]] * 6


@pytest.mark.parametrize("value", [np.nan, np.inf, -1])
def test_labels_must_be_there_or_not(value):
    dense = np.array([[0, 1.0], [1, value]])
    with pytest.raises(InputError, match="Y must be 0, or positive where a row has the label; row 1, column 1 is"):
        as_labels(dense)


@pytest.mark.parametrize(
    "wrong",
    [
        None, 3, "text", b"bytes", {}, object(), [1, 2], [], [[None]], [[1j]], [[10**400]],
        np.ones(3), np.ones((2, 2, 2)), np.array(3.0), np.array([["a"]]), np.array([[None]]), np.ones((2, 2), complex),
        np.array([["2020-01-01"]], "M8[D]"), sp.csr_array(np.ones((2, 2), complex)), sp.coo_array(np.ones(3)),
        np.ma.array([[1.0, 2.0]], mask=[[False, True]]), np.zeros(3, [("a", "f4")]),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_what_is_not_a_matrix_of_numbers(wrong):
    for door in (as_features, as_labels):
        with pytest.raises(InputError, match=r"^[XY] must "):
            door(wrong)


def test_lists_that_are_no_matrix_of_features():
    for wrong in ([[1], [2, 3]], [["a"]]):  # of labels they are lists: test_label_lists
        with pytest.raises(InputError, match=r"^X must be a matrix of numbers"):
            as_features(wrong)


def test_too_many_columns():
    with pytest.raises(InputError, match="at most 2147483647 rows and columns"):
        as_features(sp.coo_array((np.ones(1), (np.array([0]), np.array([2**33]))), shape=(1, 2**34)))
    assert as_features(sp.csr_array((1, arrays.MAX_ID))).shape == (1, 2**31 - 1)


def test_sizes_that_must_agree():
    with pytest.raises(InputError, match="X has 4 features; the model was trained with 5"):
        as_features(DENSE, n_features=5)
    with pytest.raises(InputError, match="Y has 3 rows; X has 4"):
        as_labels(DENSE != 0, n_rows=4)
    with pytest.raises(InputError, match="Y has 4 labels; expected 5"):
        as_labels(DENSE != 0, n_labels=5)
    with pytest.raises(InputError, match=r"^queries has"):
        as_features(DENSE, n_features=5, name="queries")
    assert as_features(DENSE, n_features=4).shape == (3, 4)


@given(st.integers(0, 5), st.integers(1, 5), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_any_entries_in_any_order(n, d, entries, seed):
    rng = np.random.default_rng(seed)
    entries = entries if n else 0
    rows, columns = np.sort(rng.integers(0, max(n, 1), entries)), rng.integers(0, d, entries)
    values = rng.integers(-3, 4, entries).astype(rng.choice(["f4", "f8", "i4"]))
    dense = np.zeros((n, d))
    np.add.at(dense, (rows, columns), values)
    indptr = np.searchsorted(rows, np.arange(n + 1))
    right(as_features(hand_made(indptr, columns, values, (n, d))), dense)
    right(as_features(sp.coo_array((values, (rows, columns)), shape=(n, d))), dense)
    labels = np.zeros((n, d), bool)
    labels[rows[values != 0], columns[values != 0]] = True
    right(as_labels(hand_made(indptr, columns, np.abs(values), (n, d))), labels)


@given(st.integers(0, 10_000))
@settings(max_examples=150)
def test_rows_pass_quickly_or_by_the_long_way_but_never_wrongly(seed):
    """Whatever is wrong with a csr built by hand: as_rows gives what as_features gives, or its error."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    X = sp.random_array((n, d), density=0.6, rng=rng, dtype=np.float32, format="csr")
    X.indices, X.indptr, X.data = X.indices.astype(np.int32), X.indptr.astype(np.int32), X.data.copy()
    for _ in range(int(rng.integers(0, 3))):
        part = (X.indices, X.indptr, X.data)[rng.integers(0, 3)]
        if len(part):
            part[rng.integers(0, len(part))] = rng.choice([-1, 0, 1, 7, 2**31 - 1]) if part is not X.data else np.nan

    def outcome(door):
        try:
            return door(X, n_features=d)
        except InputError as error:
            return str(error)

    expected, got = outcome(as_features), outcome(as_rows)
    if isinstance(expected, str) or isinstance(got, str):
        assert expected == got
        return
    np.testing.assert_array_equal(got.indptr, expected.indptr)
    np.testing.assert_array_equal(got.indices[: got.indptr[-1]], expected.indices)
    np.testing.assert_array_equal(got.data[: got.indptr[-1]], expected.data)
