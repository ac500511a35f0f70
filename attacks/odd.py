"""Values that nobody should pass: for each a name, and how it is made from the value that would be right (`like`)."""

from __future__ import annotations

import decimal
import fractions
import pathlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

Make = Callable[[Any], Any]


class _NoRepr:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class _Text(str):
    """A string that is not quite one."""

    __slots__ = ()


class _Matrix(np.ndarray):
    """A subclass of arrays."""


def _always(value: Any, like: Any) -> Any:
    return value


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


NUMBERS: dict[str, Any] = {
    "True": True, "False": False, "0": 0, "1": 1, "2": 2, "-1": -1, "7": 7, "0.5": 0.5, "1.0": 1.0, "-0.0": -0.0,
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e-320": 1e-320, "1e38": 1e38, "1e308": 1e308,
    "2**31 - 1": 2**31 - 1, "2**31": 2**31, "2**32": 2**32, "2**53 + 1": 2**53 + 1, "2**62": 2**62,
    "2**63 - 1": 2**63 - 1, "2**63": 2**63, "2**64": 2**64, "-(2**63)": -(2**63), "10**30": 10**30,
    "10**5000": 10**5000, "1j": 1j, "Decimal('1.5')": decimal.Decimal("1.5"),
    "Decimal('nan')": decimal.Decimal("nan"), "Fraction(1, 3)": fractions.Fraction(1, 3), "np.int8(3)": np.int8(3),
    "np.uint64(2**64 - 1)": np.uint64(2**64 - 1), "np.float16(0.5)": np.float16(0.5),
    "np.float32('nan')": np.float32("nan"), "np.longdouble(2)": np.longdouble(2), "np.bool_(True)": np.bool_(True),
    "np.array(3)": np.array(3), "np.array([1])": np.array([1]), "np.datetime64('2020')": np.datetime64("2020"),
    "np.array(None)": np.array(None),
}  # fmt: skip
STRINGS: dict[str, Any] = {
    "''": "", "' '": " ", "'x'": "x", "'0'": "0", "'-1'": "-1", "'inf'": "inf", "'nan'": "nan", "'1e400'": "1e400",
    "'None'": "None", "'a,b'": "a,b", "'++'": "++", "','": ",", "'\\0'": "\0", "'\\ud800'": "\ud800", "'🙂'": "🙂",
    "marks": "e" + "\u0301" * 3000, "right to left": "\u202eabc\u200b\ufeff", "'ß'×": "ßİıſKﷺ" * 20,
    "100,000 × a": "a" * 100_000, "words": "ab " * 20_000, "lines": "a\n\r\n\u2028\x0b\x85b", "'../..'": "../..",
    "'/proc/self/mem'": "/proc/self/mem", "'/dev/null'": "/dev/null", "'P@0'": "P@0", "'P@-1'": "P@-1",
    "'P@99999999999999999999'": "P@99999999999999999999", "'P@2147483647'": "P@2147483647", "'P@٣'": "P@٣",
    "'PSP@1'": "PSP@1", "'depth@1'": "depth@1", "'@'": "@", "'p@1'": "p@1", "a str subclass": _Text("x"),
    "np.str_": np.str_("x"), "b''": b"", "b'\\xff'": b"\xff", "bytearray": bytearray(b"x"),
    "100,000 digits": "9" * 100_000, "'%s%n{0}'": "%s%n{0}", "'[red]'": "[red]x[/bold]", "'1000TB'": "1000TB",
    "'1e30GB'": "1e30GB", "'-1GB'": "-1GB",
}  # fmt: skip
THINGS: dict[str, Make] = {
    "None": lambda like: None,
    "...": lambda like: ...,
    "NotImplemented": lambda like: NotImplemented,
    "object()": lambda like: object(),
    "a function": lambda like: print,
    "int": lambda like: int,
    "type(like)": lambda like: type(like),
    "no repr": lambda like: _NoRepr(),
    "an error": lambda like: ValueError("x"),
    "Path('.')": lambda like: pathlib.Path(),
    "Path of a NUL": lambda like: pathlib.Path("a\0b"),
    "[]": lambda like: [],
    "()": lambda like: (),
    "{}": lambda like: {},
    "set()": lambda like: set(),
    "[[]]": lambda like: [[]],
    "[[], []]": lambda like: [[], []],
    "[None]": lambda like: [None],
    "[1, 2]": lambda like: [1, 2],
    "[0]": lambda like: [0],
    "[-1]": lambda like: [-1],
    "[2**70]": lambda like: [2**70],
    "[1.5]": lambda like: [1.5],
    "[nan]": lambda like: [float("nan")],
    "['a']": lambda like: ["a"],
    "['a', 1]": lambda like: ["a", 1],
    "['\\ud800']": lambda like: ["\ud800"],
    "[b'a']": lambda like: [b"a"],
    "[['a'], None]": lambda like: [["a"], None],
    "ragged": lambda like: [[1, 2], [3]],
    "deep": lambda like: [[[[[[1]]]]]],
    "[{}]": lambda like: [{}],
    "itself": lambda like: _ring(),
    "{'a': 1}": lambda like: {"a": 1},
    "{1: 2}": lambda like: {1: 2},
    "{0: 1, 1: 0}": lambda like: {0: 1, 1: 0},
    "{'a'}": lambda like: {"a"},
    "range(4)": lambda like: range(4),
    "range(-5, 3)": lambda like: range(-5, 3),
    "an iterator": lambda like: iter(like) if isinstance(like, (list, tuple, str)) else iter([1]),
    "an empty iterator": lambda like: iter(()),
    "like, as a list": lambda like: [like],
    "like, twice": lambda like: [like, like],
    "str(like)": lambda like: str(like)[:1000],
    "like + ['x']": lambda like: [*like, "x"] if isinstance(like, (list, tuple)) else like,
    "like[:-1]": lambda like: like[:-1] if isinstance(like, (list, tuple, str)) else like,
    "slice": lambda like: slice(None, None, 0),
}


