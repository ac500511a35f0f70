"""No matrix that somebody built, changed or sent makes SciPy or a kernel read outside of it, whatever kind it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays import CsrParts, as_features, as_row, csr_parts, parts_of, read_saved

HERE = Path(__file__).parent


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_wounded_matrices_are_refused_or_taken_for_what_they_are(kind: str, tmp_path: Path) -> None:
    """In a process of its own: a crash is a failure of this test, not the end of all."""
    program = [sys.executable, str(HERE / "broken_matrices.py"), kind, "0", "240", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"it ended with {done.returncode} at {done.stderr[-300:]}"
    *wrong, last = done.stdout.splitlines()
    assert wrong == []
    counts = re.fullmatch(r"taken (\d+) refused (\d+)", last)
    assert counts is not None
    assert min(map(int, counts.groups())) > 20


CRASHED = """
import sys, numpy as np, scipy.sparse as sp, xtrellis as xt
folder, kind, rows = sys.argv[1], sys.argv[2], 2000
inner = np.zeros(rows + 1, np.int32)
inner[1:-1] = 10**7  # the last one is 0: SciPy's full check looks no further
matrix = getattr(sp, kind + "_array")((rows, rows))
matrix.indptr = inner
arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": inner}
np.savez(folder + "/X.npz", **arrays, shape=np.array([rows, rows]), format=np.array(kind))
np.savez(folder + "/ranker/0.model/W.npz", **arrays, shape=np.array([rows, rows]), format=np.array(kind))
sp.save_npz(folder + "/Y.npz", sp.eye_array(rows, format="csr"))
model = xt.LinearTree(threads=1).fit(sp.eye_array(rows, format="csr")[:5], np.eye(5))
for door in (xt.read, xt.import_pecos, lambda _: model.predict(matrix), lambda _: xt.evaluate(np.eye(rows), matrix)):
    try:
        door(folder)
    except xt.XtrellisError as error:
        print(type(error).__name__, "not rise from 0" in str(error))
