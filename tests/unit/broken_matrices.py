"""Sparse matrices of every kind, wounded at random, at every door. Run as a program: what goes wrong may be a crash.

    python broken_matrices.py KIND FIRST LAST FOLDER

tries the wounds of these seeds; prints a line for each that was neither refused by name nor taken for what it is, and
at last how many were taken and refused.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays import TopK, as_features, as_labels, as_pairs, as_row, as_rows

sys.path.insert(0, str(Path(__file__).parent / "linear"))
from pecos_world import World

KINDS = {
    "csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"), "dia": ("data", "offsets"), "lil": ("rows", "data"), "dok": ("keys", "values"),
}  # fmt: skip
ROWS, COLUMNS = 8, 6
REFUSED = (xt.InputError, xt.DataError, xt.StoreError)
NUMBERS = [-1, 0, 1, 5, 6, 7, 8, 1000, 10**7, 2**31 - 1, 2**31, 2**62, -(2**62), 2**63 - 1]

TYPES = [
    "i1", "u1", "i2", "i4", "i8", "u4", "u8", ">i4", ">i8", ">f4", ">f8", "f2", "f8", "g", "?", "c8", "O", "U9",
    "M8[s]",
]  # fmt: skip


def sound(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Its arrays; sometimes there is no entry at all, where SciPy looks less closely."""
    empty = bool(rng.random() < 0.3)
    dense = rng.integers(1, 9, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < (0 if empty else 0.4))
    dense = dense.astype(rng.choice(["f4", "f8", "i1", "i8", "u2"]))
    matrix = sp.bsr_array(dense, blocksize=(2, 3)) if kind == "bsr" else sp.coo_array(dense).asformat(kind)
    if kind == "lil":
        return {"rows": matrix.rows, "data": matrix.data}
    if kind == "dok":
        return {"keys": list(matrix.keys()), "values": list(matrix.values())}
    return {name: getattr(matrix, name).copy() for name in KINDS[kind]}


