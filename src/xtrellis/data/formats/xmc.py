"""Files of the Extreme Classification repository: one text file, or features and labels apart.

One file: `rows features labels` on the first line, then `l1,l2 f:v f:v` a row, all numbers from 0. A row without labels
begins with a blank or directly with a feature. Names may lie beside it in labels.txt and features.txt.

Split: `trn_X_Xf.txt` (`rows features`, then `f:v …`) and `trn_X_Y.txt` (`rows labels`, then `l:1 …`), `tst_…` alike;
`filter_labels_train.txt` and `filter_labels_test.txt` list `row label` pairs that must not count.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...arrays import MAX_ID, Csr, row_numbers
from ...core import DataError, progress
from ..align import labels_from_pairs
from ..dataset import Dataset
from . import rows
from .files import decode, plain_name, present, reading, without_bom, writing
from .names import align, read_names, write_names
from .options import Options
from .require import features_of

PARTS = {"train": "trn", "test": "tst"}


def read_xmc(path: Path, options: Options) -> Dataset:
    """One XMC text file."""
    with progress.step(f"reading {path.name}", total=_size(path), unit="B") as advance, reading(path, advance) as file:
        n_rows, n_features, n_labels = header_of(file, path, ("rows", "features", "labels"))
        layout = rows.Layout(n_labels=n_labels, n_features=n_features)
        parsed = rows.parse(file, path, layout, first_line=2, n_rows=n_rows, threads=options.threads)
    rows.note_duplicates(parsed, path)
    dataset = Dataset(
        parsed.X,
        parsed.Y,
        label_names=read_names(path.parent, "labels.txt", n_labels, "labels"),
        feature_names=read_names(path.parent, "features.txt", n_features, "features"),
        name=plain_name(path).removesuffix(".txt"),
    )
    return align(dataset, options.labels, path)


def write_xmc(dataset: Dataset, path: Path, options: Options) -> None:
    """One XMC text file; names go to labels.txt and features.txt beside it."""
    X = features_of(dataset, "xmc")
    _write_names(path.parent, dataset)
    with writing(path) as out:
        out.write(b"%d %d %d\n" % (dataset.n_rows, dataset.n_features, dataset.n_labels))
        rows.emit(out, dataset.Y, X)


def split_prefix(path: Path, options: Options) -> Path | None:
    """`folder/trn` for a folder, prefix or file of a split data set; None if `path` is nothing of the kind."""
    if path.is_dir():
        there = [part for part, prefix in PARTS.items() if present(path / f"{prefix}_X_Xf.txt")]
        if not there:
            return None
        if options.part is None and len(there) > 1:
            raise DataError(f"holds the parts {' and '.join(there)}; say which with part={there[0]!r}", path=path)
        return path / PARTS[options.part or there[0]]
    name = plain_name(path)
    for end in ("_X_Xf.txt", "_X_Y.txt"):
        if name.endswith(end):
            return path.with_name(name.removesuffix(end))
    return path if present(path.with_name(f"{path.name}_X_Xf.txt")) else None


def read_split(path: Path, options: Options) -> Dataset:
    """Features, labels and filter of one part."""
    prefix = split_prefix(path, options) or path
    X = _read_half(prefix.with_name(f"{prefix.name}_X_Xf.txt"), "feature", options)
    Y_path = prefix.with_name(f"{prefix.name}_X_Y.txt")
    Y = _read_half(Y_path, "label", options)
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"has {Y.shape[0]} rows; {prefix.name}_X_Xf.txt beside it has {X.shape[0]}", path=Y_path)
    part = next((long for long, short in PARTS.items() if short == prefix.name), prefix.name)
    dataset = Dataset(
        X,
        Y,
        label_names=read_names(prefix.parent, "labels.txt", int(Y.shape[1]), "labels"),
        feature_names=read_names(prefix.parent, "features.txt", int(X.shape[1]), "features"),
        name=prefix.name,
        excluded=read_filter(prefix.with_name(f"filter_labels_{part}.txt"), (int(Y.shape[0]), int(Y.shape[1]))),
    )
    return align(dataset, options.labels, path)


def write_split(dataset: Dataset, path: Path, options: Options) -> None:
    """Features and labels apart: `path` is a folder (with `part`) or a prefix such as `folder/trn`."""
    X = features_of(dataset, "xmc-split")
    is_folder = options.part is not None or path.is_dir()
    prefix = path / PARTS[options.part or "train"] if is_folder else path
    part = next((long for long, short in PARTS.items() if short == prefix.name), prefix.name)
    _write_names(prefix.parent, dataset)
    for end, matrix in (("X_Xf", X), ("X_Y", dataset.Y)):
        with writing(prefix.with_name(f"{prefix.name}_{end}.txt")) as out:
            out.write(b"%d %d\n" % matrix.shape)
            rows.emit(out, dataset.Y, matrix, labelled=False)
    if dataset.excluded is not None:
        with writing(prefix.with_name(f"filter_labels_{part}.txt")) as out:
            pairs = np.column_stack([row_numbers(dataset.excluded), dataset.excluded.indices])
            np.savetxt(out, pairs, fmt="%d")


def _write_names(folder: Path, dataset: Dataset) -> None:
    write_names(folder, "labels.txt", dataset.label_names)
    write_names(folder, "features.txt", dataset.feature_names)


def _read_half(wanted: Path, column: str, options: Options) -> Csr:
    path = present(wanted)
    if path is None:
        raise DataError(f"there is no such file; a split XMC data set needs it for its {column}s", path=wanted)
    with progress.step(f"reading {path.name}", total=_size(path), unit="B") as advance, reading(path, advance) as file:
        n_rows, n_columns = header_of(file, path, ("rows", f"{column}s"))
        layout = rows.Layout(labelled=False, n_labels=0, n_features=n_columns, feature=column)
        return rows.parse(file, path, layout, first_line=2, n_rows=n_rows, threads=options.threads).X


def read_filter(wanted: Path, shape: tuple[int, int]) -> Csr | None:
    """Pairs that must not count, if there is such a file."""
    path = present(wanted)
    if path is None:
        return None
    pairs: list[tuple[int, int]] = []
    with reading(path) as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words:
                continue
            if len(words) != 2 or not all(word.isdigit() and len(word) <= 18 for word in words):
                raise DataError(f"expected 'row label', two numbers from 0; got {line[:60]!r}", path=path, line=number)
            pair = int(words[0]), int(words[1])
            if pair[0] >= shape[0] or pair[1] >= shape[1]:
                raise DataError(
                    f"row {pair[0]}, label {pair[1]} is outside the {shape[0]} rows and {shape[1]} labels of the data",
                    path=path,
                    line=number,
                )
            pairs.append(pair)
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return labels_from_pairs(both[:, 0], both[:, 1], shape)


def header_of(file: BinaryIO, path: Path, names: tuple[str, ...]) -> tuple[int, ...]:
    """The counts on the first line."""
    line = without_bom(file.readline(1000))
    words = line.split()
    expected = f"expected a first line of {len(names)} counts: {' '.join(names)}"
    if len(words) != len(names) or not all(word.isdigit() for word in words):
        shown = decode(line[:60].rstrip(), path, 1) if line else "an empty file"
        raise DataError(f"{expected}; got {shown!r}", path=path, line=1)
    for name, word in zip(names, words, strict=True):
        if len(word) > 18 or int(word) > MAX_ID:
            raise DataError(f"{expected}, each at most {MAX_ID}; {name} is {word.decode()[:40]}", path=path, line=1)
    return tuple(int(word) for word in words)


def _size(path: Path) -> float | None:
    return path.stat().st_size if path.is_file() else None
