"""What a text gets: labels by name, or the reason why there are none."""

from __future__ import annotations

from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, StringTable, TopK

NO_TEXT = "the text is empty"
_MAKE = tuple.__new__  # a Tag without the checks of its constructor
NO_KNOWN_WORD = "the model knows no word of the text"


class _Named(NamedTuple):
    label: str
    score: float


class Tag(_Named):
    """A label by name, and how sure the model is of it.

    `score` is the model's own, made for ranking; `probability` says how often such a label is right, and is None where
    nobody has learned that (`Tagger.calibrate`). `id` is what a vocabulary calls the label, whatever its name; without
    one it is the name. As a tuple it is (label, score).
    """

    probability: float | None = None
    _id: str | None = None

    def __new__(cls, label: str, score: float, probability: float | None = None, id: str | None = None) -> Tag:
        """As a named tuple, with probability and id beside it."""
        made = super().__new__(cls, label, score)
        if probability is not None:
            made.probability = probability
        if id is not None:
            made._id = id
        return made

    @property
    def id(self) -> str:
        """What a vocabulary calls the label; without one, its name."""
        return self.label if self._id is None else self._id

    def __repr__(self) -> str:
        id = "" if self.id == self.label else f"id={self.id!r}, "
        known = "" if self.probability is None else f", probability={self.probability!r}"
        return f"Tag({id}label={self.label!r}, score={self.score!r}{known})"

    def __reduce__(self) -> tuple[type[Tag], tuple[str, float, float | None, str]]:
        return Tag, (self.label, self.score, self.probability, self.id)


class Tags(list[Tag]):
    """The tags of one text, best first. `reason` tells why a text got none without having been looked at."""

    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> Tags:
        """No tags, and why."""
        tags = cls()
        tags.reason = reason
        return tags


def named_tags(names: StringTable, ids: StringTable, top: TopK, kept: TopK, known: TopK | None) -> list[Tags]:
    """Answers by name and id: those that are `kept`, with their probabilities where they are known."""
    plain = known is None and ids is names
    if plain and len(top) == 1:
        labels = kept.labels[0].tolist()
        scores = top.scores[0].tolist()
        if labels and min(labels) < 0:
            there = [i for i, label in enumerate(labels) if label >= 0]
            labels, scores = [labels[i] for i in there], [scores[i] for i in there]
        return [Tags(map(_MAKE, repeat(Tag), zip(names.some(labels), scores, strict=True)))]
    found = kept.labels
    met = np.flatnonzero(np.bincount(np.maximum(found, 0).ravel(), minlength=1))  # each is looked up once
    called = _looked_up(names, met, found)
    if plain:
        all_there: Any = (found >= 0).all(axis=1)
        rows: Any = zip(all_there.tolist(), found.tolist(), called, top.scores.tolist(), strict=True)
        return [
            Tags(map(_MAKE, repeat(Tag), zip(*row, strict=True)))
            if whole
            else Tags(_MAKE(Tag, one[1:]) for one in zip(labels, *row, strict=True) if one[0] >= 0)
            for whole, labels, *row in rows
        ]
    by_id: Any = repeat(repeat(None)) if ids is names else _looked_up(ids, met, found)
    chances: Any = repeat(repeat(None)) if known is None else known.scores.tolist()
    every = zip(found.tolist(), called, top.scores.tolist(), chances, by_id, strict=False)
    return [Tags(Tag(*one) for label, *one in zip(*row, strict=False) if label >= 0) for row in every]


def _looked_up(strings: StringTable, met: Array, numbers: Array) -> list[list[str]]:
    """The string of each number, those that are met decoded once; any for what is below 0."""
    table = np.empty(int(met[-1]) + 1 if len(met) else 1, object)
    table[met] = strings.some(met.tolist())
    looked_up: list[list[str]] = table[numbers].tolist()
    return looked_up
