"""What labels are called in the languages that somebody asks for, as answers have it: also as JSON, made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...data import AnswerLines
from ..messages import encoded

if TYPE_CHECKING:
    from .labels import Labels

MOST_KEPT = 200_000  # names that are kept as strings


class Spoken(Sequence[str]):
    """Names in the first of some languages that a label has one in; else as the model calls it.

    As a sequence, it holds `"id":…,"label":…` of each label: what the kernel that makes lines puts together.
    """

    def __init__(self, labels: Labels, languages: tuple[str, ...] = ()) -> None:
        self._labels, self._languages = labels, languages
        self._known: dict[int, str] = {}

    def name(self, label: int) -> str:
        """Of a label by its number; kept, since frequent ones are asked for again and again."""
        found = self._known.get(label)
        if found is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            found = self._known[label] = self._name(label)
        return found

    def _name(self, label: int) -> str:
        names = self._labels.names_by_language(label) if self._languages else {}
        for language in self._languages:
            for tag, name in names.items():
                if same_language(tag, language):
                    return name
        return self._labels.names[label]

    def id(self, label: int) -> str:
        """What other systems call it."""
        return self._labels.id(label)

    @cached_property
    def lines(self) -> AnswerLines:
        """Makes the lines of many texts."""
        return AnswerLines(self, str)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, label: int) -> str:  # type: ignore[override]  # nobody asks for slices
        return f'"id":{encoded(self.id(label)).decode()},"label":{encoded(self.name(label)).decode()}'


def same_language(tag: str, language: str) -> bool:
    """`en` is spoken where `en-gb` is, and the other way round."""
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.partition("-")[0] == language or tag == language.partition("-")[0]
