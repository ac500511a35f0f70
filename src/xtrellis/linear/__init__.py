"""Sparse linear classifiers over label trees."""

from .checkpoint import discard as discard_checkpoint
from .estimate import Estimate
from .model import LinearTree
from .packed import PackedTree

__all__ = ["Estimate", "LinearTree", "PackedTree", "discard_checkpoint"]
