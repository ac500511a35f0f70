"""`Gathered`: the forms of names as arrays, each form once; two of them are joined, some labels are taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Float32, Int32, Int64, StringTable, ranges
from .parse import Form

LEAST_WEIGHT = 0.05  # of a word that every text has


class Gathered(NamedTuple):
    """Words, forms of such, and the labels of each form."""

    words: StringTable  # by their bytes
    weights: Float32
    offsets: Int64  # of forms in
    flat: Int32  # the numbers of their words, main ones first
    main: Int32  # how many main words a form has
    label_offsets: Int64
    labels: Int32  # of each form, ascending
    names: Int32  # the last name that has the form

    @classmethod
    def of(
        cls, labels: Sequence[int], forms: Sequence[Sequence[Form]], *, known: Mapping[str, int], n_texts: int,
        first: int = 0,
    ) -> Gathered:  # fmt: skip
        """The forms of some names, whose numbers begin at `first`; each name is of a label."""
        found: dict[Form, tuple[dict[int, None], list[int]]] = {}  # form -> its labels, the last name
        for i, (label, made) in enumerate(zip(labels, forms, strict=True)):
            for form in made:
                of, named = found.setdefault(form, ({}, [0]))
                of[label], named[0] = None, first + i
        words = sorted({word for form in found for part in form for word in part}, key=str.encode)
        number = {word: i for i, word in enumerate(words)}
        counts = np.fromiter((known.get(word, 0) for word in words), np.float64, len(words))
        weights = np.maximum(np.log((1.0 + n_texts) / (1.0 + counts)), LEAST_WEIGHT).astype(np.float32)
        offsets, flat = _joined([[number[word] for part in form for word in part] for form in found])
        label_offsets, ids = _joined([sorted(of) for of, _ in found.values()])
        return cls(
            StringTable.of(words), weights, offsets, flat,
            np.fromiter((len(form.main) for form in found), np.int32, len(found)), label_offsets, ids,
            np.fromiter((named[0] for _, named in found.values()), np.int32, len(found)),
        )  # fmt: skip

    def and_these(self, more: Gathered) -> Gathered:
        """Both together; the names, and the labels, of `more` come behind those of this one."""
        words = [*self.words, *more.words]
        both = sorted({*words}, key=str.encode)
        number = {word: i for i, word in enumerate(both)}
        place = np.fromiter((number[word] for word in words), np.int32, len(words))
        weights = np.empty(len(both), np.float32)
        weights[place] = np.concatenate([self.weights, more.weights])
        flat = np.concatenate([place[self.flat], place[len(self.words) :][more.flat]])
        offsets = np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]])
        main = np.concatenate([self.main, more.main])
        keys = [(m, flat[a:b].tobytes()) for m, (a, b) in zip(main.tolist(), pairwise(offsets.tolist()), strict=True)]
        ids: dict[tuple[int, bytes], int] = {}
        form = np.fromiter((ids.setdefault(key, len(ids)) for key in keys), np.int64, len(keys))
        kept = np.unique(form, return_index=True)[1]
        names = np.zeros(len(ids), np.int32)
        np.maximum.at(names, form, np.concatenate([self.names, more.names]))
        pairs = form[np.concatenate([self.of_labels, len(self.main) + more.of_labels])]
        labels = np.concatenate([self.labels, more.labels])
        return _made(StringTable.of(both), weights, offsets, flat, main, kept, names, pairs, labels)

    def only(self, some: Int64) -> Gathered:
        """Forms of some labels, which rise; their numbers are their places among these."""
        here = np.isin(self.labels, some)
        form, labels = self.of_labels[here], np.searchsorted(some, self.labels[here])
        kept, place = np.unique(form, return_inverse=True)
        return _made(
            self.words, self.weights, self.offsets, self.flat, self.main, kept, self.names[kept], place, labels
        )

    @property
    def of_labels(self) -> Int64:
        """The form of each entry of `labels`."""
        return np.repeat(np.arange(len(self.main)), np.diff(self.label_offsets))

    def ambiguity(self) -> Float32:
        """Of each form, how many labels have these main words (log)."""
        begins = self.offsets[:-1].tolist()
        ids: dict[bytes, int] = {}
        parts = (self.flat[a : a + m].tobytes() for a, m in zip(begins, self.main.tolist(), strict=True))
        group = np.fromiter((ids.setdefault(part, len(ids)) for part in parts), np.int64, len(begins))
        width = int(self.labels.max(initial=0)) + 1
        pairs = np.unique(group[self.of_labels] * width + self.labels)
        return np.log(np.bincount(pairs // width, minlength=len(ids))[group]).astype(np.float32)

    def in_order(self) -> Gathered:
        """Forms by the main word that says most: those that a word leads to lie side by side in memory."""
        begins = self.offsets[:-1]
        at = ranges(begins, self.main.astype(np.int64))
        form = np.repeat(np.arange(len(self.main)), self.main)
        weight = self.weights[self.flat[at]]
        best = np.lexsort((np.arange(len(at)), -weight, form))
        rarest = self.flat[at[best[np.searchsorted(form, np.arange(len(self.main)))]]]
        first = self.labels[self.label_offsets[:-1]]
        words = [tuple(self.flat[a:b].tolist()) for a, b in pairwise(self.offsets.tolist())]
        keys = list(zip(rarest.tolist(), first.tolist(), words, self.main.tolist(), strict=True))
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return _made(
            self.words, self.weights, self.offsets, self.flat, self.main, order, self.names[order],
            place[self.of_labels], self.labels,
        )  # fmt: skip


def _made(
    words: StringTable, weights: Float32, offsets: Int64, flat: Int32, main: Int32, kept: Int64, names: Int32,
    form: Int64, labels: Array,
) -> Gathered:  # fmt: skip
    """The forms `kept`, in this order, with the pairs (form, label) that are given; words that none has are gone."""
    lengths = np.diff(offsets)[kept]
    flat = flat[ranges(offsets[kept], lengths)]
    used = np.unique(flat)
    if len(used) < len(words):
        words, weights = StringTable.of(words.some(used.tolist())), weights[used]
        flat = np.searchsorted(used, flat).astype(np.int32)
    order = np.lexsort((labels, form))
    label_offsets = np.searchsorted(form[order], np.arange(len(kept) + 1))
    return Gathered(
        words, weights, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), flat, main[kept],
        label_offsets.astype(np.int64), labels[order].astype(np.int32), names.astype(np.int32),
    )  # fmt: skip


def _joined(rows: Sequence[Sequence[int]]) -> tuple[Int64, Any]:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return offsets, np.fromiter((i for row in rows for i in row), np.int32, int(offsets[-1]))
