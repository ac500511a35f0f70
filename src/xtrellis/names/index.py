"""`NameIndex`: all names as arrays that the kernel finds them by (native/names/index.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._native import names as native
from .._native import text as text_native  # noqa: F401 - the kernel's settings are defined there
from ..arrays import Array, Int32, Int64, StringTable
from ..core import StoreError
from .gathered import Gathered
from .parse import Form

MOST_POSTS = 1024  # forms that one word leads to
MOST_LABELS = 256  # that one form leads to

# Name, dtype, and how long: of words, forms, or any.
_ARRAYS = {
    "words.table": np.uint64, "weights": np.float32, "near.offsets": np.int64, "near.words": np.int32,
    "near.likeness": np.float32, "forms.offsets": np.int64, "forms.words": np.int32, "forms.main": np.int32,
    "forms.ambiguity": np.float32, "forms.name": np.int32, "forms.label_offsets": np.int64, "forms.labels": np.int32,
    "posts.offsets": np.int64, "posts.forms": np.int32, "posts.shares": np.float32,
    "posts.others": np.int32, "posts.other_shares": np.float32,
}  # fmt: skip


class NameIndex:
    """Words, forms, and which forms a word leads to."""

    def __init__(
        self, words: StringTable, names: StringTable, arrays: Mapping[str, Array], *, n_labels: int, partial: float,
        likeness: float, name_labels: Int32 | None = None,
    ) -> None:  # fmt: skip
        self.words, self.names, self.arrays, self.n_labels = words, names, dict(arrays), n_labels
        self.partial, self.likeness = partial, likeness
        self.name_labels: Int32 = np.arange(len(names), dtype=np.int32) if name_labels is None else name_labels

    @cached_property
    def native(self) -> native.Index:
        """The kernel's view."""
        a = self.arrays
        return native.Index(
            word_text=self.words.text, word_offsets=self.words.offsets, word_table=a["words.table"],
            weights=a["weights"], near_offsets=a["near.offsets"], near_words=a["near.words"],
            near_likeness=a["near.likeness"], form_offsets=a["forms.offsets"], form_words=a["forms.words"],
            form_main=a["forms.main"], form_ambiguity=a["forms.ambiguity"], label_offsets=a["forms.label_offsets"],
            labels=a["forms.labels"], n_labels=self.n_labels, post_offsets=a["posts.offsets"], posts=a["posts.forms"],
            post_shares=a["posts.shares"], post_others=a["posts.others"], post_other_shares=a["posts.other_shares"],
            partial=self.partial, likeness=self.likeness,
        )  # fmt: skip

    @classmethod
    def of(
        cls, forms: Gathered, names: StringTable, labels: Int32, *, label_rows: Int64, partial: float, likeness: float
    ) -> NameIndex:
        """Of the forms of names; `labels` is that of each name, `label_rows` how many rows each label has.

        Whatever order forms come in, the same arrays are made of them.
        """
        forms = forms.in_order()
        table = forms.words
        slots = native.word_table(table.text, table.offsets)
        near = native.near(table.text, table.offsets, slots, likeness)
        label_offsets, label_ids = _most_frequent(forms.label_offsets, forms.labels, label_rows)
        arrays: dict[str, Array] = {
            "words.table": slots,
            "weights": forms.weights,
            "near.offsets": near[0],
            "near.words": near[1],
            "near.likeness": near[2],
            "forms.offsets": forms.offsets,
            "forms.words": forms.flat,
            "forms.main": forms.main,
            "forms.ambiguity": forms.ambiguity(),
            "forms.name": forms.names,
            "forms.label_offsets": label_offsets,
            "forms.labels": label_ids,
            **_posts(forms.offsets, forms.flat, forms.main, forms.weights, len(table), partial),
        }
        return cls(
            table, names, arrays, n_labels=len(label_rows), partial=partial, likeness=likeness, name_labels=labels
        )

    @classmethod
    def build(
        cls, names: Sequence[str], labels: Sequence[int], forms: Sequence[Sequence[Form]], *, known: Mapping[str, int],
        n_texts: int, label_rows: Int64, partial: float, likeness: float,
    ) -> NameIndex:  # fmt: skip
        """Of names, the label of each, and the forms of each."""
        found = Gathered.of(labels, forms, known=known, n_texts=n_texts)
        return cls.of(
            found, StringTable.of(names), np.asarray(labels, np.int32), label_rows=label_rows, partial=partial,
            likeness=likeness,
        )  # fmt: skip

    @property
    def gathered(self) -> Gathered | None:
        """The forms that it is made of; None if it does not hold all labels of each."""
        a = self.arrays
        lengths = np.diff(a["forms.label_offsets"])
        if ((lengths >= MOST_LABELS) | (lengths < 1)).any():
            return None
        return Gathered(
            self.words, a["weights"], a["forms.offsets"], a["forms.words"], a["forms.main"],
            a["forms.label_offsets"], a["forms.labels"], a["forms.name"],
        )  # fmt: skip

    @property
    def n_forms(self) -> int:
        """Names, each once, as lists of words."""
        return len(self.arrays["forms.main"])

    @property
    def n_bytes(self) -> int:
        """Of all arrays."""
        return sum(int(array.nbytes) for array in self.to_arrays().values())

    def words_of(self, form: int) -> list[str]:
        """Of a form, main ones first."""
        a = self.arrays
        return [self.words[int(i)] for i in a["forms.words"][a["forms.offsets"][form] : a["forms.offsets"][form + 1]]]

    def to_arrays(self) -> dict[str, Array]:
        """For the store."""
        own = np.array_equal(self.name_labels, np.arange(len(self.names)))  # as many names as labels, in their order
        of_names = {} if own else {"names.labels": self.name_labels}
        return {**self.words.to_arrays("words"), **self.names.to_arrays("names"), **of_names, **self.arrays}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], *, n_labels: int, partial: float, likeness: float) -> NameIndex:
        """From the store, checked so that no look-up can leave an array or run for ever."""
        words, names = (StringTable.from_arrays(dict(arrays), name) for name in ("words", "names"))
        taken = {name: _take(arrays, name, dtype) for name, dtype in _ARRAYS.items()}
        n_words, n_forms = len(words), len(taken["forms.main"])
        for name, count in (("weights", n_words), ("forms.ambiguity", n_forms), ("forms.name", n_forms)):
            if len(taken[name]) != count:
                raise StoreError(f"{name} must have {count} entries; got {len(taken[name])}")
        if not all(np.isfinite(taken[name]).all() for name in ("weights", "near.likeness", "forms.ambiguity")):
            raise StoreError("weights, near.likeness and forms.ambiguity must be finite")
        if len(taken["near.likeness"]) != len(taken["near.words"]):
            raise StoreError("near.likeness must have as many entries as near.words")
        for offsets, count, ids, limit in (
            ("near.offsets", n_words, "near.words", n_words),
            ("forms.offsets", n_forms, "forms.words", n_words),
            ("forms.label_offsets", n_forms, "forms.labels", n_labels),
            ("posts.offsets", n_words, "posts.forms", n_forms),
        ):
            _check_lists(offsets, taken[offsets], count, ids, taken[ids], limit)
        lengths, main = np.diff(taken["forms.offsets"]), taken["forms.main"]
        if ((main < 1) | (main > lengths) | (lengths > 1 << 10)).any():
            raise StoreError("forms.main must be from 1 to the number of a form's words")
        _check_ids("forms.name", taken["forms.name"], len(names))
        for name in ("posts.shares", "posts.others", "posts.other_shares"):
            if len(taken[name]) != len(taken["posts.forms"]):
                raise StoreError(f"{name} must have as many entries as posts.forms")
        # Where there is no other word it says nothing, so nobody asks whether it is there.
        none, others = taken["posts.others"] < 0, taken["posts.others"]
        _check_ids("posts.others", others[~none], n_words)
        if not np.isfinite(taken["posts.shares"]).all() or not np.isfinite(taken["posts.other_shares"]).all():
            raise StoreError("posts.shares and posts.other_shares must be finite")
        if (taken["posts.other_shares"][none] != 0).any() or (others[none] != -1).any():
            raise StoreError("posts.others must be -1 where posts.other_shares is 0")
        size, (used, largest) = len(taken["words.table"]), native.table_extent(taken["words.table"])
        if size < 1 or size & (size - 1) or used >= size or largest >= n_words:
            raise StoreError("words.table must have a power of two of slots, one of them empty, and point at words")
        of_names = None
        if "names.labels" in arrays:
            of_names = _take(arrays, "names.labels", np.int32)
            _check_ids("names.labels", of_names, n_labels)
            if len(of_names) != len(names) or (np.diff(of_names) < 0).any():
                raise StoreError(f"names.labels must have {len(names)} entries that rise")
        return cls(words, names, taken, n_labels=n_labels, partial=partial, likeness=likeness, name_labels=of_names)


