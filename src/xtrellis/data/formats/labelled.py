"""Lists of label names, row by row, become a label matrix.

Labels are numbered in the order of their names (by code point), so that the numbers do not depend on the order of the
rows. With names given (a model's), those are the columns; other labels are left out and counted. A label that a row
names twice counts once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...arrays import StringTable
from ...core import DataError
from ..align import labels_from_pairs, require_distinct
from ..dataset import Dataset
from .tidy import Tidy


class Collector:
    """Takes rows of text and label names; gives a Dataset at the end."""

    def __init__(self, path: Path, known: StringTable | None) -> None:
        self._path, self._known = path, known
        self.tidy = Tidy()
        self._texts: list[str] = []
        self._ids: dict[str, int] = {}
        self._rows, self._labels = array("q"), array("q")

    def add(self, text: str, labels: list[str], line: int | None, place: str = "") -> None:
        """One row; `line` is where it came from, or `place` in files that have no lines."""
        row, ids = len(self._texts), self._ids
        self._texts.append(text)
        for label in labels:
            if type(label) is not str:
                raise DataError(f"{place}expected labels that are strings; got {label!r}", path=self._path, line=line)
            label = self.tidy.name(label)
            if not label:
                raise DataError(f"{place}expected label names; got an empty one", path=self._path, line=line)
            self._labels.append(ids.setdefault(label, len(ids)))
            self._rows.append(row)

    def finish(self, name: str) -> Dataset:
        """All rows so far; tells what was mended in them."""
        self.tidy.tell(self._path.name)
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
        rows = np.frombuffer(self._rows, np.int64)
        raw = np.frombuffer(self._labels, np.int64)
        labels = target[raw]
        kept = labels >= 0
        Y = labels_from_pairs(rows[kept], labels[kept], (len(self._texts), len(columns)))
        return Dataset(
            None,
            Y,
            texts=self._texts,
            label_names=columns,
            name=name,
            dropped_labels=len(np.unique(rows[~kept] * (len(names) + 1) + raw[~kept])),
        )


def _columns_of(columns: StringTable, labels: list[str]) -> Iterator[int]:
    """The column of each label, or -1. A model may know names with white space around them: found, if no other is."""
    odd: dict[str, int] | None = None
    for label in labels:
        found = columns.find(label)
        if found is None and odd is None:
            odd = {name.strip(): i for i, name in enumerate(columns) if name != name.strip()}
        yield (odd or {}).get(label, -1) if found is None else found
