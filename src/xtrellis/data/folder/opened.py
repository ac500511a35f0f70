"""`open`: a data folder as a `Dataset` whose arrays are its files. Nothing is read until somebody looks at it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._native import arrays as native
from ...arrays import Array, Csr, Int64, StringTable, assemble, is_on_disk, known_good, ranges, row_spans
from ...core import DataError, as_path, clear_calls, flag, progress
from ...store import file_array, let_go, map_file
from ..dataset import Dataset, positions
from .layout import DTYPES, Layout, read_layout

IN_MEMORY = 64 << 20  # bytes up to which rows that were chosen are kept in memory
_CHUNK_BYTES = 8 << 20
_TOGETHER = 1 << 20  # non-zeros that are looked at or copied before their pages are let go


@dataclass(frozen=True, eq=False, repr=False)
class StoredDataset(Dataset):
    """A `Dataset` that lies on disk: training, vectorising and measuring read it piece by piece."""

    path: Path | None = field(default=None, kw_only=True)
    rows: tuple[int, int] | None = field(default=None, kw_only=True)
    """Which rows of the folder these are, if they follow each other: what another process needs to open the same."""

    def select(self, rows: Any) -> Dataset:
        """As of a `Dataset`; a slice of rows that follow each other copies nothing, others go to a file without a name
        where they are too many for memory."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(self.n_rows)
            return self._run(first, max(first, last))
        chosen = positions(rows, self.n_rows)
        return _made(
            self,
            X=None if self.X is None else known_good(_taken(_plain(self.X), chosen)),
            Y=known_good(_taken(_plain(self.Y), chosen), labels=True),
            texts=None if self.texts is None else _taken_strings(_table(self.texts), chosen),
            excluded=None if self.excluded is None else known_good(_taken(_plain(self.excluded), chosen), labels=True),
            path=None,
            rows=None,
        )

    def _run(self, first: int, last: int) -> Dataset:
        begin = 0 if self.rows is None else self.rows[0]
        return _made(
            self,
            X=None if self.X is None else known_good(_run(_plain(self.X), first, last)),
            Y=known_good(_run(_plain(self.Y), first, last), labels=True),
            texts=None if self.texts is None else _run_strings(_table(self.texts), first, last),
            excluded=None
            if self.excluded is None
            else known_good(_run(_plain(self.excluded), first, last), labels=True),
            rows=None if self.path is None else (begin + first, begin + last),
        )


@clear_calls
def open(path: str | os.PathLike[str], *, verify: bool = False) -> StoredDataset:
    """The data set in a folder that `write` or `xtrellis convert` made: its files, mapped into memory.

    That the files are as long as they should be, and that every number in them is one that training can go by, is
    looked at now, in one pass; `verify` compares every byte with its hash as well.
    """
    flag()("verify", verify)
    place = as_path(path, error=DataError)
    layout = read_layout(place)
    arrays = {name: _map(place, name, layout) for name in layout.files}
    if verify:
        _verify(layout, arrays, place)
    Y = _matrix(arrays, "y", layout.rows, layout.labels, place)
    X = _matrix(arrays, "x", layout.rows, layout.features, place) if "x.ids" in arrays else None
    excluded = _matrix(arrays, "excluded", layout.rows, layout.labels, place) if "excluded.ids" in arrays else None
    let_go()
    return _made(
        None,
        X=None if X is None else known_good(X),
        Y=known_good(Y, labels=True),
        texts=_strings(arrays, "texts", place),
        label_names=_strings(arrays, "labels", place),
        feature_names=_strings(arrays, "features", place),
        name=layout.name,
        excluded=None if excluded is None else known_good(excluded, labels=True),
        dropped_labels=0,
        path=place.absolute(),
        rows=(0, layout.rows),
    )


class RowSource(NamedTuple):
    """Rows of a data folder that another process can open: `unit`, if they are to be at length 1."""

    path: str
    first: int
    last: int
    unit: bool = False


def open_rows(source: RowSource) -> Csr:
    """The features that lie there, as they lie."""
    if not Path(source.path).is_dir():
        raise DataError(
            f"there is no such data folder on {os.uname().nodename}; put it where every node can read it",
            path=source.path,
        )
    found = open(source.path)
    if found.X is None or found.n_rows < source.last:
        raise DataError(f"has no rows up to {source.last} on {os.uname().nodename}", path=source.path)
    return _run(_plain(found.X), source.first, source.last)


def _made(like: StoredDataset | None, **parts: Any) -> StoredDataset:
    """What is made of checked data is not checked again."""
    out = object.__new__(StoredDataset)
    vars(out).update({**(vars(like) if like is not None else {}), **parts})
    if out.X is not None and out.path is not None and out.rows is not None:
        _plain(out.X).source = RowSource(str(out.path), *out.rows)
    return out


def _plain(matrix: Csr) -> Csr:
    return matrix._checked


def _table(texts: Any) -> StringTable:
    return StringTable.of(texts)