def wound(array: Any, rng: np.random.Generator) -> Any:
    """One thing that is wrong, or odd."""
    if isinstance(array, list) or getattr(getattr(array, "dtype", None), "kind", "") == "O":
        return wound_list(array, rng)
    if not isinstance(array, np.ndarray) or not array.ndim or array.dtype.kind not in "fiu":
        return array  # wounded enough
    how = int(rng.integers(0, 16))
    if how == 0:
        return array[: rng.integers(0, len(array) + 1)]
    if how == 1:
        return np.concatenate([array, array[: rng.integers(0, 3)]])
    if how in (2, 3, 4, 5):
        out = array.astype(np.int64) if rng.random() < 0.5 and array.dtype.kind in "iu" else array.copy()
        for _ in range(rng.integers(1, 3)):
            value = NUMBERS[rng.integers(len(NUMBERS))]
            if out.size:
                fits = out.dtype.kind == "f" or np.iinfo(out.dtype).min <= value <= np.iinfo(out.dtype).max
                out.flat[rng.integers(out.size)] = value if fits else 3
        return out
    if how == 6:
        return array[rng.permutation(len(array))]
    if how == 7:
        return np.sort(array, axis=0)[::-1]
    if how == 8:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(TYPES))
    if how == 9:
        return array[None] if rng.random() < 0.5 else array.reshape(1, -1)
    if how == 10:
        return array.reshape(-1)
    if how == 11:
        return np.repeat(array, 2, axis=0)[::2] if rng.random() < 0.5 else np.broadcast_to(array[:1], array.shape)
    if how == 12:
        return [None, 3, "abc", [], [[1], [2, 3]], b"", np.float64(2.0), array.tolist()][rng.integers(8)]
    if how == 13:
        return np.zeros_like(array)
    if how == 14 and array.dtype.kind == "f":
        out = array.copy()
        out[: len(out) // 2] = rng.choice([np.nan, np.inf, 1e300, -1e38])
        return out
    return array


def wound_list(items: Any, rng: np.random.Generator) -> Any:
    """Lists of lists (lil), or of keys and values (dok)."""
    odd = [None, "x", -1, 6, 1000, 2**40, 2**70, 1.5, (1,), (0, 9), (9, 0), (-1, 2), (0, 1, 2), [1], 10**400, 1j]
    out = items.copy()
    how = int(rng.integers(0, 9))
    if how == 0:
        return out[: rng.integers(0, len(out) + 1)]
    if how == 1:
        return [None, 3, np.zeros(ROWS), np.zeros((2, ROWS), int)][rng.integers(4)]
    if len(out):
        at, value = int(rng.integers(len(out))), odd[rng.integers(len(odd))]
        if how >= 5:  # nothing is wrong with it, though a column may come twice
            value = (int(rng.integers(ROWS)), 2) if isinstance(out[at], tuple) else 2
        if isinstance(out[at], list) and how != 4:
            inner = list(out[at])
            inner[: 1 if how >= 5 and inner else rng.integers(0, 2)] = [value] if inner or how < 5 else []
            value = inner
        out[at] = value
    return out


def built(kind: str, arrays: dict[str, Any]) -> Any:
    """A matrix whose attributes are what the arrays say, whatever SciPy thinks of them."""
    matrix = getattr(sp, f"{kind}_array")((ROWS, COLUMNS), dtype=np.float64)
    if kind == "dok":
        matrix._dict = dict(zip(arrays["keys"], arrays["values"], strict=True))
    elif kind == "coo":
        matrix.data, matrix.coords = arrays["data"], (arrays["row"], arrays["col"])
    else:
        for name, array in arrays.items():
            setattr(matrix, name, array)
    return matrix


def entries(kind: str, arrays: dict[str, Any]) -> list[tuple[int, int, float]]:
    """Row, column and value of every entry, one after another; any error means that it is no matrix."""
    found = []

    def place(row: Any, column: Any, value: Any) -> None:
        assert 0 <= row < ROWS
        assert 0 <= column < COLUMNS
        assert int(row) == row
        assert int(column) == column
        found.append((int(row), int(column), float(value)))

    if kind in ("csr", "csc", "bsr"):
        data, indices, indptr = (np.asarray(arrays[name]) for name in KINDS[kind])
        height, width = data.shape[1:] if kind == "bsr" else (1, 1)
        assert indptr[0] == 0
        assert len(indptr) == (COLUMNS if kind == "csc" else ROWS // height) + 1
        for major in range(len(indptr) - 1):
            assert indptr[major] <= indptr[major + 1]
            for at in range(int(indptr[major]), int(indptr[major + 1])):
                assert at >= 0
                for i in range(height):
                    for j in range(width):
                        value = data[at, i, j] if kind == "bsr" else data[at]
                        minor = int(indices[at]) * width + j
                        place(*((minor, major) if kind == "csc" else (major * height + i, minor)), value)
    elif kind == "coo":
        for row, column, value in zip(arrays["row"], arrays["col"], arrays["data"], strict=True):
            place(row, column, value)
    elif kind == "dia":
        for offset, line in zip(arrays["offsets"], arrays["data"], strict=True):
            for column, value in enumerate(line[:COLUMNS]):
                if 0 <= column - int(offset) < ROWS and value != 0:
                    place(column - int(offset), column, value)
    elif kind == "lil":
        assert len(arrays["rows"]) == len(arrays["data"]) == ROWS
        for row, (columns, values) in enumerate(zip(arrays["rows"], arrays["data"], strict=True)):
            for column, value in zip(columns, values, strict=True):
                place(row, column, value)
    else:
        for (row, column), value in dict(zip(arrays["keys"], arrays["values"], strict=True)).items():
            place(row, column, value)
    return found


def summed(kind: str, arrays: dict[str, Any]) -> Any:
    dense = np.zeros((ROWS, COLUMNS))
    for row, column, value in entries(kind, arrays):
        dense[row, column] += value
    return dense


class Doors:
    """Whatever takes a matrix from users or from a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, rng = folder, np.random.default_rng(0)
        self.Y = np.eye(ROWS, COLUMNS) + np.eye(ROWS, COLUMNS, -3)
        self.model = xt.LinearTree(threads=1).fit(rng.random((ROWS, COLUMNS)), self.Y)
        self.ensemble = xt.Ensemble.of([self.model, self.model])
        sp.save_npz(folder / "Y.npz", sp.csr_array(self.Y))
        World.random([COLUMNS], n_features=ROWS - 1).save(folder / "pecos")

    def all(self, kind: str, arrays: dict[str, Any], in_files: bool) -> dict[str, Callable[[], Any]]:
        """Every door by name; those that give back what they were given, first."""
        matrix = built(kind, arrays)
        doors: dict[str, Callable[[], Any]] = {
            "as_features": lambda: as_features(matrix),
            "as_rows": lambda: dense_of(as_rows(matrix, n_features=COLUMNS)),
            "Dataset": lambda: xt.Dataset(matrix, self.Y).X,
            "TrainingData": lambda: xt.TrainingData.of(matrix, self.Y).X,
        }
        answers: dict[str, Callable[[], Any]] = {
            "as_labels": lambda: as_labels(matrix),
            "as_pairs": lambda: as_pairs(matrix, n_rows=ROWS, n_labels=COLUMNS),
            "as_row": lambda: as_row(matrix, n_features=COLUMNS),
            "evaluate": lambda: xt.evaluate(self.Y, matrix),
            "drop": lambda: xt.evaluate(self.Y, sp.csr_array(self.Y), drop=matrix),
            "from_csr": lambda: TopK.from_csr(matrix, 3),
            "predict": lambda: self.model.predict(matrix, 3),
            "score": lambda: self.model.score(self.Y, matrix),
            "Ensemble": lambda: self.ensemble.predict(matrix, 3),
        }
        doors |= {name: sealed(answer) for name, answer in answers.items()}
        if in_files and kind not in ("lil", "dok") and self.saved(kind, arrays):
            doors |= {"read": lambda: xt.read(self.folder).X, "import_pecos": sealed(self.import_pecos)}
        return doors

    def saved(self, kind: str, arrays: dict[str, Any]) -> bool:
        """The same in a file, unless NumPy cannot write such."""
        content = {name: np.asarray(array, order="C") for name, array in arrays.items() if not ragged(array)}
        about = {"shape": np.array([ROWS, COLUMNS]), "format": np.array(kind)}
        for path in (self.folder / "X.npz", self.folder / "pecos/ranker/0.model/W.npz"):
            np.savez(path, **content, **about)
        return len(content) == len(arrays)

    def import_pecos(self) -> Any:
        return xt.import_pecos(self.folder / "pecos").predict(np.ones((2, ROWS - 1)), 3)


def sealed(door: Callable[[], Any]) -> Callable[[], None]:
    """A door behind which something else is made; it has only to do so."""

    def run() -> None:
        door()

    return run


def ragged(array: Any) -> bool:
    try:
        np.asarray(array)
    except ValueError:
        return True
    return False


def dense_of(rows: Any) -> Any:
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)


def trial(kind: str, seed: int, doors: Doors) -> str:
    """`taken`, `refused`, or what went wrong."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    arrays = sound(kind, rng)
    for _ in range(rng.integers(1, 3)):
        name = rng.choice(list(arrays))
        arrays[name] = wound(arrays[name], rng)
    try:
        ways = doors.all(kind, arrays, in_files=seed % 4 == 0)
    except (TypeError, ValueError, AttributeError):
        return "refused"  # SciPy or NumPy took it for nothing at all
    try:
        expected = summed(kind, arrays).astype(np.float32)
    except Exception:
        expected = None
    outcome = "refused"
    for door, run in ways.items():
        try:
            found = run()
        except REFUSED as error:
            if not 10 < len(str(error)) < 1000:
                return f"{door}: a message of {len(str(error))} characters"
            continue
        except Exception as error:
            return f"{door}: {type(error).__name__}: {error}"
        if expected is None:
            return f"{door}: took what is no matrix"
        if found is not None and not np.array_equal(found.toarray(), expected):
            return f"{door}: took it for something else"
        outcome = "taken"
    return outcome


def main(kind: str, first: str, last: str, folder: str) -> None:
    warnings.simplefilter("ignore")  # SciPy's and NumPy's, of odd dtypes
    doors, counts = Doors(Path(folder)), {"taken": 0, "refused": 0}
    for seed in range(int(first), int(last)):
        print(f"{kind} {seed}", file=sys.stderr, flush=True)  # the last one is where it crashed
        outcome = trial(kind, seed, doors)
        if outcome in counts:
            counts[outcome] += 1
        else:
            print(f"{kind} {seed}: {outcome}", flush=True)
    print(f"taken {counts['taken']} refused {counts['refused']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
