"""From labels in any order, as a file has them, to the arrays of a vocabulary."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..arrays import MAX_ID, Array, Int64
from ..core import InputError, shown
from .faults import Faults
from .label import ALTERNATIVE, NAME_KINDS, NOTATION, NOTE_KINDS, PREFERRED, Label
from .tables import Links, Strings
from .words import folded, tidy

MOST_LANGUAGES = 2**16
RELATIONS = ("broader", "related")  # narrower is broader the other way round


class Built(NamedTuple):
    """All that a vocabulary holds."""

    arrays: dict[str, Array]
    languages: list[str]
    faults: Faults


class Builder:
    """Collects labels; relations may name labels that come later."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._numbers: dict[str, int] = {}
        self._declared = bytearray()
        self._order: list[int] = []  # as they were declared, which is how they are numbered in the end
        self._languages: dict[str, int] = {}  # as they are written -> number
        self._tags: list[str] = []  # number -> as they are kept
        self._name_of, self._name_kind, self._name_language = array("i"), array("B"), array("H")
        self._names: list[str] = []
        self._links = {relation: (array("i"), array("i")) for relation in RELATIONS}
        self._retired: set[int] = set()
        self._replaced: dict[int, int] = {}
        self._note_of, self._note_kind, self._note_language = array("i"), array("B"), array("H")
        self._notes: list[str] = []

    def number(self, id: str) -> int:
        """The number of a label, which may be declared later, or never."""
        found = self._numbers.get(id)
        if found is None:
            found = self._numbers[id] = len(self._declared)
            self._declared.append(0)
        return found

    def declare(self, label: int) -> None:
        """It is a label of the vocabulary, not only named by one."""
        if not self._declared[label]:
            self._declared[label] = 1
            self._order.append(label)

    def is_declared(self, label: int) -> bool:
        """True of a label that was declared before."""
        return bool(self._declared[label])

    @property
    def any_declared(self) -> bool:
        """True once there is a label."""
        return bool(self._order)

    def name(self, label: int, kind: int, text: str, language: str = "") -> None:
        """A name, or a notation."""
        text = tidy(text)
        if not text:
            return
        self._names.append(text)
        self._name_of.append(label)
        self._name_kind.append(kind)
        self._name_language.append(self._language(language))

    def note(self, label: int, kind: int, text: str, language: str = "") -> None:
        """Something that somebody wrote about it."""
        text = text.strip()
        if text:
            self._notes.append(text)
            self._note_of.append(label)
            self._note_kind.append(kind)
            self._note_language.append(self._language(language))

    def link(self, relation: str, label: int, target: int) -> None:
        """`label` has `target` as broader, narrower or related."""
        if relation == "narrower":
            relation, label, target = "broader", target, label
        sources, targets = self._links[relation]
        sources.append(label)
        targets.append(target)
        if relation == "related":  # both ways, as SKOS says
            sources.append(target)
            targets.append(label)

    def retire(self, label: int, replaced_by: int | None = None) -> None:
        """It is out of use, perhaps since another has taken its place."""
        self._retired.add(label)
        if replaced_by is not None:
            self._replaced.setdefault(label, replaced_by)

    def add(self, label: Label) -> None:
        """All that a Label says."""
        number = self.number(label.id)
        if self.is_declared(number):
            raise InputError(f"two labels have the id {shown(label.id)}; ids must differ")
        self.declare(number)
        for language, name in label.names.items():
            self.name(number, PREFERRED, name, language)
        for kind, by_language in ((1, label.alternative), (2, label.hidden)):
            for language, names in by_language.items():
                for name in names:
                    self.name(number, kind, name, language)
        for text in label.notation:
            self.name(number, NOTATION, text)
        for relation in ("broader", "narrower", "related"):
            for target in getattr(label, relation):
                self.link(relation, number, self.number(target))
        if label.state != "active" or label.replaced_by:
            self.retire(number, self.number(label.replaced_by) if label.replaced_by else None)
        for note in label.notes:
            self.note(number, NOTE_KINDS.index(note.kind), note.text, note.language)

    def add_all(self, labels: Iterable[Label]) -> Builder:
        """All of several."""
        for label in labels:
            self.add(label)
        return self

    def _language(self, language: str) -> int:
        known = self._languages.get(language)
        if known is None:
            tag = language.strip().lower().replace("_", "-")
            if tag not in self._tags:
                if len(self._tags) == MOST_LANGUAGES:
                    raise InputError(f"a vocabulary has names in {MOST_LANGUAGES:,} languages at most; got more")
                self._tags.append(tag)
            known = self._languages[language] = self._tags.index(tag)
        return known

    # ── the arrays ──────────────────────────────────────────────────────────────────────────────────────────────────

    def build(self) -> Built:
        """The arrays; what was wrong is in `faults`."""
        n = len(self._order)
        if not n:
            raise InputError("a vocabulary needs at least one label")
        if max(n, len(self._names)) > MAX_ID:
            raise InputError(f"a vocabulary has {MAX_ID:,} labels and names at most")
        number = np.full(len(self._declared), -1, np.int64)
        number[self._order] = np.arange(n)
        all_ids = list(self._numbers)
        ids = [all_ids[label] for label in self._order]
        table = Strings.of(ids)
        order = sorted(range(n), key=[id.encode("utf-8", "surrogatepass") for id in ids].__getitem__)
        arrays: dict[str, Array] = {**table.to_arrays("ids"), "ids.order": np.array(order, np.int32)}
        arrays |= self._build_names(number, ids)
        for relation in RELATIONS:
            arrays |= self._build_links(relation, number, all_ids, n)
        states, replaced = np.zeros(n, np.uint8), np.full(n, -1, np.int32)
        states[[int(number[label]) for label in self._retired if number[label] >= 0]] = 1
        for label, target in self._replaced.items():
            if number[label] < 0:
                continue
            if number[target] < 0:
                self.faults.add(
                    "replaced by unknown", all_ids[label],
                    f"{shown(all_ids[label])} is replaced by {shown(all_ids[target])}, which the vocabulary does not "
                    "have; it counts as retired: add that label, or name another",
                )  # fmt: skip
            else:
                replaced[number[label]] = number[target]
        arrays |= self._build_notes(number, n)
        arrays["states"], arrays["replaced"] = states, replaced
        return Built(arrays, self._ordered_languages(arrays), self.faults)

    def _build_names(self, number: Int64, ids: list[str]) -> dict[str, Array]:
        """Names of each label together: preferred, alternative, hidden, notation; else in their order. None twice."""
        of = number[np.frombuffer(self._name_of, np.int32)] if len(self._names) else np.zeros(0, np.int64)
        kinds, languages = np.array(self._name_kind, np.uint8), np.array(self._name_language, np.uint16)
        order = np.lexsort((kinds, of))
        order = order[of[order] >= 0]
        kept: list[int] = []
        new_kinds = kinds.copy()
        names, label_list = self._names, of[order].tolist()
        kind_list, language_list = kinds[order].tolist(), languages[order].tolist()
        last = -1
        seen: set[tuple[int, str]] = set()
        preferred: dict[int, int] = {}
        demoted = False
        for place, label, kind, language in zip(order.tolist(), label_list, kind_list, language_list, strict=True):
            if label != last:
                last, seen, preferred = label, set(), {}
            key = (language, names[place])
            if kind != NOTATION and key in seen:
                continue
            seen.add(key)
            if kind == PREFERRED and (before := preferred.setdefault(language, place)) != place:
                self.faults.add(
                    "two names", ids[label],
                    f"{shown(ids[label])} has two preferred names in language {self._tags[language]!r}, "
                    f"{shown(names[before])} and {shown(names[place])}; the second counts as alternative: keep one",
                )  # fmt: skip
                new_kinds[place] = ALTERNATIVE
                demoted = True
            kept.append(place)
        chosen = np.array(kept, np.int64)
        if demoted:
            chosen = chosen[np.lexsort((new_kinds[chosen], of[chosen]))]
        texts = [names[place] for place in chosen.tolist()]
        table = Strings.of(texts)
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(np.bincount(of[chosen], minlength=len(ids)), out=offsets[1:])
        keys = list(map(folded, texts))
        by_name = sorted(range(len(texts)), key=keys.__getitem__)
        return {
            **table.to_arrays("names"),
            "names.of": offsets,
            "names.kinds": new_kinds[chosen],
            "names.languages": languages[chosen],
            "names.order": np.array(by_name, np.int32),
        }

    def _build_links(self, relation: str, number: Int64, all_ids: list[str], n: int) -> dict[str, Array]:
        given = self._links[relation]
        raw = [np.array(some, np.int64) for some in given]
        sources, targets = number[raw[0]], number[raw[1]]
        for place in np.flatnonzero((sources < 0) != (targets < 0)).tolist():
            mine, theirs = raw if sources[place] >= 0 else raw[::-1]
            label, other = all_ids[int(mine[place])], all_ids[int(theirs[place])]
            if relation == "related" and sources[place] < 0:
                continue  # told of the other way round
            self.faults.add(
                "unknown label", label,
                f"{shown(label)} is linked ({relation if sources[place] >= 0 else 'narrower'}) with {shown(other)}, "
                "which the vocabulary does not have; the link is left out",
            )  # fmt: skip
        whole = (sources >= 0) & (targets >= 0)
        if relation == "related":
            whole &= sources != targets
        links = Links.of_pairs(sources[whole], targets[whole], n)
        out = links.to_arrays(relation)
        if relation == "broader":
            below, above = links.pairs()
            out |= Links.of_pairs(above, below, n).to_arrays("narrower")
        return out

    def _build_notes(self, number: Int64, n: int) -> dict[str, Array]:
        of = number[np.array(self._note_of, np.int64)]
        order = np.argsort(of, kind="stable")
        order = order[of[order] >= 0]
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(of[order], minlength=n), out=offsets[1:])
        return {
            **Strings.of([self._notes[place] for place in order.tolist()]).to_arrays("notes"),
            "notes.of": offsets,
            "notes.kinds": np.array(self._note_kind, np.uint8)[order],
            "notes.languages": np.array(self._note_language, np.uint16)[order],
        }

    def _ordered_languages(self, arrays: dict[str, Array]) -> list[str]:
        """Languages from that of most preferred names on: the first is the vocabulary's own. Numbers follow."""
        tags = self._tags
        kinds, languages, noted = arrays["names.kinds"], arrays["names.languages"], arrays["notes.languages"]
        used = np.bincount(languages[kinds == PREFERRED], minlength=len(tags))
        met = np.bincount(languages[kinds != NOTATION], minlength=len(tags)) + np.bincount(noted, minlength=len(tags))
        order = [i for i in sorted(range(len(tags)), key=lambda i: (-int(used[i]), tags[i])) if met[i]]
        rank = np.zeros(max(len(tags), 1), np.uint16)
        rank[order] = np.arange(len(order))
        for name in ("names.languages", "notes.languages"):
            arrays[name] = rank[arrays[name]] if len(arrays[name]) else arrays[name].astype(np.uint16)
        return [tags[i] for i in order]


if len(NAME_KINDS) != NOTATION + 1:
    raise RuntimeError("kinds of names are numbered in their order")
