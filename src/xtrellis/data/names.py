"""Names of labels and features: `labels.txt` and `features.txt`, one name a line; and lining up two lists of names."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..arrays import assemble
from ..errors import DataError, InputError, ParameterError
from ..strings import StringTable
from ..types import Csr
from .dataset import Dataset, row_numbers
from .files import decode, present, reading, without_bom, writing


def read_names(folder: Path, file_name: str, expected: int, things: str) -> StringTable | None:
    """The names in `folder/file_name` (compressed or not); None if there is no such file."""
    path = present(folder / file_name)
    if path is None:
        return None
    with reading(path) as file:
        content = without_bom(file.read())
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if len(lines) != expected:
        raise DataError(
            f"expected {expected} names, one for each of the {things} of the data beside it; got {len(lines)} "
            "(if the file belongs to other data, move it away)",
            path=path,
        )
    return StringTable.of([decode(line.removesuffix(b"\r"), path, i) for i, line in enumerate(lines, 1)])


def write_names(folder: Path, file_name: str, names: StringTable | None) -> None:
    """The inverse of `read_names`. A file that already holds other names is left alone: it may belong to other data."""
    if names is None:
        return
    for i, name in enumerate(names):
        if "\n" in name or name.endswith("\r"):
            raise InputError(f"name {i}, {name!r}, does not fit on a line of {file_name}")
    path = folder / file_name
    content = encode("".join(f"{name}\n" for name in names), file_name)
    if path.exists():
        if path.read_bytes() == content:
            return
        raise InputError(f"{path} exists and holds other names; write to another folder, or move it away")
    with writing(path) as out:
        out.write(content)


def encode(string: str, what: str) -> bytes:
    """UTF-8; a string with half a surrogate pair in it has none."""
    try:
        return string.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{what} cannot be written as UTF-8: {error.reason} at position {error.start}") from None


def align(dataset: Dataset, labels: StringTable | None, path: Path) -> Dataset:
    """The same rows with the label columns of `labels` (a model's). Labels that are not among them are left out and
    counted; data without names must already have as many columns."""
    if labels is None:
        return dataset
    if dataset.label_names is None:
        if dataset.n_labels != len(labels):
            raise DataError(
                f"has {dataset.n_labels} labels and no names for them (labels.txt); expected the {len(labels)} given",
                path=path,
            )
        return replace(dataset, label_names=labels)
    if dataset.label_names == labels:
        return dataset
    require_distinct(labels)
    found = [labels.find(name) for name in dataset.label_names]
    target = np.array([-1 if i is None else i for i in found], np.int64)
    Y = _rename(dataset.Y, target, len(labels))
    return replace(
        dataset,
        Y=Y,
        label_names=labels,
        excluded=None if dataset.excluded is None else _rename(dataset.excluded, target, len(labels)),
        dropped_labels=dataset.dropped_labels + int(dataset.Y.nnz - Y.nnz),
    )


def require_distinct(labels: StringTable) -> None:
    """Names that are to pick columns must each mean one."""
    if len(set(labels)) != len(labels):
        ordered = sorted(labels)
        twice = next(a for a, b in itertools.pairwise(ordered) if a == b)
        raise ParameterError(f"labels must be distinct names; {twice!r} occurs twice")


def _rename(Y: Csr, target: np.ndarray, n_labels: int) -> Csr:
    columns = target[Y.indices]
    kept = columns >= 0
    return labels_from_pairs(row_numbers(Y)[kept], columns[kept], (Y.shape[0], n_labels))


def labels_from_pairs(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Csr:
    """A label matrix from (row, label) pairs in any order; a pair that comes twice counts once."""
    pairs = np.unique(rows.astype(np.int64) * max(1, shape[1]) + columns)
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(pairs // max(1, shape[1]), minlength=shape[0]), out=indptr[1:])
    return assemble(np.ones(len(pairs), np.float32), (pairs % max(1, shape[1])).astype(np.int32), indptr, shape)
