"""Labels by name, by id and by what people type: the one place that knows how a tagger calls them.

A label's id is what other systems know it by (a URI). A tagger without a vocabulary has none: names are ids then.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, Int64
from ...tagger import Tagger
from ...vocabulary import NAME_KINDS
from .spoken import Known, Spoken

MOST_FOUND = 20_000  # places of a search that are looked at
NOTATION = NAME_KINDS.index("notation")
MOST_SPOKEN = 16  # choices of languages whose names are kept


class Labels:
    """The labels of a tagger, as they are asked for."""

    def __init__(self, tagger: Tagger) -> None:
        self.names: Sequence[str] = tagger.label_names
        self.ids = tagger.label_ids
        self._vocabulary, self._language = tagger.vocabulary, tagger.language
        counts = tagger.label_counts
        self.counts: Int64 = np.zeros(len(self.names), np.int64) if counts is None else np.asarray(counts)
        numbers = None if tagger.vocabulary is None else tagger.label_numbers
        self._known = Known(tagger.label_names, tagger.label_ids, tagger.vocabulary, numbers)
        self._spoken: dict[tuple[str, ...], Spoken] = {}
        self.spoken = Spoken(self._known)
        coded = tagger.vocabulary is not None and bool((tagger.vocabulary.name_kinds == NOTATION).any())
        self._codes: dict[int, str] | None = {} if coded else None  # notations, by label

    def __len__(self) -> int:
        return len(self.names)

    def name(self, label: int) -> str:
        """Of a label by its number."""
        return self.spoken.name(label)

    def id(self, label: int) -> str:
        """What other systems call it."""
        return self.name(label) if self._vocabulary is None else self.ids[label]

    @property
    def languages(self) -> list[str]:
        """Languages that names are known in; none where names are all there is."""
        return [] if self._vocabulary is None else [tag for tag in self._vocabulary.languages if tag]

    def speaking(self, languages: tuple[str, ...]) -> Spoken:
        """Names in the first of these languages that each label has one in."""
        if not languages or self._vocabulary is None:
            return self.spoken
        found = self._spoken.get(languages)
        if found is None:
            if len(self._spoken) >= MOST_SPOKEN:
                self._spoken.clear()
            found = self._spoken[languages] = Spoken(self._known, languages)
        return found

    def notation(self, label: int) -> str | None:
        """A label's first code, if its vocabulary has codes."""
        if self._codes is None:
            return None
        found = self._codes.get(label)
        if found is None:
            known = self._known.label(label)
            found = self._codes[label] = known.notation[0] if known is not None and known.notation else ""
        return found or None

    def find(self, id_or_name: str) -> int | None:
        """The number of a label, by its id or any of its names."""
        found = self.ids.find(id_or_name)
        if found is not None or self._vocabulary is None:
            return found
        number = self._vocabulary.find(id_or_name, language=self._language)
        return None if number is None else self.ids.find(self._vocabulary.ids[number])

    def describe(self, label: int) -> dict[str, Any]:
        """As answers have it."""
        return {"id": self.id(label), "label": self.name(label), "rows": int(self.counts[label])}

    @cached_property
    def by_frequency(self) -> Int64:
        """Numbers of labels, the most frequent first."""
        return np.argsort(-self.counts, kind="stable")

    @cached_property
    def by_name(self) -> Int64:
        """Numbers of labels in the order of their names."""
        folded = self._folded[0].split("\n")
        return np.array(sorted(range(len(self)), key=folded.__getitem__), np.int64)

    @cached_property
    def _folded(self) -> tuple[str, Int64]:
        """All names without case and accents, a line each, and where each begins."""
        lines = [fold(name) for name in self.names]
        starts = np.zeros(len(lines) + 1, np.int64)
        np.cumsum([len(line) + 1 for line in lines], out=starts[1:])
        return "\n".join(lines), starts

    def search(self, typed: str) -> Array:
        """Labels whose names hold all words typed: the same name first, then those that begin so, then those with words
        that begin so, then the rest; among equals the most frequent first. Time: one pass over all names."""
        words = fold(typed).split()
        if not words:
            return self.by_frequency
        text, starts = self._folded
        longest = max(words, key=len)
        found: list[int] = []
        at = text.find(longest)
        while at >= 0 and len(found) < MOST_FOUND:
            label = int(np.searchsorted(starts, at, side="right")) - 1
            found.append(label)
            at = text.find(longest, int(starts[label + 1]))
        whole = " ".join(words)
        ranked = []
        for label in found:
            line = text[starts[label] : starts[label + 1] - 1]
            if all(word in line for word in words):
                ranked.append((_distance(line, whole, words), -int(self.counts[label]), len(line), label))
        return np.array([label for *_, label in sorted(ranked)], np.int64)


def _distance(line: str, whole: str, words: list[str]) -> int:
    if line == whole:
        return 0
    if line.startswith(whole):
        return 1
    parts = line.replace(".", " ").replace("-", " ").replace("(", " ").split()
    return 2 if all(any(part.startswith(word) for part in parts) for word in words) else 3


def fold(name: str) -> str:
    """Without case, accents and line ends: as people type it."""
    if name.isascii():
        return name.lower().replace("\n", " ")
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return plain.casefold().replace("\n", " ")
