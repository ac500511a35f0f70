"""Sparse linear classifiers over label trees."""

from .checkpoint import discard as discard_checkpoint
from .copies import CopiesReport, copies_report
from .estimate import Estimate
from .explanation import Explanation, Opinion, Path, Push, Step
from .model import LinearTree
from .packed import PackedTree
from .pecos import import_pecos

__all__ = [
    "CopiesReport",
    "Estimate",
    "Explanation",
    "LinearTree",
    "Opinion",
    "PackedTree",
    "Path",
    "Push",
    "Step",
    "copies_report",
    "discard_checkpoint",
    "import_pecos",
]
