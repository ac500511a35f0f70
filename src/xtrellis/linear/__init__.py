"""Sparse linear classifiers over label trees."""

from .model import LinearTree
from .packed import PackedTree

__all__ = ["LinearTree", "PackedTree"]
