"""Finding labels: by id and by name in sorted orders, by a part of a name, and what is nearest to a misspelt one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import StoreError
from .label import NOTATION
from .words import folded, pattern

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

AROUND = 40  # names before and after the place of a misspelt one that it may have been meant to be
ALIKE = 0.6  # how much alike names must be to be offered
MOST_HITS = 20_000  # places of a part of a name that are looked at
SOME_HITS = 300  # the same, where it is only about what somebody may have meant
LARGE = 1 << 25  # bytes of names that take too long to go through for that
MOST_SHARED = 10_000  # labels with one name that are looked at


def _at(order: np.ndarray, place: int, size: int) -> int:
    number = int(order[place])
    if not 0 <= number < size:
        raise StoreError("the order of names leads nowhere; the vocabulary is damaged")
    return number


def number_of(vocabulary: Vocabulary, id: str) -> int | None:
    """By its very id."""
    ids, order, wanted = vocabulary.ids, vocabulary.id_order, id.encode("utf-8", "surrogatepass")
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        number = _at(order, middle, len(ids))
        found = ids.text[ids.offsets[number] : ids.offsets[number + 1]].tobytes()
        if found == wanted:
            return number
        if found < wanted:
            low = middle + 1
        else:
            high = middle
    return None


def numbers_of(vocabulary: Vocabulary, ids: list[str]) -> list[int | None]:
    """By their very ids; of many, by a dictionary made for the occasion."""
    if len(ids) * 20 < len(vocabulary):
        return [number_of(vocabulary, id) for id in ids]
    known = {id: number for number, id in enumerate(vocabulary.ids)}
    return [known.get(id) for id in ids]


def _first_at_least(vocabulary: Vocabulary, key: str) -> int:
    """The first place in the order of names that does not come before `key`."""
    names, order = vocabulary.names, vocabulary.name_order
    low, high = 0, len(names)
    while low < high:
        middle = (low + high) // 2
        if folded(names[_at(order, middle, len(names))]) < key:
            low = middle + 1
        else:
            high = middle
    return low


def _label_of(vocabulary: Vocabulary, name: int) -> int:
    return min(max(int(np.searchsorted(vocabulary.name_offsets, name, side="right")) - 1, 0), len(vocabulary) - 1)


def by_name(vocabulary: Vocabulary, name: str, language: str | None) -> list[int]:
    """The labels that are meant by a name: see `Vocabulary.find`."""
    key = folded(name)
    if not key:
        return []
    names, order = vocabulary.names, vocabulary.name_order
    best: tuple[bool, bool, bool, int] | None = None
    found: dict[int, None] = {}
    place = _first_at_least(vocabulary, key)
    for at in range(place, min(len(names), place + MOST_SHARED)):
        number = _at(order, at, len(names))
        spelt = names[number]
        if folded(spelt) != key:
            break
        label = _label_of(vocabulary, number)
        tag = int(vocabulary.name_languages[number])
        spoken = vocabulary.languages[tag] if tag < len(vocabulary.languages) else ""
        foreign = language is not None and spoken != "" and not vocabulary._same_language(spoken, language)
        rank = (not vocabulary.is_active(label), foreign, spelt != name, int(vocabulary.name_kinds[number]))
        if best is None or rank < best:
            best, found = rank, {label: None}
        elif rank == best:
            found[label] = None
    return list(found)


def containing(vocabulary: Vocabulary, part: str, k: int, language: str | None, most: int = MOST_HITS) -> list[int]:
    """Labels with a part of a name or an id: called just so, then those that begin with it, that have it as a word,
    that have it anywhere; preferred names before others, shorter ones before longer."""
    wanted = " ".join(part.split())
    if not wanted:
        return []
    ranks: dict[int, tuple[int, int, int, int]] = {}
    for label in vocabulary.matches(part, language=language):
        ranks[label] = (-1, 0, 0, label)
    key = folded(wanted)
    for in_ids, table in ((False, vocabulary.names), (True, vocabulary.ids)):
        offsets = table.offsets
        text: Any = np.ascontiguousarray(table.text)
        for hit, found in enumerate(pattern(wanted).finditer(memoryview(text))):
            if hit >= most:
                break
            place = int(np.searchsorted(offsets, found.start(), side="right")) - 1
            if not 0 <= place < len(table) or found.end() > offsets[place + 1]:
                continue  # it begins in one name and ends in the next
            label = place if in_ids else _label_of(vocabulary, place)
            whole = folded(table[place])
            where = 0 if whole.startswith(key) else 1 if f" {key}" in whole else 2
            kind = NOTATION + 1 if in_ids else int(vocabulary.name_kinds[place])
            rank = (where, kind, len(whole), label)
            ranks[label] = min(ranks.get(label, rank), rank)
    best = sorted(ranks, key=lambda label: (not vocabulary.is_active(label), ranks[label]))
    return best[:k]


def close_to(vocabulary: Vocabulary, name: str, language: str | None, *, quick: bool = False) -> int | None:
    """The label whose name is most like a misspelt one: names near it in their order, or that share a word with it.

    The latter means to go through all names; `quick` spares that.
    """
    key = folded(name)
    names, order = vocabulary.names, vocabulary.name_order
    near: dict[str, int] = {}
    place = _first_at_least(vocabulary, key)
    for start in {place, _first_at_least(vocabulary, key[:2])} if len(key) > 2 else {place}:
        for at in range(max(0, start - AROUND), min(len(names), start + AROUND)):
            number = _at(order, at, len(names))
            near.setdefault(folded(names[number]), _label_of(vocabulary, number))
    words = [] if quick or len(names.text) > LARGE else sorted(key.split(), key=len, reverse=True)[:2]
    parts = [part for word in words for part in {word, word[: max(3, len(word) - 2)], word[1:]} if len(part) > 2]
    for part in sorted(parts):
        for label in containing(vocabulary, part, 20, language, SOME_HITS):
            near.setdefault(folded(vocabulary.name_of(label, language)), label)
    close = difflib.get_close_matches(key, list(near), n=1, cutoff=ALIKE)
    return near[close[0]] if close else None
