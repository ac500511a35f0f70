"""Sparse linear classifiers over label trees."""

from .model import LinearTree
from .packed import PackedTree
from .pecos import import_pecos

__all__ = ["LinearTree", "PackedTree", "import_pecos"]
