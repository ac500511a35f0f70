"""`NameIndex`: all names as arrays that the kernel finds them by (native/names/index.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._native import names as native
from .._native import text as text_native  # noqa: F401 - the kernel's settings are defined there
from ..arrays import Array, Int64, StringTable
from ..core import StoreError
from .parse import Form

MOST_POSTS = 1024  # forms that one word leads to
MOST_LABELS = 256  # that one form leads to
LEAST_WEIGHT = 0.05  # of a word that every text has

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
        likeness: float,
    ) -> None:  # fmt: skip
        self.words, self.names, self.arrays, self.n_labels = words, names, dict(arrays), n_labels
        self.partial, self.likeness = partial, likeness

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
    def build(
        cls, names: Sequence[str], labels: Sequence[int], forms: Sequence[Sequence[Form]], *, known: Mapping[str, int],
        n_texts: int, label_rows: Int64, partial: float, likeness: float,
    ) -> NameIndex:  # fmt: skip
        """Of names, the label of each, and the forms of each."""
        found: dict[Form, dict[int, None]] = {}  # form -> its labels
        named: dict[Form, int] = {}
        sharing: dict[tuple[str, ...], set[int]] = {}
        for i, (label, made) in enumerate(zip(labels, forms, strict=True)):
            for form in made:
                found.setdefault(form, {})[label] = None
                named.setdefault(form, i)
                sharing.setdefault(form.main, set()).add(label)
        words = sorted({word for form in found for part in form for word in part}, key=str.encode)
        number = {word: i for i, word in enumerate(words)}
        # Forms that a word leads to lie side by side in memory.
        ordered = sorted(found, key=lambda form: number[min(form.main, key=lambda word: known.get(word, 0))])
        found = {form: found[form] for form in ordered}
        table = StringTable.of(words)
        slots = native.word_table(table.text, table.offsets)
        counts = np.fromiter((known.get(word, 0) for word in words), np.float64, len(words))
        weights = np.maximum(np.log((1.0 + n_texts) / (1.0 + counts)), LEAST_WEIGHT).astype(np.float32)
        near = native.near(table.text, table.offsets, slots, likeness)
        rows = [[number[word] for part in form for word in part] for form in found]
        main = np.fromiter((len(form.main) for form in found), np.int32, len(found))
        offsets, flat = _joined(rows)
        frequent = [_most_frequent(list(of), label_rows) for of in found.values()]
        label_offsets, label_ids = _joined(frequent)
        posts = _posts(offsets, flat, main, weights, len(words), partial)
        arrays = {
            "words.table": slots,
            "weights": weights,
            "near.offsets": near[0],
            "near.words": near[1],
            "near.likeness": near[2],
            "forms.offsets": offsets,
            "forms.words": flat,
            "forms.main": main,
            "forms.ambiguity": np.log([float(len(sharing[form.main])) for form in found]).astype(np.float32),
            "forms.name": np.fromiter((named[form] for form in found), np.int32, len(found)),
            "forms.label_offsets": label_offsets,
            "forms.labels": label_ids,
            **posts,
        }
        return cls(table, StringTable.of(names), arrays, n_labels=len(label_rows), partial=partial, likeness=likeness)

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
        return {**self.words.to_arrays("words"), **self.names.to_arrays("names"), **self.arrays}

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
        return cls(words, names, taken, n_labels=n_labels, partial=partial, likeness=likeness)


def _joined(rows: Sequence[Sequence[int]]) -> tuple[Int64, Any]:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return offsets, np.fromiter((i for row in rows for i in row), np.int32, int(offsets[-1]))


def _most_frequent(labels: list[int], rows: Int64) -> list[int]:
    if len(labels) > MOST_LABELS:
        labels = sorted(labels, key=lambda label: (-int(rows[label]), label))[:MOST_LABELS]
    return sorted(labels)


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
