"""A label becomes several: its kept rows are shared out, and only what is new is learned, from these rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays import Csr, Int64, StringTable, as_integers, take_rows
from ...core import InputError, shown
from ...model import Model, Relabels, Updates
from .learning import NO_ROWS, require_able, training_data
from .life import NONE, Life
from .rows import KeptRows

if TYPE_CHECKING:
    from ..tagger import Tagger

Rule = Sequence[int] | Callable[[str], bool]


def having_words(words: Sequence[str]) -> Callable[[str], bool]:
    """A rule: true of texts that have one of these words or phrases, whatever their case."""
    wanted = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word.casefold()) for word in words)})(?!\w)")
    return lambda text: wanted.search(text.casefold()) is not None


def rows_of(tagger: Tagger, label: int) -> Int64:
    """Numbers of the kept rows that have a label now."""
    life = tagger.life
    if life.rows is None:
        raise InputError(NO_ROWS)
    Y = life.matrix(len(tagger.label_ids))
    found: Int64 = np.repeat(np.arange(len(life.rows)), np.diff(Y.indptr))[Y.indices == label]
    return found


def split(tagger: Tagger, label: str, into: Any, keep: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """(attributes, what the journal says) after a label was split; see `Living.split`."""
    if tagger.life.rows is None:
        raise InputError(NO_ROWS)
    require_able(tagger)
    source = tagger.find_label(label)
    name = tagger.label_ids[source]
    if source in tagger.life.merged or source in tagger.life.retired:
        raise InputError(f"{shown(name)} is not answered any more; tagger.restore([{shown(name)}]) first")
    targets = _targets(tagger, name, into, keep)
    mine = rows_of(tagger, source)
    shares = {target: _given(tagger, name, mine, target, rule) for target, rule in targets.items()}
    given = np.unique(np.concatenate(list(shares.values())))
    if keep and len(given) == len(mine):
        raise InputError(f"all {len(mine)} rows of {shown(name)} are given away, so none is left to keep it by")
    values = shared_out(tagger, name, shares, keep)
    entry = {"label": name, "into": {target: len(rows) for target, rows in shares.items()}, "keep": keep}
    return values, {**entry, "left": len(mine) - len(given)}


def _targets(tagger: Tagger, name: str, into: Any, keep: bool) -> dict[str, Rule]:
    """The rule of each label that the rows are shared out among, by id; these are checked."""
    if not isinstance(into, Mapping) or len(into) < (1 if keep else 2):
        least = "at least one label" if keep else "two labels or more (keep=True takes one out, rename renames it)"
        raise InputError(f"into must be {{name: rows or rule}} of {least}; got {shown(into)}")
    out: dict[str, Rule] = {}
    for given, rule in into.items():
        if not isinstance(given, str) or not given.strip() or given != given.strip():
            raise InputError(f"a label's name must be a string without space around it; got {shown(given)}")
        id, vocabulary = given, tagger.vocabulary
        if vocabulary is not None:
            number = vocabulary.find(given, language=tagger.language)
            if number is None:
                raise InputError(f"the vocabulary has no label {shown(given)}{vocabulary.offer(given)}: add it there")
            if vocabulary.successor(number) != number:
                raise InputError(f"the vocabulary says that {shown(given)} is out of use")
            id = vocabulary.ids[number]
        found = tagger.label_ids.find(id)
        if id == name:
            raise InputError(f"into: {shown(name)} is what is split; keep=True lets it keep the rows that are left")
        if found is not None and (found in tagger.life.merged or found in tagger.life.retired):
            raise InputError(f"{shown(id)} is not answered any more; tagger.restore([{shown(id)}]) first")
        if id in out:
            raise InputError(f"into: {shown(given)} is named twice")
        out[id] = rule
    return out


def _given(tagger: Tagger, name: str, mine: Int64, target: str, rule: Any) -> Int64:
    """The rows of the label that a target gets."""
    rows = cast(KeptRows, tagger.life.rows)
    if callable(rule):
        texts = rows.texts
        if texts is None:
            raise InputError(
                f"into[{shown(target)}]: the kept rows have no texts that a rule could judge; give numbers"
            )
        chosen = np.array([i for i in mine.tolist() if rule(texts[i])], np.int64)
    else:
        what = f"into[{shown(target)}]"
        chosen = np.unique(as_integers(rule, what, "numbers of kept rows, or a function of a text"))
        others = np.setdiff1d(chosen, mine)
        if len(others):
            raise InputError(f"{what}: row {others[0]} does not have the label {shown(name)}")
    if not len(chosen):
        raise InputError(f"into[{shown(target)}]: none of the {len(mine)} rows of {shown(name)} is given to it")
    return chosen


def shared_out(tagger: Tagger, name: str, shares: Mapping[str, Int64], keep: bool) -> dict[str, Any]:
    """The attributes of a tagger whose label `name` was split; `shares` are the rows that each target gets."""
    shares = dict(sorted(shares.items()))  # a journal keeps no order
    life, ids = tagger.life, tagger.label_ids
    rows, version = cast(KeptRows, life.rows), life.version + 1
    source = cast(int, ids.find(name))
    new = [target for target in shares if ids.find(target) is None]
    names = ids.and_these(new)
    number = {target: cast(int, names.find(target)) for target in shares}
    fresh, keys = list(new), {}
    for target in shares:
        at = np.flatnonzero(life.number == number[target])
        if not len(at) and target not in fresh:
            fresh.append(target)  # a label that no kept row ever had
        keys[target] = int(at[0]) if len(at) else len(rows.keys) + fresh.index(target)
    gained = np.concatenate([np.column_stack([own, np.full(len(own), keys[t])]) for t, own in shares.items()])
    given = np.unique(gained[:, 0])
    lost = np.zeros((0, 2), np.int64)
    if keep:  # of several keys that stand for the label (others were merged into it), all
        own = np.flatnonzero(np.isin(life.number, [source, *(a for a, b in life.merged.items() if b == source)]))
        lost = np.array([(row, key) for row in given.tolist() for key in own.tolist()], np.int64).reshape(-1, 2)
    rows.features(tagger.vectorizer)  # handed on
    grown = np.concatenate([life.number, [number[target] for target in fresh]]).astype(np.int64)
    told = [number[target] for target in shares if number[target] < len(ids)] + ([source] if keep else [])
    life = replace(
        life, rows=rows.relabelled(gained, lost, fresh, version), number=grown,
        retired=life.retired if keep else np.union1d(life.retired, [source]),
        again=np.union1d(life.again, np.array(told, np.int64)).astype(np.int64),
    )  # fmt: skip
    return _learned(tagger, life, names, given)


def _learned(tagger: Tagger, life: Life, names: StringTable, given: Int64) -> dict[str, Any]:
    data, _ = training_data(tagger, life, names, life.version + 1)
    model: Model = tagger.model
    if isinstance(model, Relabels):
        Y: Csr = life.matrix(len(names))
        model = model.relabelled(given, take_rows(Y, given))
    model = cast(Updates, model).updated(data, NONE, life.again)
    return {
        "model": model, "label_counts": data.label_counts.astype(np.int64), "_label_names": names,
        "_life": replace(life, again=NONE),
    }  # fmt: skip


def split_again(made: Tagger, entry: Mapping[str, Any], rows: KeptRows) -> dict[str, Any]:
    """The same from the journal: `rows` are all that are kept, which know who gained what."""
    version = int(entry["version"])
    changed = rows.gained[rows.gained[:, 2] == version]
    life = made.life
    known = cast(KeptRows, life.rows)
    later = {i: rows.keys[i] for i in range(len(known.keys), int((rows.key_since <= version).sum()))}
    shares: dict[str, Int64] = {}
    for target in entry["into"]:
        label = made.label_ids.find(target)
        own = [i for i, text in later.items() if text == target]
        own += [] if label is None else np.flatnonzero(life.number == label).tolist()
        shares[target] = np.unique(changed[np.isin(changed[:, 1], own), 0])
    return shared_out(made, entry["label"], shares, bool(entry["keep"]))
