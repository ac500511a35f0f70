"""No tree at all: one root, every label its child. Exact one-versus-all classification."""

from __future__ import annotations

import numpy as np

from ..labels import LabelSpace
from .base import Index
from .shape import TreeLevel, levels_of
from .tree import LabelTree


class FlatTree(Index):
    """All labels directly below the root."""

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """The same tree for any data and seed."""
        return LabelTree([0, labels.n_labels], ~np.arange(labels.n_labels, dtype=np.int32), labels.n_labels)

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """Of the tree itself: it is quickly made."""
        return levels_of(self.build(labels, seed=0))

    @property
    def needs_vectors(self) -> bool:
        """What labels look like plays no part."""
        return False
