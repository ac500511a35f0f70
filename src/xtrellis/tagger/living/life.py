"""`Life`: what has become of a tagger's labels and rows since it was trained. It never changes: every change makes
another one, so whoever is answering meanwhile is not disturbed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ...arrays import Array, Csr, Int64, StringTable, TopK
from ...core import InputError, StoreError, nearest, shown
from ...model import LabelSet, Model, restricts
from ...store import State, Storable
from ...vocabulary import Vocabulary
from .rows import KeptRows

NONE: Int64 = np.zeros(0, np.int64)
REPLACED = re.compile(r"vocabulary[1-9][0-9]{0,8}$")  # the part of a vocabulary that was in force before a version
OPS = ("retire", "restore", "rename", "merge")  # changes that need no training: an entry of the journal says it all


@dataclass(frozen=True, eq=False)
class Life:
    """States of labels, by their ids; kept rows; the journal."""

    retired: Int64 = field(default_factory=lambda: NONE)
    merged: Mapping[int, int] = field(default_factory=dict)  # answered as another label
    again: Int64 = field(default_factory=lambda: NONE)  # labels that the next update must train
    rows: KeptRows | None = None
    number: Int64 = field(default_factory=lambda: NONE)  # the label that each key of the kept rows stands for, or -1
    version: int = 0
    base: int = 0  # the version of the last full training
    entries: tuple[Mapping[str, Any], ...] = ()
    lines: tuple[str, ...] = ()
    vocabularies: tuple[tuple[int, Vocabulary], ...] = ()  # that were replaced, and the version that replaced each

    # ── answering ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def plain(self) -> bool:
        """True if every label is answered as what it is."""
        return not len(self.retired) and not self.merged

    @cached_property
    def skipped(self) -> Int64:
        """Labels that are not answered at all: retired, or merged into such."""
        gone = set(self.retired.tolist())
        return np.array(sorted(gone | {a for a, b in self.merged.items() if b in gone}), np.int64)

    @cached_property
    def _most(self) -> int:
        """Labels that are answered as one, at most."""
        return 1 + (max(np.bincount(list(self.merged.values()))) if self.merged else 0)

    @cached_property
    def _sets(self) -> dict[int, LabelSet]:
        return {}

    def wanted(self, given: LabelSet | None, n_labels: int) -> LabelSet:
        """The labels to search among: all (or those that are given, and what was merged into them) that are not
        skipped."""
        if given is None:
            if n_labels not in self._sets:
                self._sets[n_labels] = LabelSet(np.setdiff1d(np.arange(n_labels), self.skipped), n_labels)
            return self._sets[n_labels]

        def make() -> LabelSet:
            ids = given.ids
            others = [a for a, b in self.merged.items() if b in set(ids.tolist())]
            left = np.setdiff1d(np.concatenate([ids, np.array(others, np.int64)]), self.skipped)
            if not len(left):
                raise InputError("labels: all of them are retired; tagger.restore([…]) brings them back")
            return LabelSet(left, n_labels)

        return given.made_for(self, make)

    def predict(self, model: Model, X: Any, k: int, texts: Any, labels: LabelSet | None) -> TopK:
        """`model.predict`, with labels as they are now."""
        if self.plain:
            return model.predict(X, k, texts=texts, **({} if labels is None else {"labels": labels}))
        wanted = self.wanted(labels, model.n_labels)
        wide = min(k * self._most, len(wanted))
        if restricts(model):
            only: dict[str, Any] = {"labels": wanted}
            top = model.predict(X, wide, texts=texts, **only)
        else:  # as many more as could be skipped
            top = model.predict(X, min(wide + model.n_labels - len(wanted), model.n_labels), texts=texts)
            top = _compact(top.labels, top.scores, np.isin(top.labels, wanted.ids), wide, top.n_labels)
        if not self.merged:
            return top
        found = top.labels.copy()
        for a, b in self.merged.items():
            found[found == a] = b
        return _compact(found, top.scores, _first_of_each(found), min(k, found.shape[1]), top.n_labels)

    # ── labels ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def label(self, name: Any, names: StringTable, what: str = "labels") -> int:
        """The id of a label that the model knows."""
        if not isinstance(name, str):
            raise InputError(f"{what} must hold names; got {type(name).__name__} {shown(name)}")
        found = names.find(name)
        if found is None:
            raise InputError(f"the model has no label {shown(name)}{nearest(name, names)}")
        return found

    def applied(self, entry: Mapping[str, Any], names: StringTable) -> tuple[Life, StringTable]:
        """After a change that needs no training; refused, with nothing changed, if it makes no sense."""
        what = entry.get("what")
        if what == "rename" and "shown" in entry:  # by ids, which stay
            for id in entry["shown"]:
                self.label(id, names)
            return self, names
        if what == "rename":
            return self, _renamed(entry["names"], names, self)
        ids = [self.label(name, names) for name in entry["labels"]]
        if what == "retire":
            for i in ids:
                if i in self.merged:
                    raise InputError(f"{shown(names[i])} was merged into {shown(names[self.merged[i]])}: retire that")
            life = replace(self, retired=np.union1d(self.retired, np.array(ids, np.int64)))
            if len(life.skipped) == len(names):
                raise InputError(f"labels: all {len(names)} would be retired; at least one must stay")
            return life, names
        if what == "restore":
            merged, retired = dict(self.merged), set(self.retired.tolist())
            for i in ids:
                if i not in merged and i not in retired:
                    raise InputError(f"{shown(names[i])} is neither retired nor merged")
                retired.discard(i)
                merged.pop(i, None)
            return replace(self, merged=merged, retired=np.array(sorted(retired), np.int64)), names
        if what == "merge":
            return self._merged(ids, self.label(entry["into"], names, "into"), names), names
        raise StoreError(f"the journal has a change of an unknown kind, {what!r:.40}")

    def _merged(self, ids: list[int], into: int, names: StringTable) -> Life:
        if into in set(self.retired.tolist()):
            raise InputError(f"{shown(names[into])} is retired; tagger.restore([{shown(names[into])}]) first")
        if into in self.merged:
            raise InputError(f"{shown(names[into])} was merged into {shown(names[self.merged[into]])}: merge into that")
        merged = dict(self.merged)
        for i in ids:
            if i == into:
                raise InputError(f"{shown(names[i])} cannot be merged into itself")
            merged = {a: into if b == i else b for a, b in merged.items()} | {i: into}
        retired = np.setdiff1d(self.retired, np.array(ids, np.int64))
        return replace(self, merged=merged, retired=retired)

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        """Names that labels of a vocabulary were given here, by their ids: the journal tells."""
        out: dict[str, str | None] = {}  # None: as the vocabulary has it
        for entry in self.entries:
            if entry["what"] == "rename":
                out |= entry.get("shown", {})
            elif entry["what"] == "vocabulary" and entry.get("became"):
                out = {entry["became"].get(id, id): name for id, name in out.items()}
        return {id: name for id, name in out.items() if name is not None}

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def matrix(self, n_labels: int) -> Csr:
        """Labels of all kept rows as they are now: of merged ones, what they were merged into."""
        if self.rows is None:
            raise RuntimeError("there are no kept rows")
        became = np.arange(n_labels)
        for a, b in self.merged.items():
            became[a] = b
        number = np.where(self.number >= 0, became[np.maximum(self.number, 0)], -1)
        return self.rows.matrix(number, n_labels)

    # ── the store ───────────────────────────────────────────────────────────────────────────────────────────────────

    def into(self, state: State) -> State:
        """A tagger's state with what is not as it was trained."""
        pairs = np.array(sorted(self.merged.items()), np.int64).reshape(-1, 2)
        arrays = {"living.retired": self.retired, "living.merged": pairs, "living.again": self.again}
        parts: dict[str, Storable] = {} if self.rows is None else {"rows": self.rows}
        if self.rows is not None:
            arrays["living.number"] = self.number
        parts |= {f"vocabulary{version}": old for version, old in self.vocabularies}
        meta = {"version": self.version, "base": self.base} if self.version or self.rows is not None else {}
        kept = {name: array for name, array in arrays.items() if len(array)}
        return State({**state.meta, **meta}, {**state.arrays, **kept}, {**state.parts, **parts})

    @classmethod
    def stored(cls, state: State, n_labels: int) -> Life:
        """From the store; the journal comes later."""
        rows = state.parts.get("rows")
        if rows is not None and not isinstance(rows, KeptRows):
            raise StoreError(f"a Tagger's rows must be KeptRows; got {type(rows).__name__}")
        found = {name: state.arrays.get(f"living.{name}", NONE) for name in ("retired", "again", "merged", "number")}
        pairs = found.pop("merged").reshape(-1, 2)
        for name, ids in (*found.items(), ("merged", pairs)):
            least = -1 if name == "number" else 0
            if ids.dtype != np.int64 or (ids.size and not least <= int(ids.min()) <= int(ids.max()) < n_labels):
                raise StoreError(f"living.{name} must be numbers of labels, int64")
        if rows is not None and len(found["number"]) != len(rows.keys):
            raise StoreError(f"living.number must have {len(rows.keys)} entries, one for each key of the kept rows")
        version, base = state.meta.get("version", 0), state.meta.get("base", 0)
        if any(isinstance(v, bool) or not isinstance(v, int) for v in (version, base)) or not 0 <= base <= version:
            raise StoreError(f"version must be a number, and base one up to it; got {version!r:.40}, {base!r:.40}")
        merged = {int(a): int(b) for a, b in pairs}
        if set(merged) & set(merged.values()) or set(merged) & set(found["retired"].tolist()):
            raise StoreError("living.merged must lead from labels to others that are themselves")
        old = sorted(
            (int(name[len("vocabulary") :]), part) for name, part in state.parts.items() if REPLACED.match(name)
        )
        if any(not isinstance(part, Vocabulary) or not 0 < at <= version for at, part in old):
            raise StoreError("vocabularies that were replaced must be such, each of a version that there was")
        replaced = cast("tuple[tuple[int, Vocabulary], ...]", tuple(sorted(old, key=lambda one: one[0])))
        return cls(
            found["retired"], merged, found["again"], rows, found["number"], version, base, vocabularies=replaced
        )


