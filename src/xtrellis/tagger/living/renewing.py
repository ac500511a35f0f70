"""A vocabulary is replaced by a newer one: what it says of labels becomes what the tagger does with them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays import StringTable
from ...core import InputError, progress, shown
from ...model import Updates, why_no_update
from ...vocabulary import Vocabulary
from ..labels import goes_by_names
from .learning import training_data
from .life import NONE, Life, require_name

if TYPE_CHECKING:
    from ..tagger import Tagger

NO_VOCABULARY = "this tagger has no vocabulary to replace: train it with one (xtrellis train --vocabulary FILE)"


@dataclass(frozen=True)
class VocabularyChange:
    """What a newer vocabulary means for a tagger; labels by their ids."""

    retired: list[str] = field(default_factory=list)
    """Out of use now: they are not answered any more."""
    restored: list[str] = field(default_factory=list)
    """In use again, after the old vocabulary had said otherwise."""
    merged: dict[str, str] = field(default_factory=dict)
    """Replaced by others that the tagger knows: answered as these."""
    became: dict[str, str] = field(default_factory=dict)
    """Replaced by others that it does not know: what was learned of them is of these from now on."""
    added: list[str] = field(default_factory=list)
    """New labels that can be found by their names at once."""
    gone: list[str] = field(default_factory=list)
    """In the new vocabulary no more, without a word: they stay as they are, shown by their ids."""

    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {name: len(value) for name, value in vars(self).items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        told = {
            "retired": "retired", "restored": "restored", "merged": "merged into their successors",
            "became": "become their successors", "added": "new, found by name", "gone": "no longer in the vocabulary",
        }  # fmt: skip
        some = [f"{len(getattr(self, name)):,} {what}" for name, what in told.items() if getattr(self, name)]
        return "labels: " + (", ".join(some) or "none changes its state")


def planned(tagger: Tagger, vocabulary: Any) -> VocabularyChange:
    """What replacing its vocabulary will do to a tagger."""
    old = tagger.vocabulary
    if old is None:
        raise InputError(NO_VOCABULARY)
    if not isinstance(vocabulary, Vocabulary):
        cure = ": xt.Vocabulary.read(…) reads a file" if isinstance(vocabulary, str) else ""
        raise InputError(f"vocabulary must be an xt.Vocabulary; got {shown(vocabulary)}{cure}")
    if tagger.language and not vocabulary.speaks(tagger.language):
        raise InputError(
            f"the vocabulary has no names in language {tagger.language!r}, in which this tagger shows them; set "
            "tagger.language to one of its languages, or to None"
        )
    life, ids = tagger.life, tagger.label_ids
    numbers, before = vocabulary.numbers(ids), old.numbers(ids)
    if all(number is None for number in numbers):
        raise InputError(
            f"none of the tagger's {len(ids):,} labels is in the vocabulary, such as {shown(ids[0])}, where an id is "
            f"{shown(vocabulary.ids[0])}: it is another vocabulary, not a newer one"
        )
    plan = VocabularyChange()
    retired = set(life.retired.tolist())
    taken: dict[str, int] = {}  # ids that labels get now
    for i, (number, was) in enumerate(zip(numbers, before, strict=True)):
        id = ids[i]
        if number is None:
            if was is not None:
                plan.gone.append(id)
            continue
        said_before = was is not None and old.successor(was) != was
        last = vocabulary.successor(number)
        if last == number:
            if said_before and (i in retired or i in life.merged):
                plan.restored.append(id)
            continue
        if (i in retired or i in life.merged) and not said_before:
            continue  # somebody decided otherwise by hand: that stays
        if last is None:
            if i not in retired:
                plan.retired.append(id)
            continue
        target = vocabulary.ids[last]
        known = ids.find(target)
        if known is not None or target in taken:
            if life.merged.get(i) != known or known is None:
                plan.merged[id] = target
        else:
            taken[target] = i
            plan.became[id] = target
    if goes_by_names(tagger.model) and life.rows is not None and why_no_update(tagger.model) is None:
        known_ids = set(ids) | set(taken)
        plan.added.extend(id for id in vocabulary.ids_of(vocabulary.active()) if id not in known_ids)
    return plan


def renewed(tagger: Tagger, vocabulary: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(attributes, what the journal says) of a tagger with another vocabulary."""
    plan = planned(tagger, vocabulary)
    progress.note(str(plan))
    ids, life = _applied(tagger, plan)
    if life.rows is not None:  # to go back to a version, what was in force then is needed
        life = replace(life, vocabularies=(*life.vocabularies, (life.version + 1, cast(Vocabulary, tagger.vocabulary))))
    values: dict[str, Any] = {"vocabulary": vocabulary, "_label_names": ids, "_life": life}
    if goes_by_names(tagger.model):
        values |= _renamed(tagger, values, plan)
    told = {name: value for name, value in plan.to_dict().items() if value and name != "added"}
    return values, {"labels": len(vocabulary), "new labels": len(plan.added), **told}


