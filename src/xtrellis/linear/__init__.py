"""Sparse linear classifiers over label trees."""

from .explanation import Explanation, Path, Push, Step
from .model import LinearTree
from .packed import PackedTree
from .pecos import import_pecos

__all__ = ["Explanation", "LinearTree", "PackedTree", "Path", "Push", "Step", "import_pecos"]
