"""Lists of label names, row by row, become a label matrix.

Labels are numbered in the order of their names (by code point), so that the numbers do not depend on the order of the
rows. With names given (a model's), those are the columns; other labels are left out and counted. A label that a row
names twice counts once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...arrays import Array, Int64, StringTable
from ...core import DataError, progress
from ..align import labels_from_pairs, require_distinct
from ..dataset import Dataset
from .files import decode, plain_name, reading, without_bom
from .options import Options
from .tabular import parts_of
from .tidy import BadRows, Tidy

Settle = Callable[[Mapping[str, int], Iterable[str]], str | None]


class Collector:
    """Takes rows of text and label names; gives a Dataset at the end."""

    def __init__(self, path: Path, known: StringTable | None, texts_to: Any = None) -> None:
        self._path, self._known = path, known
        self.tidy = Tidy()
        self._texts: Any = [] if texts_to is None else texts_to  # who has texts elsewhere gets rows without them
        self._ids: dict[str, int] = {}
        self._rows, self._labels = array("q"), array("q")
        self._loose = array("b")  # of each pair: may its name turn out to be several?

    def add(self, text: str, labels: list[str], line: int | None, place: str = "", *, loose: bool = False) -> None:
        """One row, or none if it raises; `line` is where it came from, or `place` in files that have no lines.

        Names that are `loose` may hold a separator that only shows once all rows are there (`finish`).
        """
        row, ids = len(self._texts), self._ids
        bare = []
        for label in labels:
            if type(label) is not str:
                raise DataError(f"{place}expected labels that are strings; got {label!r}", path=self._path, line=line)
            bare.append(self.tidy.name(label))
            if not bare[-1]:
                raise DataError(f"{place}expected label names; got an empty one", path=self._path, line=line)
        self._texts.append(text)
        for label in bare:
            self._labels.append(ids.setdefault(label, len(ids)))
            self._rows.append(row)
            self._loose.append(loose)

    def finish(self, name: str, settle: Settle | None = None) -> Dataset:
        """All rows so far; tells what was mended in them. `settle` is asked what separates names that are loose."""
        self.tidy.tell(self._path.name)
        rows, raw = np.frombuffer(self._rows, np.int64), np.frombuffer(self._labels, np.int64)
        if settle is not None and len(self._loose):
            loose = np.frombuffer(self._loose, np.int8).astype(bool)
            separator = settle(*self._apart(raw, loose))
            if separator is not None:
                rows, raw = self._split(rows, raw, loose, separator)
        names = list(self._ids)  # in order of first appearance, as the collected numbers are
        if self._known is None:
            order = sorted(range(len(names)), key=names.__getitem__)
            columns = StringTable.of(names[i] for i in order)
            target = np.empty(len(names), np.int64)
            target[order] = np.arange(len(names))
        else:
            columns = self._known
            require_distinct(columns)
            target = np.fromiter(_columns_of(columns, names), np.int64, len(names))
        labels = target[raw]
        kept = labels >= 0
        Y = labels_from_pairs(rows[kept], labels[kept], (len(self._texts), len(columns)))
        there = isinstance(self._texts, list)
        return Dataset(
            None if there else csr_array((len(self._texts), 0), dtype=np.float32),
            Y,
            texts=self._texts if there else None,
            label_names=columns,
            name=name,
            dropped_labels=len(np.unique(rows[~kept] * (len(names) + 1) + raw[~kept])),
        )

    def _apart(self, raw: Int64, loose: Array) -> tuple[dict[str, int], list[str]]:
        """Loose names with the number of their rows, and those that are not."""
        names = list(self._ids)
        counts = np.bincount(raw[loose], minlength=len(names)).tolist()
        others = np.bincount(raw[~loose], minlength=len(names)).tolist()
        return (
            {name: count for name, count in zip(names, counts, strict=True) if count},
            [name for name, count in zip(names, others, strict=True) if count],
        )

    def _split(self, rows: Int64, raw: Int64, loose: Array, separator: str) -> tuple[Int64, Int64]:
        """Pairs of rows and names in which loose names are the several that they hold; others are forgotten."""
        old, self._ids = list(self._ids), {}
        several = [[name] if separator not in name else parts_of(name, separator) for name in old]
        out_rows, out_labels = array("q"), array("q")
        for row, label, apart in zip(rows.tolist(), raw.tolist(), loose.tolist(), strict=True):
            for name in several[label] if apart else (old[label],):
                out_rows.append(row)
                out_labels.append(self._ids.setdefault(name, len(self._ids)))
        return np.frombuffer(out_rows, np.int64), np.frombuffer(out_labels, np.int64)


def read_lines(path: Path, options: Options, row: Callable[[str, int], tuple[str, list[str]]]) -> Dataset:
    """`row` makes (text, labels) of a line and its number; blank lines are no rows."""
    collector, bad = Collector(path, options.labels, options.texts_to), BadRows(options.skip_bad_rows)
    size = path.stat().st_size if path.is_file() else None
    with (
        progress.step(f"reading {path.name}", total=size, unit="B") as advance,
        reading(path, advance, options.encoding) as file,
    ):
        for number, line in enumerate(file, 1):
            try:
                content = decode((without_bom(line) if number == 1 else line).rstrip(b"\r\n"), path, number)
                if not content.strip():
                    continue
                text, labels = row(content, number)
                collector.add(text, [] if options.unlabelled else labels, number)
            except DataError as error:
                bad.met(error)
    bad.tell(path.name)
    return collector.finish(Path(plain_name(path)).stem)


def _columns_of(columns: StringTable, labels: list[str]) -> Iterator[int]:
    """The column of each label, or -1. A model may know names with white space around them: found, if no other is."""
    odd: dict[str, int] | None = None
    for label in labels:
        found = columns.find(label)
        if found is None and odd is None:
            odd = {name.strip(): i for i, name in enumerate(columns) if name != name.strip()}
        yield (odd or {}).get(label, -1) if found is None else found
