"""`PreparedData`: what a tagger's model will be trained on, with all that the tagger itself keeps of it.

Features by name: the numbers of two files mean the same features only if their names are the same, in one order.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from ..arrays import StringTable
from ..data import TrainingData
from ..model import MANIFEST_BYTES
from ..text import Vectorizer

OTHER_FEATURES = (
    "the features of the data (features.txt, feature_names) have other names, or another order, than those that the "
    "model was trained on: number the features of both files alike, or train on texts: the model then numbers them"
)


@dataclass(frozen=True, eq=False)
class PreparedData(TrainingData):
    """What a tagger's model will be trained on, and the vectoriser that has read the texts."""

    vectorizer: Vectorizer | None = None
    feature_names: StringTable | None = None
    label_ids: StringTable | None = None  # of a vocabulary, by which labels are known

    @classmethod
    def of_checked(cls, data: TrainingData, **beside: Any) -> PreparedData:
        """Data that was checked, with what belongs to it. It is not looked at again: it may be more than memory."""
        made = object.__new__(cls)
        vars(made).update(vars(data) | beside)
        return made

    @property
    def names(self) -> StringTable:
        """What labels are known by: their ids, or their names. Without any a label is called by its number, so that
        answers always have one."""
        return self.label_ids or self.label_names or StringTable.of(map(str, range(self.n_labels)))

    @property
    def bytes_beside_model(self) -> int:
        """What a tagger takes on disk beside its model."""
        arrays = [*self.names.to_arrays("labels").values(), self.label_counts]
        if self.vectorizer is not None:
            arrays += self.vectorizer.to_state().arrays.values()
        return sum(array.nbytes for array in arrays) + MANIFEST_BYTES


def names_hash(names: StringTable) -> str:
    """A hash of all names in their order: kept with a model, it takes no space and tells if others are the same."""
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()
