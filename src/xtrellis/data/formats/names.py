"""Names of labels and features: `labels.txt` and `features.txt`, one name a line."""

from __future__ import annotations

from pathlib import Path

from ...arrays import StringTable
from ...core import DataError, InputError
from ..align import align as align_labels
from ..dataset import Dataset
from .files import BOM, decode, head, is_file, present, reading, without_bom, writing


def read_names(folder: Path, file_name: str, expected: int | None, things: str) -> StringTable | None:
    """The names in `folder/file_name` (compressed or not), `expected` of them if that is known; None if there is no
    such file."""
    path = present(folder / file_name)
    if path is None:
        return None
    with reading(path) as file:
        content = without_bom(file.read())
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if expected is not None and len(lines) != expected:
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
    content = keep_bom(encode("".join(f"{name}\n" for name in names), file_name))
    if is_file(path):
        if head(path, len(content) + 1) == content:
            return
        raise InputError(f"{path} exists and holds other names; write to another folder, or move it away")
    with writing(path) as out:
        out.write(content)


def keep_bom(content: bytes) -> bytes:
    """Text whose first character looks like the mark that readers take off gets another one, for them to take."""
    return BOM + content if content.startswith(BOM) else content


def encode(string: str, what: str) -> bytes:
    """UTF-8; a string with half a surrogate pair in it has none."""
    try:
        return string.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{what} cannot be written as UTF-8: {error.reason} at position {error.start}") from None


def align(dataset: Dataset, labels: StringTable | None, path: Path) -> Dataset:
    """The same rows with the label columns of `labels`, if any are given; a DataError names the file."""
    if labels is None:
        return dataset
    try:
        return align_labels(dataset, labels)
    except InputError as error:
        raise DataError(f"{error} (labels.txt beside the data would name them)", path=path) from None
