"""Sparse linear classifiers over label trees."""

from .blocks import MAX_BLOCK, PlainBlock
from .model import LinearTree
from .packed import TRANSFORMS, PackedTree
from .search import EVERYTHING, open_slots, score_given
from .train import LOSSES

__all__ = [
    "EVERYTHING", "LOSSES", "MAX_BLOCK", "TRANSFORMS", "LinearTree", "PackedTree", "PlainBlock", "open_slots",
    "score_given",
]  # fmt: skip
