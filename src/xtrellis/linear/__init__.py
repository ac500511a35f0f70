"""Sparse linear classifiers over label trees."""

from .explanation import Explanation, Path, Push, Step
from .model import LinearTree
from .packed import PackedTree

__all__ = ["Explanation", "LinearTree", "PackedTree", "Path", "Push", "Step"]