# ── matrices ────────────────────────────────────────────────────────────────────────────────────────────────────────


def dense(like: Any) -> Any:
    """The right value as an array; some matrix if it is something else."""
    if sp.issparse(like):
        return like.toarray()
    if isinstance(like, np.ndarray) and like.dtype.kind in "fiub" and like.ndim:
        return np.array(like, np.float64)
    return np.array([[0.0, 1.0, 0.5], [2.0, 0.0, 0.0]])


def _in_one_piece(like: Any) -> Any:
    return np.ascontiguousarray(dense(like))


def csr(like: Any) -> Any:
    """The right value as a csr array that may be damaged: nothing is shared."""
    full = dense(like)
    return sp.csr_array(full if full.ndim == 2 else full.reshape(1, -1), dtype=np.float32)


def _as_kind(kind: str, like: Any) -> Any:
    return getattr(sp, f"{kind}_array")(csr(like))


def _filled(like: Any, value: Any) -> Any:
    out = dense(like).copy()
    out.reshape(-1)[-1:] = value
    return out


def _damaged(kind: str, **changes: Callable[[Any, Any], Any]) -> Make:
    """A sparse matrix with some attributes replaced by functions of (matrix, old value)."""

    def make(like: Any) -> Any:
        matrix = getattr(sp, f"{kind}_array")(csr(like))
        for name, change in changes.items():
            object.__setattr__(matrix, name, change(matrix, getattr(matrix, name)))
        return matrix

    return make


def _put(at: int, value: int, dtype: Any = None) -> Callable[[Any, Any], Any]:
    def change(matrix: Any, old: Any) -> Any:
        out = np.array(old, dtype or old.dtype)
        if len(out):
            out[at] = value
        return out

    return change


def _lil(like: Any) -> Any:
    matrix = sp.lil_array(csr(like))
    matrix.rows[0] = [matrix.shape[1] + 1000]
    matrix.data[0] = [1.0]
    return matrix


def _dok(like: Any) -> Any:
    matrix = sp.dok_array(csr(like))
    matrix._dict[(matrix.shape[0] + 7, 10**9)] = 1.0
    return matrix


def _structured(like: Any) -> Any:
    return np.zeros(dense(like).shape, [("a", "f4"), ("b", "i4")])


