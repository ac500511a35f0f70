"""What labels are called in the languages that somebody asks for, as answers have it: also as JSON, made once.

Nothing here points back at what holds it: a model that was replaced is gone when its last request is, without waiting
for the collector of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ...arrays import Int64, StringTable
from ...data import AnswerLines
from ...vocabulary import Label, Vocabulary
from ..messages import encoded

MOST_KEPT = 200_000  # names that are kept as strings


class Known(NamedTuple):
    """What a tagger knows of its labels, by their numbers."""

    names: StringTable
    ids: StringTable
    vocabulary: Vocabulary | None
    numbers: Int64 | None  # of the labels in the vocabulary; -1 of those that it does not have

    def label(self, label: int) -> Label | None:
        """All that the vocabulary has of a label."""
        number = -1 if self.numbers is None else int(self.numbers[label])
        return None if number < 0 or self.vocabulary is None else self.vocabulary[number]


class Spoken:
    """Names in the first of some languages that a label has one in; else as the model calls it."""

    def __init__(self, known: Known, languages: tuple[str, ...] = ()) -> None:
        self._known, self._languages = known, languages
        self._kept: dict[int, tuple[str, str]] = {}

    def called(self, label: int) -> tuple[str, str]:
        """Id and name of a label by its number; kept, since frequent ones are asked for again and again."""
        found = self._kept.get(label)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            name = _name(self._known, self._languages, label)
            found = self._kept[label] = (name if self._known.vocabulary is None else self._known.ids[label], name)
        return found

    def name(self, label: int) -> str:
        """Of a label by its number."""
        return self.called(label)[1]

    def id(self, label: int) -> str:
        """What other systems call it."""
        return self.called(label)[0]

    @cached_property
    def lines(self) -> AnswerLines:
        """Makes the lines of many texts."""
        return AnswerLines(_Told(self._known, self._languages), str)


class _Told(Sequence[str]):
    """`"id":…,"label":…` of each label: what the kernel that makes lines puts together."""

    def __init__(self, known: Known, languages: tuple[str, ...]) -> None:
        self._known, self._languages = known, languages

    def __len__(self) -> int:
        return len(self._known.names)

    def __getitem__(self, label: int) -> str:  # type: ignore[override]  # nobody asks for slices
        name = _name(self._known, self._languages, label)
        id = name if self._known.vocabulary is None else self._known.ids[label]
        return f'"id":{encoded(id).decode()},"label":{encoded(name).decode()}'


def _name(known: Known, languages: tuple[str, ...], label: int) -> str:
    described = known.label(label) if languages else None
    for language in languages if described is not None else ():
        for tag, name in described.names.items() if described is not None else ():
            if same_language(tag, language):
                return name
    return known.names[label]


def same_language(tag: str, language: str) -> bool:
    """`en` is spoken where `en-gb` is, and the other way round."""
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.partition("-")[0] == language or tag == language.partition("-")[0]