def _applied(tagger: Tagger, plan: VocabularyChange) -> tuple[StringTable, Life]:
    """The labels' ids, and their states."""
    ids, life = tagger.label_ids, tagger.life
    number: Mapping[str, int] = {id: i for i, id in enumerate(ids)}
    table = ids
    if plan.became:
        table = StringTable.of([plan.became.get(id, id) for id in ids])
    retired, merged = set(life.retired.tolist()), dict(life.merged)
    for id in [*plan.restored, *plan.became]:
        retired.discard(number[id])
        merged.pop(number[id], None)
    for id in plan.retired:
        merged.pop(number[id], None)
        retired.add(number[id])
    for id, target in plan.merged.items():
        merged[number[id]] = cast(int, table.find(target))
        retired.discard(number[id])
    final: dict[int, int] = {}
    for a, b in merged.items():  # what was merged into one that is merged now goes along
        met = {a}
        while b in merged and b not in met:
            met.add(b)
            b = merged[b]
        if a != b:
            final[a] = b
    if len(retired | {a for a, b in final.items() if b in retired}) == len(table):
        raise InputError(f"the vocabulary retires all {len(table)} labels of this tagger; at least one must stay")
    return table, replace(life, merged=final, retired=np.array(sorted(retired), np.int64))


def _renamed(tagger: Tagger, values: Mapping[str, Any], plan: VocabularyChange) -> dict[str, Any]:
    """Names are looked for as the new vocabulary has them, those of new labels too."""
    life: Life = values["_life"]
    if life.rows is None or why_no_update(tagger.model) is not None:
        progress.note("names are looked for as they were: this tagger cannot learn on; train it again to know new ones")
        return {}
    other = copy(tagger)
    vars(other).update(values, _found={})
    names = values["_label_names"].and_these(plan.added)
    if plan.added:
        key_of = np.arange(len(names) - len(plan.added), len(names))
        rows = life.rows.relabelled(
            np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64), plan.added, life.version + 1
        )
        life = replace(life, rows=rows, number=np.concatenate([life.number, key_of]).astype(np.int64))
    data, _ = training_data(other, life, names, life.version + 1)
    model = cast(Updates, tagger.model).updated(data, NONE, NONE)
    return {
        "model": model, "label_counts": data.label_counts.astype(np.int64), "_label_names": names, "_life": life,
    }  # fmt: skip


def shown_names(tagger: Tagger, names: Mapping[str, str]) -> dict[str, str | None]:
    """What labels of a vocabulary are to be called here, by their ids; None: as the vocabulary has it again."""
    vocabulary = cast(Vocabulary, tagger.vocabulary)
    out: dict[str, str | None] = {}
    for old, new in names.items():
        require_name(new)
        id = tagger.label_ids[tagger.find_label(old)]
        mine, other = vocabulary.number(id), vocabulary.find(new, language=tagger.language)
        if other is not None and other != mine:
            raise InputError(
                f"the vocabulary calls another label {shown(new)} ({vocabulary.ids[other]}); "
                f"tagger.merge(…, into={shown(new)}) joins them"
            )
        out[id] = None if mine is not None and vocabulary.name_of(mine, tagger.language) == new else new
    there = [name for id, name in tagger.life.renamed.items() if id not in out] + [n for n in out.values() if n]
    twice = next((name for name in there if there.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"there is a label {shown(twice)} already; tagger.merge(…, into={shown(twice)}) joins them")
    return out
