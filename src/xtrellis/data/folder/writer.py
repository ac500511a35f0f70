"""`Writer`: rows go into a data folder block by block; it appears, or grows, when all of them are there.

A new folder is made beside its place and renamed. Rows that are appended lie behind the lengths that `data.json` lists
until it is replaced: whenever the process dies, the folder holds what it held, or all of the new rows too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, Csr, Int64, StringTable, as_features, as_labels, as_texts, row_numbers
from ...core import DataError, InputError, as_path, clear_calls, flag, require
from ...store import dump_json
from ..align import labels_from_pairs
from ..dataset import Dataset
from .layout import COUNTED, DTYPES, MANIFEST, PIECE, Layout, Listed, is_folder, lock_name, read_layout

if TYPE_CHECKING:
    from typing_extensions import Self

BLOCK = 1 << 15  # texts that are encoded together


@clear_calls
class Writer:
    """Writes a data folder. Use as a context: nothing is there until it ends well.

    Labels are known by their names, if they have such: in a new folder they are numbered in the order of their names,
    and labels that are appended come after those that are there. Otherwise they are known by their numbers.
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False, name: str | None = None) -> None:
        flag()("append", append)
        self.path = as_path(path, error=DataError)
        self._append = append
        self._layout = Layout(name=self.path.stem if name is None else name)
        self._files: dict[str, _File] = {}
        self._ids: dict[str, int] | None = None  # labels by name
        self._columns: tuple[StringTable, Int64] | None = None  # of the names that came last
        self._n_new = 0
        self._ends: dict[str, int] = {}  # entries behind the last row of each list
        self._rows: dict[str, int] = {}
        self._lock = -1

    def __enter__(self) -> Self:
        if self._append:
            self._reopen()
        else:
            if self.path.exists():
                raise DataError("is there already; choose another place, or append to it", path=self.path)
            self._folder = lock_name(self.path)
            try:
                self._folder.mkdir()
            except OSError as error:
                raise DataError(f"cannot be written: {error.strerror}", path=self.path) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as error:
            kind = OSError
            raise self._cannot(error) from error
        except BaseException:
            kind = BaseException
            raise
        finally:
            for file in self._files.values():
                file.close()
            if kind is not None:
                self._undo()
            if self._lock >= 0:
                os.close(self._lock)

    def _reopen(self) -> None:
        if not is_folder(self.path):
            raise DataError(f"is no data folder to append to: it has no {MANIFEST}", path=self.path)
        self._folder = self.path
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise DataError("is being written to by another program", path=self.path) from None
        from .opened import open as open_folder

        self._layout = read_layout(self.path)
        there = open_folder(self.path)
        self._rows = {
            kind: self._layout.rows for kind in ("x", "y", "texts") if f"{kind}.offsets" in self._layout.files
        }
        for kind in self._rows:
            self._ends[kind] = self._layout.length(f"{kind}.{COUNTED[kind]}")
        if there.excluded is not None:
            raise DataError(
                "has pairs that do not count (filter_labels); rows cannot be appended to it", path=self.path
            )
        if there.label_names is not None:
            self._ids = {name: i for i, name in enumerate(there.label_names)}
            self._ends["labels"] = self._layout.length("labels.bytes")

    def add(self, dataset: Dataset) -> None:
        """Rows with all that they have."""
        require(dataset, Dataset, "dataset", "an xt.Dataset")
        if dataset.feature_names is not None and "features.offsets" not in self._layout.files and not self._append:
            self.name_features(dataset.feature_names)
        if dataset.X is not None:
            self.add_features(dataset.X)
        if dataset.texts is not None:
            self.add_texts(dataset.texts)
        self.add_labels(dataset.Y, dataset.label_names)
        if dataset.excluded is not None:
            if self._rows["y"] != dataset.n_rows:
                raise InputError("pairs that do not count (filter_labels) must come with all rows at once")
            self._put("excluded", dataset.excluded, None)

    def add_features(self, X: Any) -> None:
        """Features of the next rows."""
        checked = as_features(X)
        width = int(checked.shape[1])
        if self._append and width != self._layout.features:
            raise InputError(f"the rows have {width} features; those of {self.path} have {self._layout.features}")
        self._layout.features = max(self._layout.features, width)
        self._put("x", checked, checked.data)

    def add_labels(self, Y: Any, names: StringTable | None = None) -> None:
        """Labels of the next rows; `names` are those of Y's columns."""
        checked = as_labels(Y)
        if (names is not None) != (self._ids is not None) and "y" in self._rows and self._rows["y"]:
            one, other = ("none", "names") if names is None else ("names", "none")
            raise InputError(
                f"these labels have {one}, the labels of the rows before them {other}: they cannot be joined"
            )
        if names is not None:
            checked = self._by_name(checked, names)
        elif self._append and int(checked.shape[1]) > self._layout.labels:
            raise InputError(f"the rows have {checked.shape[1]} labels; {self.path} has {self._layout.labels}")
        self._layout.labels = max(self._layout.labels, int(checked.shape[1]), len(self._ids or ()))
        self._put("y", checked, None)

    def add_texts(self, texts: Sequence[str]) -> None:
        """Texts of the next rows."""
        texts = as_texts(texts)
        for begin in range(0, len(texts), BLOCK):
            table = StringTable.of(texts[begin : begin + BLOCK])
            self._strings("texts", table)

    def name_features(self, names: StringTable) -> None:
        """What the features are called."""
        self._layout.features = max(self._layout.features, len(names))
        self._strings("features", names)

    def _by_name(self, Y: Csr, names: StringTable) -> Csr:
        if self._columns is None or self._columns[0] is not names:
            if self._ids is None:
                self._ids = {}
            ids = self._ids
            self._columns = names, np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
        return labels_from_pairs(row_numbers(Y), self._columns[1][Y.indices], (int(Y.shape[0]), len(self._ids or ())))

    def _put(self, kind: str, matrix: Csr, values: Array | None) -> None:
        self._lists(kind, np.asarray(matrix.indptr, np.int64), matrix.indices)
        if values is not None:
            self._file(f"{kind}.values").write(values)

    def _strings(self, kind: str, table: StringTable) -> None:
        first, last = int(table.offsets[0]), int(table.offsets[-1])
        self._lists(kind, table.offsets - first, table.text[first:last])

    def _lists(self, kind: str, offsets: Int64, content: Array) -> None:
        at = self._ends.get(kind)
        if at is None:
            at = 0
            self._file(f"{kind}.offsets").write(np.zeros(1, np.int64))
        self._file(f"{kind}.offsets").write(offsets[1:] + at)
        self._file(f"{kind}.{COUNTED[kind]}").write(content)
        self._ends[kind] = at + int(offsets[-1])
        self._rows[kind] = self._rows.get(kind, 0) + len(offsets) - 1

    def _file(self, name: str) -> _File:
        if name not in self._files:
            listed = self._layout.files.setdefault(name, Listed())
            if self._append and not listed.n_bytes and not name.startswith("labels") and self._layout.rows:
                raise InputError(f"the rows before these have no {name.partition('.')[0]}: they cannot be appended")
            self._ends.setdefault("bytes " + name, listed.n_bytes)
            try:
                self._files[name] = _File(self._folder / name, DTYPES[name], listed)
            except OSError as error:
                raise self._cannot(error) from error
        return self._files[name]

    def _finish(self) -> None:
        counts = {self._rows.get(kind) for kind in ("x", "y", "texts") if self._rows.get(kind) is not None}
        if "y" not in self._rows or len(counts) != 1 or len(self._rows.keys() & {"x", "texts"}) == 0:
            told = ", ".join(f"{kind} {n}" for kind, n in sorted(self._rows.items()))
            raise InputError(
                f"rows need labels (y) and features (x) or texts, as many of each; got {told or 'nothing'}"
            )
        self._layout.rows = counts.pop() or 0
        names = self._names()
        for file in self._files.values():
            file.flush()
        if self._ids is not None:
            old = self._layout.length("labels.offsets") - 1 if "labels.offsets" in self._layout.files else 0
            self._strings("labels", StringTable.of(names[old:]))
            self._files["labels.offsets"].flush()
            self._files["labels.bytes"].flush()
        for file in self._files.values():
            os.fsync(file.descriptor)
        aside = self._folder / f".{MANIFEST}.tmp"
        with aside.open("wb") as out:
            out.write(dump_json(self._layout.to_json()))
            out.flush()
            os.fsync(out.fileno())
        aside.replace(self._folder / MANIFEST)
        if not self._append:
            self._folder.rename(self.path)

    def _names(self) -> list[str]:
        """Names in the order of their numbers; of a new folder they are put in order, and labels numbered anew."""
        if self._ids is None:
            return []
        names = list(self._ids)
        if self._append:
            return names
        order = sorted(range(len(names)), key=names.__getitem__)
        target = np.empty(len(names), np.int64)
        target[order] = np.arange(len(names))
        if (target != np.arange(len(target))).any():
            self._renumber(target)
        return [names[i] for i in order]

    def _renumber(self, target: Int64) -> None:
        """One more pass over the labels of the rows, which are a small part of the data."""
        for name in ("y.offsets", "y.ids"):
            self._files[name].flush()
        offsets = np.fromfile(self._folder / "y.offsets", np.int64)
        old = self._files.pop("y.ids")
        ids = np.memmap(self._folder / "y.ids", np.int32, "r") if offsets[-1] else np.empty(0, np.int32)
        self._layout.files["y.ids"] = Listed()
        new = _File(self._folder / "y.ids.new", DTYPES["y.ids"], self._layout.files["y.ids"])
        for first in range(0, len(offsets) - 1, 1 << 20):
            some = offsets[first : first + (1 << 20) + 1]
            rows = np.repeat(np.arange(len(some) - 1), np.diff(some))
            labels = target[ids[some[0] : some[-1]]]
            new.write(labels[np.lexsort((labels, rows))].astype(np.int32))
        old.close()
        (self._folder / "y.ids.new").replace(self._folder / "y.ids")
        self._files["y.ids"] = new

    def _undo(self) -> None:
        if not self._append:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        for name in self._files:
            before = self._ends["bytes " + name]
            place = self.path / name
            if before:
                os.truncate(place, before)
            else:
                place.unlink(missing_ok=True)

    def _cannot(self, error: OSError) -> DataError:
        return DataError(f"cannot be written: {error.strerror or error}", path=self.path)