def _map(place: Path, name: str, layout: Layout) -> Array:
    listed, dtype = layout.files[name], np.dtype(DTYPES[name]).newbyteorder("<")
    try:
        descriptor = os.open(place / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(
            f"cannot be opened: {error.strerror}; the data folder is not whole", path=place / name
        ) from None
    try:
        found = os.fstat(descriptor).st_size
        if found < listed.n_bytes:
            raise DataError(
                f"has {found} bytes; data.json says {listed.n_bytes}: it was cut off; convert the data again",
                path=place / name,
            )
        if not listed.n_bytes:
            return np.empty(0, dtype)
        return np.frombuffer(map_file(descriptor, listed.n_bytes), dtype)
    finally:
        os.close(descriptor)


def _verify(layout: Layout, arrays: dict[str, Array], place: Path) -> None:
    total = sum(listed.n_bytes for listed in layout.files.values())
    with progress.step("checking the data folder", total=total, unit="B") as advance:
        for name, listed in layout.files.items():
            content, at = arrays[name].view(np.uint8), 0
            for number, (size, wanted) in enumerate(listed.pieces):
                digest = hashlib.sha256()
                for begin in range(at, at + size, _CHUNK_BYTES):
                    digest.update(content[begin : min(begin + _CHUNK_BYTES, at + size)].data)
                if digest.hexdigest() != wanted:
                    raise DataError(
                        f"piece {number + 1} of {len(listed.pieces)} is not what its hash says: the file was "
                        "changed or damaged; convert the data again",
                        path=place / name,
                    )
                at += size
                advance(size)
            let_go()


def _offsets(offsets: Int64, end: int, name: str, place: Path) -> Int64:
    for first in range(0, len(offsets), _TOGETHER):
        some = offsets[first : first + _TOGETHER + 1]
        if (some[1:] < some[:-1]).any():
            raise DataError("must rise from row to row; the file is damaged", path=place / f"{name}.offsets")
        let_go()
    if offsets[0] != 0 or offsets[-1] != end:
        raise DataError(f"must rise from 0 to {end}; the file is damaged", path=place / f"{name}.offsets")
    return offsets


def _matrix(arrays: dict[str, Array], name: str, rows: int, columns: int, place: Path) -> Csr:
    """Offsets, ids and values as kernels may trust them: looked at a million non-zeros at a time."""
    ids = arrays[f"{name}.ids"]
    offsets = _offsets(arrays[f"{name}.offsets"], len(ids), name, place)
    values = arrays.get(f"{name}.values")
    if values is None:
        values = _ones(len(ids))
    for first, last in row_spans(offsets, _TOGETHER):
        here = slice(int(offsets[first]), int(offsets[last]))
        shifted = offsets[first : last + 1] - offsets[first]
        if not native.plain(shifted, ids[here], values[here], columns, float(np.finfo(np.float32).max)):
            raise DataError(
                f"rows {first} to {last} hold columns that are out of order or not below {columns}, or values that are "
                "not finite; the files are damaged",
                path=place / f"{name}.ids",
            )
        let_go()
    return assemble(values, ids, offsets, (rows, columns))


def _ones(n: int) -> Array:
    """Of labels, in no memory worth counting."""
    if 4 * n <= IN_MEMORY:
        ones = np.ones(n, np.float32)
    else:
        ones = file_array(n, np.float32)
        for begin in range(0, n, 1 << 22):
            ones[begin : begin + (1 << 22)] = 1
    ones.flags.writeable = False
    return ones


def _strings(arrays: dict[str, Array], name: str, place: Path) -> StringTable | None:
    if f"{name}.bytes" not in arrays:
        return None
    content = arrays[f"{name}.bytes"]
    return StringTable(content, _offsets(arrays[f"{name}.offsets"], len(content), name, place))


def _run(matrix: Csr, first: int, last: int) -> Csr:
    begin, end = int(matrix.indptr[first]), int(matrix.indptr[last])
    offsets = matrix.indptr[first : last + 1] - begin
    return assemble(matrix.data[begin:end], matrix.indices[begin:end], offsets, (last - first, matrix.shape[1]))


def _run_strings(table: StringTable, first: int, last: int) -> StringTable:
    begin, end = int(table.offsets[first]), int(table.offsets[last])
    return StringTable(table.text[begin:end], table.offsets[first : last + 1] - begin)


def _taken(matrix: Csr, rows: Int64) -> Csr:
    offsets = np.concatenate([[0], np.cumsum(np.diff(matrix.indptr)[rows])]).astype(np.int64)
    values = _gathered(matrix.data, matrix.indptr, offsets, rows)
    return assemble(
        values, _gathered(matrix.indices, matrix.indptr, offsets, rows), offsets, (len(rows), matrix.shape[1])
    )


def _taken_strings(table: StringTable, rows: Int64) -> StringTable:
    offsets = np.concatenate([[0], np.cumsum(np.diff(table.offsets)[rows])]).astype(np.int64)
    return StringTable(_gathered(table.text, table.offsets, offsets, rows), offsets)


def _gathered(content: Array, old: Int64, new: Int64, rows: Int64) -> Array:
    """Slices of an array one after another; in a file, if they are many."""
    n = int(new[-1])
    out = file_array(n, content.dtype) if n * content.itemsize > IN_MEMORY else np.empty(n, content.dtype)
    for first, last in row_spans(new, _TOGETHER):
        some = rows[first:last]
        out[new[first] : new[last]] = content[ranges(old[some], old[some + 1] - old[some])]
        if is_on_disk(out):
            let_go()
    out.flags.writeable = False
    return out