def require_name(name: Any) -> None:
    """Refuse what cannot be the name of a label."""
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise InputError(f"a label's name must be a string without space around it; got {shown(name)}")


def _renamed(pairs: Any, names: StringTable, life: Life) -> StringTable:
    """Names with some replaced; no two labels may be called alike."""
    new = list(names)
    for old, name in pairs.items():
        new[life.label(old, names, "names")] = name
    for name in pairs.values():
        require_name(name)
        if new.count(name) > 1:
            raise InputError(f"there is a label {shown(name)} already; tagger.merge(…, into={shown(name)}) joins them")
    return StringTable.of(new)


def _first_of_each(labels: Array) -> Array:
    """n × k: True where a row has a label for the first time, and for no -1."""
    order = np.argsort(labels, axis=1, kind="stable")
    ordered = np.take_along_axis(labels, order, axis=1)
    first = np.ones(labels.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty(labels.shape, bool)
    np.put_along_axis(out, order, first, axis=1)
    return out & (labels >= 0)


def _compact(labels: Array, scores: Array, kept: Array, k: int, n_labels: int) -> TopK:
    """The first k answers that are kept, -1 behind them."""
    order = np.argsort(~kept, axis=1, kind="stable")[:, :k]
    there = np.take_along_axis(kept, order, axis=1)
    found = np.where(there, np.take_along_axis(labels, order, axis=1), -1).astype(np.int32)
    return TopK(found, np.where(there, np.take_along_axis(scores, order, axis=1), 0).astype(np.float32), n_labels)


def names_of(labels: Any) -> list[str]:
    """One name, or a list of names, as a list."""
    if isinstance(labels, str):
        return [labels]
    if isinstance(labels, (bytes, Mapping)) or not isinstance(labels, Sequence | set | frozenset | tuple):
        raise InputError(f"labels must be a name or a list of names; got {shown(labels)}")
    found = sorted(labels) if isinstance(labels, set | frozenset) else list(labels)
    if not found:
        raise InputError("labels must hold at least one name; got none")
    return found