class _File:
    """A file that grows, hashed piece by piece on the way."""

    def __init__(self, path: Path, dtype: Any, listed: Listed) -> None:
        self._path, self._dtype, self._listed = path, np.dtype(dtype).newbyteorder("<"), listed
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.ftruncate(self.descriptor, listed.n_bytes)  # what an append that died has left
        os.lseek(self.descriptor, 0, os.SEEK_END)
        self._digest, self._size = hashlib.sha256(), 0

    def write(self, array: Array) -> None:
        contiguous: Any = np.ascontiguousarray(array, self._dtype)
        content = memoryview(contiguous).cast("B") if len(array) else memoryview(b"")
        while len(content):
            some = content[: PIECE - self._size]
            try:
                done = os.write(self.descriptor, some)
            except OSError as error:
                raise DataError(
                    f"cannot be written: {error.strerror or error}; nothing was added", path=self._path
                ) from error
            self._digest.update(some[:done])
            self._size += done
            content = content[done:]
            if self._size == PIECE:
                self.flush()

    def flush(self) -> None:
        """What was written since the last piece is one."""
        if self._size:
            self._listed.pieces.append((self._size, self._digest.hexdigest()))
            self._listed.n_bytes += self._size
            self._digest, self._size = hashlib.sha256(), 0

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
