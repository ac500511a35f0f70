"""Back to a version: the journal from the beginning, done again.

Training is repeatable to the byte, so nothing but the kept rows is needed; and not even these, where only labels were
retired, renamed and so on since. Rows that were forgotten since are as if they had never been there: what was made of
them does not come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays import StringTable, as_features, assemble, take_rows
from ...core import InputError, StoreError, integer, progress
from ...data import Dataset
from ...vocabulary import Vocabulary
from .learning import NO_ROWS, Arrived, refreshed, updated, words_learned
from .life import NONE, OPS, Life
from .renewing import renewed
from .rows import NO_PAIRS, KeptRows
from .splitting import split_again

if TYPE_CHECKING:
    from ..tagger import Tagger


def replayed(tagger: Tagger, version: int) -> Tagger:
    """The tagger as it was; this one stays as it is."""
    life = tagger.life
    integer(at_least=0, at_most=life.version)("version", version)
    if len(life.entries) < life.version:
        raise StoreError("the journal of this model is missing; there is nothing to go back by")
    undone = _undone(tagger, version)
    if undone is not None:
        return undone
    if life.rows is None:
        raise InputError(NO_ROWS)
    rows = life.rows.compacted()
    first = rows.up_to(0)
    if not len(first):
        raise InputError("all rows of the first training were forgotten; there is nothing to go back to")
    made = tagger.clone()
    made.keep_rows = True
    if life.vocabularies:
        made.vocabulary = life.vocabularies[0][1]
    made.fit(first.dataset(first.matrix(np.arange(len(first.keys)), len(first.keys)), first.keys))
    made.about = tagger.about
    for entry, line in zip(life.entries[:version], life.lines[:version], strict=True):
        progress.note(f"version {entry['version']}: {entry['what']}")
        values = _done_again(made, entry, rows, _vocabulary_after(tagger, entry["version"]))
        now = replace(values.pop("_life", made.life), version=entry["version"])
        now = replace(now, entries=(*now.entries, entry), lines=(*now.lines, line))
        vars(made).update(values, _life=now)
    return made


def _undone(tagger: Tagger, version: int) -> Tagger | None:
    """The same where nothing but labels was changed since: what was trained is what it was, and no rows are needed.

    What labels were is found from the beginning of the journal, and must lead to what they are. None if it does not, or
    if the journal holds what gives labels other numbers, or rows that were forgotten, of which something would stay.
    """
    life = tagger.life
    before, since = ([e["what"] for e in some] for some in (life.entries[:version], life.entries[version:]))
    if not {*since} <= {*OPS} or not {*before} <= {*OPS, "update"}:
        return None
    names = list(tagger.label_ids)
    for entry in reversed(life.entries):
        if entry["what"] == "rename" and "names" in entry:
            old = {new: name for name, new in entry["names"].items()}
            names = [old.get(name, name) for name in names]
    reached = replace(life, retired=NONE, merged={}, entries=(), lines=()), StringTable.of(names)
    wanted = reached
    try:
        for i, entry in enumerate(life.entries):
            if entry["what"] in OPS:
                reached = reached[0].applied(entry, reached[1])
            if i < version:
                wanted = reached
    except InputError:
        return None
    last, table = reached
    if table != tagger.label_ids or last.merged != life.merged or not np.array_equal(last.retired, life.retired):
        return None
    made = copy(tagger)
    state = replace(wanted[0], version=version, entries=life.entries[:version], lines=life.lines[:version])
    vars(made).update(_life=state, _label_names=wanted[1], _found={})
    return made


def _vocabulary_after(tagger: Tagger, version: int) -> Vocabulary | None:
    """What was in force after a version: what the next one replaced, or what there is now."""
    return next((old for at, old in tagger.life.vocabularies if at > version), tagger.vocabulary)


def _done_again(
    made: Tagger, entry: Mapping[str, Any], rows: KeptRows, vocabulary: Vocabulary | None
) -> dict[str, Any]:
    """The attributes of the tagger after a change."""
    what = entry["what"]
    if what in OPS:
        life, names = made.life.applied(entry, made.label_ids)
        return {"_life": life, "_label_names": names}
    if what == "update":
        new = _arrived(made, rows, entry["version"])
        return {} if new is None else updated(made, new)[0]
    if what == "refresh":
        return refreshed(made, None)[0]
    if what == "split":
        return split_again(made, entry, rows)
    if what == "vocabulary":
        return renewed(made, vocabulary)[0]
    if what == "forget":
        return {}  # these rows are gone already
    raise StoreError(f"the journal has a change of an unknown kind, {what!r:.40}")


def _arrived(made: Tagger, rows: KeptRows, version: int) -> Arrived | None:
    """The rows that came with a version."""
    at = np.flatnonzero(rows.since == version)
    if not len(at):
        return None
    life, names = made.life, made.label_ids
    known = cast(KeptRows, life.rows)
    n_keys = int((rows.key_since <= version).sum())
    new = [name for i in range(len(known.keys), n_keys) if names.find(name := rows.keys[i]) is None]
    table = StringTable.of([*names, *new])
    later = [cast(int, table.find(rows.keys[i])) for i in range(len(known.keys), n_keys)]
    number = np.concatenate([life.number, np.array(later, np.int64)])
    some = replace(rows, keys=StringTable.of(list(rows.keys)[:n_keys]), gained=NO_PAIRS, lost=NO_PAIRS)
    labels = rows.labels
    whole = replace(some, labels=np.where(labels < n_keys, labels, 0).astype(np.int32)).matrix(number, len(table))
    Y = take_rows(whole, at)
    texts = None if rows.texts is None else [rows.texts[i] for i in at.tolist()]
    vectorizer, X = words_learned(made, texts or []) if rows.X is None else (None, take_rows(rows.X, at))
    given = Dataset(None if texts is not None else as_features(X), assemble(Y.data, Y.indices, Y.indptr, Y.shape),
                    texts=texts, label_names=table)  # fmt: skip
    return Arrived(texts, X, vectorizer, Y, tuple(new), given)


def loaded(life: Life, names: StringTable, entries: Any, lines: Any) -> tuple[Life, StringTable]:
    """After what a journal says beyond the version that was saved: small changes, each a line."""
    for i, entry in enumerate(entries):
        if entry.get("version") != i + 1 or not isinstance(entry.get("what"), str):
            raise StoreError(f"entry {i + 1} of the journal must say its version and what was done")
    if len(entries) < life.version:
        raise StoreError(f"the journal has {len(entries)} entries; the model is of version {life.version}")
    for entry in entries[life.version :]:
        if entry["what"] not in OPS:
            raise StoreError(f"version {entry['version']} ({entry['what']}) is in the journal, but not in the model")
        life, names = life.applied(entry, names)
    return replace(life, version=len(entries), entries=tuple(entries), lines=tuple(lines)), names
