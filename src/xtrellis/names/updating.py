"""Learning on: names of new labels are looked for, and matches of new rows are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Csr, Int64, assemble
from ..data import TrainingData
from ..text import WordReader
from .index import NameIndex
from .scorer import NameScorer
from .training import build_index, count_matches, to_int32


class HowFound(NamedTuple):
    """What names are found by, as of the model; `words`: in how many of the texts `first` each word is."""

    reader: WordReader
    partial: float
    likeness: float
    first: Sequence[str]
    words: Counter[str]
    threads: int | None

    def index_of(self, names: Sequence[Sequence[str]], rows: Int64) -> NameIndex:
        """Of names, the rows of whose labels are so many."""
        return build_index(
            names, self.reader, self.first, rows, partial=self.partial, likeness=self.likeness,
            threads=self.threads, known=self.words,
        )  # fmt: skip


def learned_on(
    scorer: NameScorer, names: Sequence[Sequence[str]], data: TrainingData, fresh: Int64, again: Int64, how: HowFound
) -> tuple[NameIndex, NameScorer]:
    """The index with all names, and the same curves with more matches counted.

    Of labels that are known, the fresh rows add to what was counted. New ones, and those that are to be learned again,
    are counted in all rows: a name is worth as much as the share of texts that have it and its label, and the texts
    that have the name alone came before the label as well as after it.
    """
    texts, n_old = data.texts or (), len(scorer.rows)
    pad = data.n_labels - n_old
    index = how.index_of(names, np.pad(scorer.rows, (0, pad)).astype(np.int64))
    new = data.select(fresh)
    matches, hits, _ = count_matches(index, how.reader, new.texts or (), new.Y, threads=how.threads)
    matches += np.pad(scorer.matches, ((0, 0), (0, pad)))
    hits += np.pad(scorer.hits, ((0, 0), (0, pad)))
    rows = np.pad(scorer.rows, (0, pad)).astype(np.int64) + np.bincount(new.Y.indices, minlength=data.n_labels)
    anew = np.union1d(again, np.arange(n_old, data.n_labels)).astype(np.int64)
    if len(anew):
        Y = _columns(data.Y, anew)
        rows[anew] = np.bincount(Y.indices, minlength=len(anew))
        some = how.index_of([names[i] for i in anew.tolist()], rows[anew])
        matches[:, anew], hits[:, anew], _ = count_matches(some, how.reader, texts, Y, threads=how.threads)
    return index, NameScorer(scorer.curves, to_int32(rows), to_int32(matches), to_int32(hits), scorer.general)


def _columns(Y: Csr, some: Int64) -> Csr:
    """Some of the labels, which rise."""
    place = np.full(int(Y.shape[1]), -1, np.int32)
    place[some] = np.arange(len(some))
    kept: Array = place[Y.indices] >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return assemble(Y.data[kept], place[Y.indices[kept]], offsets, (int(Y.shape[0]), len(some)))