MATRICES: dict[str, Make] = {
    "zeros(0)": lambda like: np.zeros(0),
    "zeros((0, 0))": lambda like: np.zeros((0, 0)),
    "no rows": lambda like: dense(like)[:0],
    "no columns": lambda like: dense(like)[..., :0],
    "one row": lambda like: dense(like)[:1],
    "one dimension": lambda like: dense(like).reshape(-1),
    "three dimensions": lambda like: dense(like)[None],
    "33 rows": lambda like: np.ones((33, dense(like).shape[-1])),
    "a column more": lambda like: np.concatenate([dense(like), dense(like)[..., :1]], axis=-1),
    "transposed": lambda like: dense(like).T,
    "as a list": lambda like: dense(like).tolist(),
    "as objects": lambda like: dense(like).astype(object),
    "objects": lambda like: np.full(dense(like).shape, None),
    "as strings": lambda like: dense(like).astype(str),
    "as bytes": lambda like: dense(like).astype("S8"),
    "complex": lambda like: dense(like) * 1j,
    "bool": lambda like: dense(like) > 0,
    "int8": lambda like: dense(like).astype(np.int8),
    "uint64": lambda like: np.full(dense(like).shape, 2**64 - 1, np.uint64),
    "float16": lambda like: dense(like).astype(np.float16),
    "longdouble": lambda like: dense(like).astype(np.longdouble),
    "big-endian": lambda like: dense(like).astype(">f4"),
    "big-endian int": lambda like: dense(like).astype(">i8"),
    "datetime": lambda like: dense(like).astype("M8[s]"),
    "structured": _structured,
    "Fortran": lambda like: np.asfortranarray(dense(like)),
    "backwards": lambda like: dense(like)[::-1],
    "every other column": lambda like: np.repeat(dense(like), 2, axis=-1)[..., ::2],
    "broadcast": lambda like: np.broadcast_to(np.float32(1), dense(like).shape),
    "masked": lambda like: np.ma.masked_array(dense(like), dense(like) > 0),
    "np.matrix": lambda like: np.asmatrix(dense(like) if dense(like).ndim <= 2 else np.eye(2)),
    "a subclass": lambda like: dense(like).view(_Matrix),
    "with nan": lambda like: _filled(like, np.nan),
    "with inf": lambda like: _filled(like, -np.inf),
    "with 1e38": lambda like: _filled(like, 1e38),
    "all 1e38": lambda like: np.full(dense(like).shape, 1e38),
    "all -3e38": lambda like: np.full(dense(like).shape, -3e38),
    "with 1e300": lambda like: _filled(like, 1e300),
    "with -1": lambda like: _filled(like, -1),
    "all 1e-45": lambda like: np.full(dense(like).shape, 1e-45, np.float32),
    "all 0": lambda like: np.zeros_like(dense(like)),
    "memoryview": lambda like: memoryview(_in_one_piece(like)),
    # Sparse kinds, whole.
    **{kind: partial(_as_kind, kind) for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")},
    "csr_matrix": lambda like: sp.csr_matrix(csr(like)),
    "csr of one dimension": lambda like: sp.coo_array(dense(like).reshape(-1)),
    "csr without rows": lambda like: csr(like)[:0],
    "csr without columns": lambda like: sp.csr_array((csr(like).shape[0], 0)),
    "csr of 2**31 columns": lambda like: sp.csr_array((csr(like).shape[0], 2**31)),
    "csr of 2**31 - 1 columns": lambda like: sp.csr_array((csr(like).shape[0], 2**31 - 1), dtype=np.float32),
    "csr of 2**40 rows": lambda like: sp.coo_array((2**40, csr(like).shape[1])),
    "csr complex": lambda like: csr(like).astype(complex),
    "csr bool": lambda like: csr(like).astype(bool),
    "csr int64 ids": _damaged(
        "csr", indices=lambda m, old: old.astype(np.int64), indptr=lambda m, old: old.astype(np.int64)
    ),
    "csr uint8 ids": _damaged("csr", indices=lambda m, old: old.astype(np.uint8)),
    "csr big-endian": _damaged(
        "csr",
        indptr=lambda m, old: old.astype(">i8"),
        indices=lambda m, old: old.astype(">i4"),
        data=lambda m, old: old.astype(">f4"),
    ),
    "csr read-only": _damaged("csr", data=lambda m, old: np.broadcast_to(np.float32(1), old.shape)),
    "csr with nan": _damaged("csr", data=lambda m, old: np.full_like(old, np.nan)),
    "csr unsorted": _damaged("csr", indices=lambda m, old: old[::-1].copy()),
    "csr with duplicates": _damaged("csr", indices=lambda m, old: np.zeros_like(old)),
    "csr with more than it uses": _damaged(
        "csr", indices=lambda m, old: np.append(old, old), data=lambda m, old: np.append(old, old)
    ),
    # Sparse kinds, damaged.
    "csr index too large": _damaged("csr", indices=_put(-1, 2**31 - 1)),
    "csr index = columns": _damaged("csr", indices=lambda m, old: np.full_like(old, m.shape[1])),
    "csr index 2**40": _damaged("csr", indices=_put(0, 2**40, np.int64)),
    "csr index -1": _damaged("csr", indices=_put(0, -1)),
    "csr indices of floats": _damaged("csr", indices=lambda m, old: old.astype(float)),
    "csr indices of objects": _damaged("csr", indices=lambda m, old: old.astype(object)),
    "csr indices too few": _damaged("csr", indices=lambda m, old: old[: len(old) // 2]),
    "csr indices a list": _damaged("csr", indices=lambda m, old: old.tolist()),
    "csr indices None": _damaged("csr", indices=lambda m, old: None),
    "csr indices 2-d": _damaged("csr", indices=lambda m, old: old[:, None]),
    "csr offsets fall": _damaged("csr", indptr=lambda m, old: old[::-1].copy()),
    "csr offsets past the end": _damaged("csr", indptr=_put(-1, 10**6)),
    "csr offsets past 2**31": _damaged("csr", indptr=_put(-1, 2**62, np.int64)),
    "csr offsets below 0": _damaged("csr", indptr=_put(0, -5)),
    "csr offsets from 1": _damaged("csr", indptr=lambda m, old: old + 1),
    "csr an offset in the middle": _damaged("csr", indptr=_put(1, 2**31 - 1)),
    "csr offsets of uint64": _damaged("csr", indptr=lambda m, old: old.astype(np.uint64)),
    "csr offsets too few": _damaged("csr", indptr=lambda m, old: old[:-1]),
    "csr offsets too many": _damaged("csr", indptr=lambda m, old: np.append(old, old[-1:])),
    "csr offsets empty": _damaged("csr", indptr=lambda m, old: old[:0]),
    "csr offsets of floats": _damaged("csr", indptr=lambda m, old: old.astype(float)),
    "csr data too few": _damaged("csr", data=lambda m, old: old[:1]),
    "csr data of objects": _damaged("csr", data=lambda m, old: np.full(len(old), None)),
    "csr data of strings": _damaged("csr", data=lambda m, old: old.astype(str)),
    "csr data 2-d": _damaged("csr", data=lambda m, old: old[:, None]),
    "csr data strided": _damaged("csr", data=lambda m, old: np.repeat(old, 2)[::2]),
    "csr other shape": _damaged("csr", _shape=lambda m, old: (old[0] + 100, old[1])),
    "csr narrower": _damaged("csr", _shape=lambda m, old: (old[0], 1)),
    "csr shape of 1": _damaged("csr", _shape=lambda m, old: (old[0],)),
    "csc index too large": _damaged("csc", indices=_put(-1, 2**31 - 1)),
    "csc index -1": _damaged("csc", indices=_put(0, -1)),
    "csc offsets fall": _damaged("csc", indptr=lambda m, old: old[::-1].copy()),
    "csc offsets past the end": _damaged("csc", indptr=_put(-1, 10**6)),
    "csc offsets too few": _damaged("csc", indptr=lambda m, old: old[:-1]),
    "csc data too few": _damaged("csc", data=lambda m, old: old[:1]),
    "coo row too large": _damaged("coo", coords=lambda m, old: (np.full_like(old[0], 10**9), old[1])),
    "coo row -1": _damaged("coo", coords=lambda m, old: (np.full_like(old[0], -1), old[1])),
    "coo column too large": _damaged("coo", coords=lambda m, old: (old[0], np.full_like(old[1], 10**9))),
    "coo too few columns": _damaged("coo", coords=lambda m, old: (old[0], old[1][:1])),
    "coo data too few": _damaged("coo", data=lambda m, old: old[:1]),
    "coo coordinates of floats": _damaged("coo", coords=lambda m, old: tuple(c.astype(float) for c in old)),
    "coo without coordinates": _damaged("coo", coords=lambda m, old: ()),
    "coo of objects": _damaged("coo", data=lambda m, old: old.astype(object)),
    "bsr index too large": _damaged("bsr", indices=_put(-1, 10**8)),
    "bsr offsets past the end": _damaged("bsr", indptr=_put(-1, 10**6)),
    "bsr data flat": _damaged("bsr", data=lambda m, old: old.reshape(-1)),
    "bsr data too few": _damaged("bsr", data=lambda m, old: old[:1]),
    "dia offset too large": _damaged("dia", offsets=_put(0, 2**31 - 1)),
    "dia offset too small": _damaged("dia", offsets=_put(-1, -(2**31))),
    "dia too few offsets": _damaged("dia", offsets=lambda m, old: old[:1]),
    "dia too many offsets": _damaged("dia", offsets=lambda m, old: np.arange(1000, dtype=np.int32)),
    "dia data flat": _damaged("dia", data=lambda m, old: old.reshape(-1)),
    "lil column too large": _lil,
    "lil uneven": _damaged("lil", data=lambda m, old: old[::-1]),
    "lil too few rows": _damaged("lil", rows=lambda m, old: old[:1]),
    "dok key too large": _dok,
}
ODD: dict[str, Make] = {
    **{name: partial(_always, value) for name, value in (*NUMBERS.items(), *STRINGS.items())},
    **THINGS,
    **MATRICES,
}
