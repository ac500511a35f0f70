"""Learning on: names of new labels are looked for, and matches of new rows are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Csr, Int32, Int64, StringTable, assemble
from ..data import TrainingData
from ..text import WordReader
from .gathered import Gathered
from .index import NameIndex
from .parse import forms_of, split
from .scorer import NameScorer
from .training import count_matches, to_int32


class HowFound(NamedTuple):
    """What names are found by, as of the model: words that names are made of, in `n_texts` texts."""

    reader: WordReader
    partial: float
    likeness: float
    n_texts: int
    words: Callable[[], Counter[str]]  # in how many of the texts each is; asked for if a name is new
    threads: int | None

    def index_of(self, forms: Gathered, names: StringTable, labels: Int32, rows: Int64) -> NameIndex:
        """Of the forms of names; `rows` of each label."""
        return NameIndex.of(forms, names, labels, label_rows=rows, partial=self.partial, likeness=self.likeness)

    def index_with(self, known: NameIndex | None, names: Sequence[Sequence[str]], rows: Int64) -> NameIndex:
        """Of the names of all labels: what is known, and those of new labels, which come last.

        A name is split by what others begin with, so new ones may change how known ones are read; then, and where known
        labels are called otherwise, all are read again. `known` is none if it was made from other texts.
        """
        flat = [name for of_label in names for name in of_label]
        labels = np.repeat(np.arange(len(names), dtype=np.int32), [len(of_label) for of_label in names])
        parts = split(flat)
        old = known.gathered if known is not None and _begins(known, flat, labels, parts) else None
        if known is None or old is None:
            return self.index_of(self._gathered(parts, labels), StringTable.of(flat), labels, rows)
        first = len(known.names)
        if first == len(flat):
            return known if known.n_labels == len(names) else self.index_of(old, known.names, labels, rows)
        more = self._gathered(parts[first:], labels[first:], first)
        return self.index_of(old.and_these(more), known.names.and_these(flat[first:]), labels, rows)

    def _gathered(self, parts: Sequence[tuple[str, str]], labels: Int32, first: int = 0) -> Gathered:
        """The forms of some names, from the number `first` on."""
        words = self.words()
        made = forms_of(parts, self.reader, words)
        return Gathered.of(labels.tolist(), made, known=words, n_texts=self.n_texts, first=first)

    def index_among(self, index: NameIndex, some: Int64, names: Sequence[Sequence[str]], rows: Int64) -> NameIndex:
        """Of some labels alone, as an index of all finds them; `rows` of each of these."""
        forms = index.gathered
        if forms is None:
            return self.index_with(None, [names[i] for i in some.tolist()], rows)
        return self.index_of(forms.only(some), index.names, index.name_labels, rows)


def _begins(known: NameIndex, names: list[str], labels: Int32, parts: list[tuple[str, str]]) -> bool:
    """True if the names that are known are the first of these, of the same labels, and are split alike."""
    n = len(known.names)
    if not np.array_equal(known.name_labels, labels[:n]) or (len(labels) > n and labels[n] < known.n_labels):
        return False
    before = list(known.names)
    return before == names[:n] and split(before) == parts[:n]


def learned_on(
    scorer: NameScorer, known: NameIndex | None, names: Sequence[Sequence[str]], data: TrainingData, fresh: Int64,
    again: Int64, how: HowFound, read: Callable[[Sequence[str]], Sequence[str]],
) -> tuple[NameIndex, NameScorer]:  # fmt: skip
    """The index with all names, and the same curves with more matches counted.

    Of labels that are known, the fresh rows add to what was counted. New ones, and those that are to be learned again,
    are counted in all rows: a name is worth as much as the share of texts that have it and its label, and the texts
    that have the name alone came before the label as well as after it. `read` gives what is read of texts.
    """
    n_old = len(scorer.rows)
    pad = data.n_labels - n_old
    index = how.index_with(known, names, np.pad(scorer.rows, (0, pad)).astype(np.int64))
    new = data.select(fresh)
    matches, hits, _ = count_matches(index, how.reader, read(new.texts or ()), new.Y, threads=how.threads)
    matches += np.pad(scorer.matches, ((0, 0), (0, pad)))
    hits += np.pad(scorer.hits, ((0, 0), (0, pad)))
    rows = np.pad(scorer.rows, (0, pad)).astype(np.int64) + np.bincount(new.Y.indices, minlength=data.n_labels)
    anew = np.union1d(again, np.arange(n_old, data.n_labels)).astype(np.int64)
    if len(anew):
        Y = _columns(data.Y, anew)
        rows[anew] = np.bincount(Y.indices, minlength=len(anew))
        some = how.index_among(index, anew, names, rows[anew])
        texts = read(data.texts or ())
        matches[:, anew], hits[:, anew], _ = count_matches(some, how.reader, texts, Y, threads=how.threads)
    return index, NameScorer(scorer.curves, to_int32(rows), to_int32(matches), to_int32(hits), scorer.general)


def _columns(Y: Csr, some: Int64) -> Csr:
    """Some of the labels, which rise."""
    place = np.full(int(Y.shape[1]), -1, np.int32)
    place[some] = np.arange(len(some))
    kept: Array = place[Y.indices] >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return assemble(Y.data[kept], place[Y.indices[kept]], offsets, (int(Y.shape[0]), len(some)))
