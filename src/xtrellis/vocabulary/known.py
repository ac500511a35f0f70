"""What a vocabulary knows of the labels of one training: all their names, and what lies above them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..arrays import Int64, StringTable
from .vocabulary import Vocabulary


class KnownLabels:
    """The labels of a training (by their numbers in the vocabulary, one for each column) and their vocabulary.

    A label that the vocabulary has no more has the number -1; `ids` says what it is called then.
    """

    def __init__(
        self, vocabulary: Vocabulary, labels: Int64, language: str | None = None, ids: StringTable | None = None
    ) -> None:
        self.vocabulary, self.labels, self.language = vocabulary, np.asarray(labels, np.int64), language
        self._ids = ids

    def __len__(self) -> int:
        return len(self.labels)

    def names_of(self, label: int) -> Sequence[str]:
        """All names of a label, in the language of the training if one was said; without any, its id."""
        number = int(self.labels[label])
        if number < 0:
            return [str(label) if self._ids is None else self._ids[label]]
        return self.vocabulary.names_of(number, self.language) or [self.vocabulary.ids[number]]

    @property
    def preferred_names(self) -> StringTable:
        """The name of each label, in the language of the training."""
        names = self.vocabulary.preferred_names(self.language, labels=np.maximum(self.labels, 0))
        if (self.labels >= 0).all():
            return names
        return StringTable.of([name if self.labels[i] >= 0 else self.names_of(i)[0] for i, name in enumerate(names)])

    @cached_property
    def hierarchy(self) -> tuple[Int64, Int64, StringTable]:
        """Edges (child, parent; -1 for the top) among nodes, and the ids of these: the labels, then what is above them.

        A label without narrower ones keeps all its broader ones; what has others below it keeps the first.
        """
        broader, ids = self.vocabulary.broader, self.vocabulary.ids
        numbers: dict[int, int] = {}
        for label in self.labels.tolist():
            numbers.setdefault(label, len(numbers))
        order = list(numbers)
        above: list[list[int]] = []
        at = 0
        while at < len(order):
            above.append(broader[order[at]])
            for label in above[-1]:
                if label not in numbers:
                    numbers[label] = len(order)
                    order.append(label)
            at += 1
        inner = {label for some in above for label in some}
        child: list[int] = []
        parent: list[int] = []
        for node, some in enumerate(above):
            kept = some[:1] if order[node] in inner else some
            child += [node] * max(1, len(kept))
            parent += [numbers[label] for label in kept] or [-1]
        return np.array(child, np.int64), np.array(parent, np.int64), StringTable.of([ids[label] for label in order])

    @property
    def fingerprint(self) -> str:
        """A hash of all that a training can see of it."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.language, self.vocabulary.languages)).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.labels).data)
        for array in self.vocabulary.to_state().arrays.values():
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()