"""


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_offsets_whose_last_one_is_0(kind: str, tmp_path: Path) -> None:
    sys.path.insert(0, str(HERE / "linear"))
    try:
        from pecos_world import World
    finally:
        sys.path.pop(0)
    World.random([5], n_features=1999).save(tmp_path / "m")
    for path in (tmp_path / "m").iterdir():
        path.rename(tmp_path / path.name)
    done = subprocess.run([sys.executable, "-c", CRASHED, str(tmp_path), kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["DataError True", "StoreError True", "InputError True", "InputError True"]


def test_more_diagonals_than_data() -> None:
    matrix = sp.dia_array((np.ones((1, 4)), [0]), shape=(4, 4))
    matrix.offsets = np.arange(-40, 40)
    with pytest.raises(xt.InputError, match=r"X is not a valid dia matrix: .* for each of its 1 rows of data"):
        as_features(matrix)


@pytest.mark.parametrize("offsets", [[0, 3, -2], [2**40, 0, -(2**40)], [7, -7, 1]])
@pytest.mark.parametrize("width", [0, 2, 5, 9])
def test_diagonals(offsets: list[int], width: int) -> None:
    data = np.arange(1, 3 * width + 1, dtype=float).reshape(3, width)
    dense = np.zeros((4, 5))
    for offset, line in zip(offsets, data, strict=True):
        for column, value in enumerate(line[:5]):
            if 0 <= column - offset < 4:
                dense[column - offset, column] = value
    parts = parts_of("dia", {"data": data, "offsets": np.array(offsets)}, (4, 5), "X")
    np.testing.assert_array_equal(parts.to_scipy().toarray(), dense)


@pytest.mark.parametrize("kind", ["coo", "csc", "dia", "dok"])
def test_rows_that_are_only_announced(kind: str) -> None:
    """Their offsets would take 17 GB."""
    matrix = getattr(sp, f"{kind}_array")((3, 3))
    matrix._shape = (2**31 - 1, 3)
    with pytest.raises(xt.InputError, match=r"0 entries, and the offsets of 2147483647 rows .* 17 GB"):
        as_features(matrix)


def test_small_integers_do_not_wrap_on_the_way() -> None:
    twice = np.array([0, 0])
    for matrix in (
        sp.coo_array((np.array([100, 100], np.int8), (twice, twice)), shape=(1, 1)),
        sp.csc_array((np.array([100, 100], np.int8), twice, np.array([0, 2])), shape=(1, 1)),
    ):
        assert as_features(matrix).toarray().tolist() == [[200]]


def test_one_row_of_one_dimension() -> None:
    row = sp.coo_array(np.array([0, 3.0, 0]))
    assert as_row(row, n_features=3).toarray().tolist() == [[0, 3, 0]]
    assert as_row(sp.dok_array(row), n_features=3).toarray().tolist() == [[0, 3, 0]]
    row.coords = (np.array([10**9]),)
    with pytest.raises(xt.InputError, match="x is not a valid coo matrix: index 1000000000 is outside 0…2"):
        as_row(row, n_features=3)


def test_parts_keep_what_need_not_change() -> None:
    matrix = sp.csr_array(np.eye(3, dtype=np.float32))
    parts = csr_parts(matrix, "X")
    assert isinstance(parts, CsrParts)
    assert np.shares_memory(parts.data, matrix.data)
    with pytest.raises(xt.InputError, match="X is not a valid ndarray matrix"):
        csr_parts(np.eye(3), "X")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
def test_what_scipy_saved_is_read_and_turned(kind: str, tmp_path: Path) -> None:
    dense = np.arange(24).reshape(4, 6) % 5
    sp.save_npz(tmp_path / "a.npz", sp.coo_array(dense).asformat(kind))
    with (tmp_path / "a.npz").open("rb") as file:
        saved = read_saved(file)
    np.testing.assert_array_equal(parts_of(*saved, "it").to_scipy().toarray(), dense)
    np.testing.assert_array_equal(parts_of(*saved, "it", turned=True).to_scipy().toarray(), dense.T)


ODD_FILES = {
    "no format": {"data": np.ones(1)},
    "unknown format": {"format": np.array("lil")},
    "format of numbers": {"format": np.array(7)},
    "no data": {"format": np.array("csr"), "shape": np.array([1, 1])},
    "shape of numbers with a point": {"format": np.array("csr"), "shape": np.array([1.5, 1])},
    "three dimensions": {"format": np.array("csr"), "shape": np.array([1, 1, 1])},
    "negative shape": {"format": np.array("csr"), "shape": np.array([-1, 1])},
    "one number as shape": {"format": np.array("csr"), "shape": np.array(3)},
    "text": {"data": np.array(["a"])},
    "dates": {"data": np.array(["2020-01-01"], "M8[D]")},
    "no bytes": {"data": np.zeros(5, "S0")},
}


@pytest.mark.parametrize("odd", ODD_FILES.values(), ids=ODD_FILES)
def test_odd_files(odd: dict[str, np.ndarray], tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(np.eye(1)))
    good = {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.array([0, 1])}
    about = {"format": np.array("csr"), "shape": np.array([1, 1])}
    missing = {"no format": ("format",), "no data": ("data",)}
    content = {**good, **about, **odd}
    for name in missing.get(next(key for key, value in ODD_FILES.items() if value is odd), ()):
        del content[name]
    np.savez(tmp_path / "X.npz", **content)
    with pytest.raises(xt.DataError, match=r"X\.npz: (X must|is not a sparse matrix)"):
        xt.read(tmp_path)


def test_an_array_that_announces_more_than_memory(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(np.eye(1)))
    np.savez(tmp_path / "X.npz", format=np.array("csr"), shape=np.array([1, 1]), data=np.ones(10**4))
    content = (tmp_path / "X.npz").read_bytes()
    assert content.count(b"(10000,)") == 1
    (tmp_path / "X.npz").write_bytes(content.replace(b"(10000,)             ", b"(9000000000000000,)  "))
    with pytest.raises(xt.DataError, match=r"fit into memory|not a sparse matrix"):
        xt.read(tmp_path)
