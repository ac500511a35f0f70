"""`convert`: any data that can be read, as a data folder, in one pass.

XMC, svmlight and split XMC text goes through the parallel parser window by window; of files with texts these are
written as they come, and labels when all of them are known. npz files are read whole, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...arrays import Csr, is_list
from ...core import DataError, InputError, as_path, clear_calls, progress, shown
from ..dataset import Dataset
from ..formats import find_format, read
from ..formats.files import present, reading
from ..formats.io import READERS, file_of_part
from ..formats.names import align, read_names
from ..formats.options import Options, make_options, refuse_foreign
from ..formats.rows import Layout as RowLayout
from ..formats.rows import join_pieces, parse_pieces
from ..formats.xmc import header_of, read_filter, split_prefix
from .layout import is_folder
from .opened import open
from .writer import BLOCK, Writer

CHUNK = 1 << 14  # rows that are copied together
TEXTS = ("jsonl", "csv", "tsv", "parquet", "annif-tsv", "annif-folder", "fasttext")


@clear_calls
def convert(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    to: str | os.PathLike[str],
    *,
    append: bool = False,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write the rows of some files (or data folders) to a data folder; `options` are those of `read`."""
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    if not is_list(paths) or not paths:
        raise InputError(f"sources must be one path or a list of them; got {shown(sources)}")
    given = [as_path(path, error=DataError) for path in paths]
    said = make_options(**options)
    for path in given:
        if not path.exists() and find_format(path, said) is None:  # which says what is wrong
            raise DataError("there is no such file or folder", path=path)
    with Writer(to, append=append) as out:
        for path in given:
            _convert(path, out, format, said, options)


def _convert(path: Path, out: Writer, format: str | None, said: Options, options: dict[str, Any]) -> None:
    if is_folder(path) and format is None:
        stored = open(path)
        for first in range(0, stored.n_rows, CHUNK):
            out.add(stored.select(slice(first, first + CHUNK)))
        return
    place = file_of_part(path, said) if format not in ("npz", "xmc-split") else path
    kind = format or find_format(place, said)
    if said.labels is None and kind in ("xmc", "svmlight"):
        refuse_foreign(said, kind)
        _rows(place, kind, out, said)
    elif said.labels is None and kind == "xmc-split":
        refuse_foreign(said, kind)
        _split(split_prefix(place, said) or place, out, said)
    elif kind in TEXTS:
        refuse_foreign(said, kind)
        texts = _Texts(out)
        found = READERS[kind](place, replace(said, texts_to=texts))
        texts.flush()
        out.add_labels(found.Y, found.label_names)
    else:
        out.add(read(path, format=format, **options))


class _Texts:
    """Takes texts in place of a list."""

    def __init__(self, out: Writer) -> None:
        self._out, self._some, self._n = out, list[str](), 0

    def append(self, text: str) -> None:
        self._some.append(text)
        self._n += 1
        if len(self._some) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        if self._some:
            self._out.add_texts(self._some)
        self._some = []

    def __len__(self) -> int:
        return self._n


def _rows(path: Path, kind: str, out: Writer, said: Options) -> None:
    size = path.stat().st_size
    with progress.step(f"reading {path.name}", total=size, unit="B") as advance, reading(path, advance) as file:
        n_rows, labels = None, None
        if kind == "xmc":
            n_rows, n_features, n_labels = header_of(file, path, ("rows", "features", "labels"))
            layout = RowLayout(n_labels=n_labels, n_features=n_features)
            labels = read_names(path.parent, "labels.txt", n_labels, "labels")
            features = read_names(path.parent, "features.txt", n_features, "features")
            if features is not None:
                out.name_features(features)
        else:
            if said.index_base is None:
                READERS[kind](path, said)  # which says what is wrong
            layout = RowLayout(
                comments=True, n_labels=said.n_labels, n_features=said.n_features, base=said.index_base or 0,
                source="n_features and n_labels",
            )  # fmt: skip
        first_line = 2 if kind == "xmc" else 1
        repeated = 0
        pieces = parse_pieces(file, path, layout, first_line=first_line, n_rows=n_rows, threads=said.threads)
        for arrays, duplicates in pieces:
            found = join_pieces([arrays], layout)
            out.add_features(found.X)
            out.add_labels(found.Y, labels)
            repeated += duplicates
    if repeated:
        progress.note(f"{path.name}: {repeated} labels occur twice in their row and were counted once")


def _split(prefix: Path, out: Writer, said: Options) -> None:
    """Features and labels lie apart, and so they do in the folder."""
    counts = {}
    for end, column in (("X_Xf", "feature"), ("X_Y", "label")):
        wanted = prefix.with_name(f"{prefix.name}_{end}.txt")
        path = present(wanted)
        if path is None:
            raise DataError(f"there is no such file; a split XMC data set needs it for its {column}s", path=wanted)
        with progress.step(f"reading {path.name}", total=path.stat().st_size, unit="B") as advance:
            for shape, matrix in _half(path, column, said, advance):
                counts[column] = shape
                if matrix is None:
                    continue
                if column == "feature":
                    out.add_features(matrix)
                else:
                    out.add_labels(matrix, read_names(prefix.parent, "labels.txt", shape[1], "labels"))
    if counts["feature"][0] != counts["label"][0]:
        raise DataError(
            f"has {counts['label'][0]} rows; {prefix.name}_X_Xf.txt beside it has {counts['feature'][0]}",
            path=prefix.with_name(f"{prefix.name}_X_Y.txt"),
        )
    names = read_names(prefix.parent, "features.txt", counts["feature"][1], "features")
    if names is not None:
        out.name_features(names)
    part = {"trn": "train", "tst": "test"}.get(prefix.name, prefix.name)
    excluded = read_filter(prefix.with_name(f"filter_labels_{part}.txt"), counts["label"])
    if excluded is not None:
        raise DataError(
            "lists pairs that do not count, which `read` takes out of the labels: xt.write(xt.read(…), 'data.xt') does "
            "the same",
            path=prefix.with_name(f"filter_labels_{part}.txt"),
        )


def _half(path: Path, column: str, said: Options, advance: Any) -> Iterator[tuple[tuple[int, int], Csr | None]]:
    with reading(path, advance) as file:
        n_rows, n_columns = header_of(file, path, ("rows", f"{column}s"))
        layout = RowLayout(labelled=False, n_labels=0, n_features=n_columns, feature=column)
        yield (n_rows, n_columns), None
        for arrays, _ in parse_pieces(file, path, layout, first_line=2, n_rows=n_rows, threads=said.threads):
            yield (n_rows, n_columns), join_pieces([arrays], layout).X


def read_folder(path: Path, options: Options) -> Dataset:
    """For `read`."""
    return align(open(path), options.labels, path)


def write_folder(dataset: Dataset, path: Path, options: Options) -> None:
    """For `write`: some rows at a time."""
    with Writer(path, name=dataset.name) as out:
        if dataset.excluded is not None:
            out.add(dataset)
            return
        for first in range(0, max(1, dataset.n_rows), CHUNK):
            out.add(dataset.select(slice(first, first + CHUNK)))