def _most_frequent(offsets: Int64, labels: Int32, rows: Int64) -> tuple[Int64, Int32]:
    """Of the labels of each form the most frequent ones, where there are too many."""
    lengths = np.diff(offsets)
    if lengths.max(initial=0) <= MOST_LABELS:
        return offsets, labels
    form = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((labels, -rows[labels], form))
    order = order[np.arange(len(order)) - offsets[form] < MOST_LABELS]
    kept = np.sort(order)  # labels rise within a form, as they did
    return np.concatenate([[0], np.cumsum(np.minimum(lengths, MOST_LABELS))]), labels[kept]


def _posts(offsets: Int64, flat: Any, main: Any, weights: Any, n_words: int, partial: float) -> dict[str, Array]:
    """Where `partial` of a form's weight is found, one of these is: its heaviest words until less is left.

    Beside each, what it and the heaviest other word say of the form: most forms can be passed by without a look.
    """
    form, word = _main_words(offsets, flat, main)
    pairs, times = np.unique(form * max(n_words, 1) + word, return_counts=True)  # a word may come twice in a name
    form, word = pairs // max(n_words, 1), pairs % max(n_words, 1)
    weight = weights[word].astype(np.float64) * times
    order = np.lexsort((word, -weight, form))
    form, word, weight = form[order], word[order], weight[order]
    share = weight / np.bincount(form, weight, minlength=len(main))[form]
    at, first = np.arange(len(form)), np.searchsorted(form, np.arange(len(main)))[form]
    total = np.concatenate([[0.0], np.cumsum(share)])
    kept = 1 - (total[:-1] - total[first]) >= partial * (1 - 1e-4)
    other = np.where(at == first, np.minimum(first + 1, max(len(form) - 1, 0)), first)
    there = (form[other] == form) & (other != at)
    others, other_share = np.where(there, word[other], -1), np.where(there, share[other], 0.0)
    kept = np.flatnonzero(kept)
    kept = kept[np.lexsort((form[kept], -share[kept], word[kept]))]
    # A word of very many names leads to those that it says most of.
    rank = np.arange(len(kept)) - np.searchsorted(word[kept], np.arange(n_words))[word[kept]]
    kept = kept[rank < MOST_POSTS]
    return {
        "posts.offsets": np.searchsorted(word[kept], np.arange(n_words + 1)).astype(np.int64),
        "posts.forms": form[kept].astype(np.int32),
        "posts.shares": share[kept].astype(np.float32),
        "posts.others": others[kept].astype(np.int32),
        "posts.other_shares": other_share[kept].astype(np.float32),
    }


def _main_words(offsets: Int64, flat: Any, main: Any) -> tuple[Any, Any]:
    form = np.repeat(np.arange(len(main)), np.diff(offsets))
    kept = np.arange(len(flat)) - offsets[form] < main[form]
    return form[kept], flat[kept].astype(np.int64)


def _take(arrays: Mapping[str, Any], name: str, dtype: Any) -> Array:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.ndim != 1:
        raise StoreError(f"{name} must be {np.dtype(dtype)} of one dimension")
    return array if array.flags.aligned and array.flags.c_contiguous else np.array(array, order="C")


def _check_ids(name: str, ids: Array, limit: int) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= limit):
        raise StoreError(f"{name} must be numbers from 0 to {limit - 1}")


def _check_lists(name: str, offsets: Array, count: int, ids_name: str, ids: Array, limit: int) -> None:
    if len(offsets) != count + 1 or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
        raise StoreError(f"{name} must rise from 0 to {len(ids)} in {count} steps")
    _check_ids(ids_name, ids, limit)
