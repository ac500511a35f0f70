"""What an index builder is: parameters, and `build`, which turns what is known of the labels into a tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ..config import Configured
from ..labels import LabelSpace
from .tree import LabelTree


class Index(Configured):
    """Builds a `LabelTree`. Equal parameters, labels and seed give equal trees, whatever the number of threads."""

    def know(self, label_names: Sequence[str] | None) -> None:
        """Told the labels' names before `build`; None if they have none."""

    @abstractmethod
    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """A tree over all labels."""
