"""`KeptRows`: the rows that a tagger has learned from, kept to learn on from them.

Texts are kept, not their features: they are smaller, the vectoriser makes the same features of them at any time, and a
refresh learns words anew. Where rows are features already, these are kept. Labels are kept by keys of their own, the
names as they were when rows came: so whatever becomes of a label later (another name, merged, another number in the
model), rows need not be written again, and any earlier state can be made from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, Csr, Int32, Int64, StringTable, UInt8, as_features, assemble, for_scipy, ranges, take_rows
from ...core import StoreError
from ...data import Dataset, labels_from_pairs
from ...store import State, Storable
from ...text import Vectorizer

NO_PAIRS: Int64 = np.zeros((0, 3), np.int64)


@dataclass(frozen=True, eq=False)
class KeptRows(Storable):
    """Rows in the order in which they came; forgotten ones are empty."""

    texts: StringTable | None
    X: Csr | None  # if there are no texts
    offsets: Int64
    labels: Int32  # keys: those of row i are labels[offsets[i] : offsets[i + 1]]
    since: Int32  # the version that each row came with
    alive: UInt8  # 0: forgotten
    keys: StringTable
    key_since: Int32
    # What rows were given, or lost, since they came (a label was split): row, key, the version it happened at.
    gained: Int64 = field(default_factory=lambda: NO_PAIRS)
    lost: Int64 = field(default_factory=lambda: NO_PAIRS)

    @classmethod
    def of(cls, texts: Sequence[str] | None, X: Csr | None, Y: Csr, names: StringTable) -> KeptRows:
        """The rows of a training."""
        n = int(Y.shape[0])
        return cls(
            None if texts is None else StringTable.of(texts), None if texts is not None else X,
            np.asarray(Y.indptr, np.int64), np.asarray(Y.indices, np.int32), np.zeros(n, np.int32),
            np.ones(n, np.uint8), names, np.zeros(len(names), np.int32),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.since)

    @property
    def n_bytes(self) -> int:
        """On disk."""
        return sum(int(array.nbytes) for array in self.to_state().arrays.values())

    def and_these(
        self, texts: Sequence[str] | None, X: Csr | None, Y: Csr, keys: Int64, new: Sequence[str], version: int
    ) -> KeptRows:
        """And some more: `keys` is that of each column of Y, those of `new` labels follow the ones that are there."""
        n = int(Y.shape[0])
        made = KeptRows(
            None if self.texts is None else self.texts.and_these(texts or ()),
            None if self.X is None or X is None else _stacked(self.X, X),
            np.concatenate([self.offsets, self.offsets[-1] + Y.indptr[1:]]).astype(np.int64),
            np.concatenate([self.labels, keys[Y.indices]]).astype(np.int32),
            np.concatenate([self.since, np.full(n, version)]).astype(np.int32),
            np.concatenate([self.alive, np.ones(n)]).astype(np.uint8),
            self.keys.and_these(new),
            np.concatenate([self.key_since, np.full(len(new), version)]).astype(np.int32),
            self.gained, self.lost,
        )  # fmt: skip
        if self.texts is not None and X is not None and (known := vars(self).get("_features")) is not None:
            vars(made)["_features"] = (known[0], _stacked(known[1], X))  # X is by the same vectoriser
        return made

    def relabelled(self, gained: Int64, lost: Int64, new: Sequence[str], version: int) -> KeptRows:
        """The same rows, some with other labels: pairs (row, key) that they gain or lose; `new` keys come last."""
        parts = [
            np.concatenate([known, np.column_stack([pairs, np.full(len(pairs), version)])]).astype(np.int64)
            for known, pairs in ((self.gained, gained), (self.lost, lost))
        ]
        made = replace(
            self, gained=parts[0], lost=parts[1], keys=self.keys.and_these(new),
            key_since=np.concatenate([self.key_since, np.full(len(new), version)]).astype(np.int32),
        )  # fmt: skip
        if (known := vars(self).get("_features")) is not None:
            vars(made)["_features"] = known
        return made

    def without(self, rows: Int64) -> KeptRows:
        """The same with some rows empty: their texts and labels are gone."""
        alive = self.alive.copy()
        alive[rows] = 0
        stay = np.ones(len(self), np.int64)
        stay[rows] = 0
        offsets, labels = _emptied(self.offsets, self.labels, stay)
        texts, X = self.texts, self.X
        if texts is not None:
            at, text = _emptied(texts.offsets, texts.text, stay)
            texts = StringTable(text, at)
        if X is not None:
            X = _rows_emptied(X, stay)
        gained, lost = (pairs[alive[pairs[:, 0]] > 0] for pairs in (self.gained, self.lost))
        made = replace(
            self, texts=texts, X=X, offsets=offsets, labels=labels.astype(np.int32), alive=alive, gained=gained,
            lost=lost,
        )  # fmt: skip
        if (known := vars(self).get("_features")) is not None:
            vars(made)["_features"] = (known[0], _rows_emptied(known[1], stay))
        return made

    def seen_by(self, vectorizer: Vectorizer | None) -> KeptRows:
        """The same rows; if their features are known, those that another vectoriser makes of them: one that has
        become of it by more words, or by fewer, which none of these rows has."""
        known = vars(self).get("_features")
        if known is None or vectorizer is None or known[0] is vectorizer:
            return self
        made = replace(self)
        before: Csr = known[1]
        if not vectorizer.drops_features or before.shape[1] == vectorizer.n_features:
            wider = assemble(before.data, before.indices, before.indptr, (len(self), vectorizer.n_features))
            vars(made)["_features"] = (vectorizer, wider)
        return made

    def up_to(self, version: int) -> KeptRows:
        """The rows that were there at a version, forgotten ones still empty."""
        n, k = int((self.since <= version).sum()), int((self.key_since <= version).sum())
        return KeptRows(
            None if self.texts is None else _first(self.texts, n),
            None if self.X is None else take_rows(self.X, np.arange(n)),
            self.offsets[: n + 1], self.labels[: self.offsets[n]], self.since[:n], self.alive[:n],
            _first(self.keys, k), self.key_since[:k],
            self.gained[self.gained[:, 2] <= version], self.lost[self.lost[:, 2] <= version],
        )  # fmt: skip

    def compacted(self) -> KeptRows:
        """Without the places of forgotten rows: those behind them get other numbers."""
        if self.alive.all():
            return self
        living = self.living
        stay = self.alive.astype(np.int64)
        texts = self.texts
        if texts is not None:
            offsets, text = _emptied(texts.offsets, texts.text, stay)
            texts = StringTable(text, np.append(offsets[living], offsets[-1]))
        offsets = np.append(self.offsets[living], self.offsets[-1])  # forgotten rows are empty already
        X = None if self.X is None else take_rows(self.X, living)
        number = np.cumsum(stay) - 1
        gained, lost = (np.column_stack([number[p[:, 0]], p[:, 1:]]) for p in (self.gained, self.lost))
        return replace(
            self, texts=texts, X=X, offsets=offsets, since=self.since[living], alive=self.alive[living], gained=gained,
            lost=lost,
        )  # fmt: skip

    def dataset(self, Y: Csr, names: StringTable) -> Dataset:
        """All rows, with these labels."""
        texts = None if self.texts is None else list(self.texts)
        return Dataset(None if self.X is None else for_scipy(self.X), for_scipy(Y), texts=texts, label_names=names)

    def matrix(self, number: Int64, n_labels: int) -> Csr:
        """Rows × labels, by the label that each key stands for now; -1: none."""
        rows, keys = np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.labels.astype(np.int64)
        if len(self.gained) or len(self.lost):
            rows, keys = self._changed(rows, keys)
        labels = number[keys]
        kept = labels >= 0
        return labels_from_pairs(rows[kept], labels[kept], (len(self), n_labels))

    def _changed(self, rows: Int64, keys: Int64) -> tuple[Int64, Int64]:
        """Pairs of rows and keys after all that they gained and lost, in the order in which it happened."""
        width = np.int64(max(1, len(self.keys)))
        pairs = rows * width + keys
        for version in np.unique(np.concatenate([self.gained[:, 2], self.lost[:, 2]])).tolist():
            more, less = (p[p[:, 2] == version] for p in (self.gained, self.lost))
            pairs = np.setdiff1d(pairs, less[:, 0] * width + less[:, 1])
            pairs = np.union1d(pairs, more[:, 0] * width + more[:, 1])
        return pairs // width, pairs % width

    def features(self, vectorizer: Vectorizer | None) -> Csr:
        """Of all rows. Made once for a vectoriser and kept in memory: updates follow each other."""
        if self.texts is None or vectorizer is None:
            return as_features(self.X)
        known = vars(self).get("_features")
        if known is None or known[0] is not vectorizer:
            known = vars(self)["_features"] = (vectorizer, vectorizer.transform(list(self.texts)))
        made: Csr = known[1]
        return made

    @cached_property
    def living(self) -> Int64:
        """Numbers of the rows that are not forgotten."""
        return np.flatnonzero(self.alive)

    def to_state(self) -> State:
        """For the store."""
        arrays: dict[str, Array] = {
            "offsets": self.offsets, "labels": self.labels, "since": self.since, "alive": self.alive,
            "key_since": self.key_since, **self.keys.to_arrays("keys"),
        }  # fmt: skip
        meta: dict[str, Any] = {}
        arrays |= {name: pairs for name, pairs in (("gained", self.gained), ("lost", self.lost)) if len(pairs)}
        if self.texts is not None:
            arrays |= self.texts.to_arrays("texts")
        if self.X is not None:
            arrays |= {
                "x.offsets": np.asarray(self.X.indptr, np.int64),
                "x.ids": self.X.indices,
                "x.values": self.X.data,
            }
            meta["n_features"] = int(self.X.shape[1])
        return State(meta=meta, arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> KeptRows:
        """From the store, checked."""
        a = state.arrays
        kinds = {"offsets": np.int64, "labels": np.int32, "since": np.int32, "alive": np.uint8, "key_since": np.int32}
        for name, dtype in kinds.items():
            if name not in a or a[name].dtype != dtype or a[name].ndim != 1:
                raise StoreError(f"kept rows need an array {name!r} of {np.dtype(dtype)} with one dimension")
        n, keys = len(a["since"]), StringTable.from_arrays(dict(a), "keys")
        _check_rows("offsets", a["offsets"], n, "labels", a["labels"], len(keys))
        if len(a["alive"]) != n or len(a["key_since"]) != len(keys):
            raise StoreError("alive must have one entry for each kept row, key_since one for each key")
        for name in ("since", "key_since"):
            if len(a[name]) and (a[name][0] < 0 or (np.diff(a[name]) < 0).any()):
                raise StoreError(f"{name} must rise from a version to later ones")
        texts = StringTable.from_arrays(dict(a), "texts") if "texts.text" in a else None
        X = None
        if texts is not None and len(texts) != n:
            raise StoreError(f"there are {n} kept rows, but {len(texts)} texts")
        if texts is None:
            width = state.meta.get("n_features")
            if isinstance(width, bool) or not isinstance(width, int) or not 0 <= width < 2**31:
                raise StoreError(f"n_features must be a number of features; got {width!r:.40}")
            given = [a.get(name) for name in ("x.values", "x.ids", "x.offsets")]
            found = [None if g is None else g.dtype for g in given]
            if found != [np.float32, np.int32, np.int64] or any(g is None or g.ndim != 1 for g in given):
                raise StoreError("kept rows need texts, or x.values, x.ids and x.offsets")
            _check_rows("x.offsets", a["x.offsets"], n, "x.ids", a["x.ids"], width)
            if len(a["x.values"]) != len(a["x.ids"]):
                raise StoreError("x.values must have as many entries as x.ids")
            X = as_features(assemble(a["x.values"], a["x.ids"], a["x.offsets"], (n, width)))
        changed = [_check_pairs(name, a.get(name, NO_PAIRS), n, len(keys)) for name in ("gained", "lost")]
        return cls(texts, X, a["offsets"], a["labels"], a["since"], a["alive"], keys, a["key_since"], *changed)


def _check_pairs(name: str, pairs: Array, n: int, n_keys: int) -> Int64:
    if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 3 or (pairs.size and int(pairs.min()) < 0):
        raise StoreError(
            f"{name} must be rows, keys and versions, int64, none below 0; got {pairs.dtype} {pairs.shape}"
        )
    if len(pairs) and (int(pairs[:, 0].max()) >= n or int(pairs[:, 1].max()) >= n_keys):
        raise StoreError(f"{name} must name some of {n} rows and {n_keys} keys")
    return pairs


def _check_rows(name: str, offsets: Array, n: int, ids_name: str, ids: Array, limit: int) -> None:
    if len(offsets) != n + 1 or offsets[0] != 0 or offsets[-1] != len(ids) or (offsets[1:] < offsets[:-1]).any():
        raise StoreError(f"{name} must rise from 0 to {len(ids)} in {n} steps")
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= limit):
        raise StoreError(f"{ids_name} must be numbers from 0 to {limit - 1}")


def _first(table: StringTable, n: int) -> StringTable:
    return StringTable(table.text[: table.offsets[n]], table.offsets[: n + 1])


def _stacked(a: Csr, b: Csr) -> Csr:
    return assemble(
        np.concatenate([a.data, b.data]), np.concatenate([a.indices, b.indices]),
        np.concatenate([a.indptr, a.indptr[-1] + b.indptr[1:]]), (int(a.shape[0]) + int(b.shape[0]), int(a.shape[1])),
    )  # fmt: skip


def _rows_emptied(X: Csr, stay: Int64) -> Csr:
    at, ids = _emptied(X.indptr, X.indices, stay)
    return assemble(_emptied(X.indptr, X.data, stay)[1], ids, at, X.shape)


def _emptied(offsets: Int64, content: Array, stay: Int64) -> tuple[Int64, Array]:
    """Lists end to end without the content of some."""
    lengths = np.diff(offsets) * stay
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), content[ranges(offsets[:-1], lengths)]
