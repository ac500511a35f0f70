"""What a text gets: labels by name, or the reason why there are none."""

from __future__ import annotations

from itertools import repeat
from typing import NamedTuple

import numpy as np

from ..arrays import StringTable, TopK

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
    met_at = np.zeros(top.n_labels, bool)  # most labels are met many times: each is looked up once
    met_at[kept.labels[kept.labels >= 0]] = True
    met = np.flatnonzero(met_at).tolist()
    called = dict(zip(met, names.some(met), strict=True))
    rows = zip(kept.labels.tolist(), top.scores.tolist(), strict=True)
    if plain:
        return [Tags([_MAKE(Tag, (called[a], b)) for a, b in zip(*row, strict=True) if a >= 0]) for row in rows]
    by_id = called if ids is names else dict(zip(met, ids.some(met), strict=True))
    chances = known.scores.tolist() if known is not None else [[None] * top.k] * len(top)
    return [
        Tags(
            Tag(called[label], score, chance, None if ids is names else by_id[label])
            for label, score, chance in zip(*row, more, strict=True)
            if label >= 0
        )
        for row, more in zip(rows, chances, strict=True)
    ]
