"""Where labels sit: `LabelTree`, and the builders that make one."""

from .balanced import BalancedTree
from .base import Index
from .flat import FlatTree
from .tree import LabelTree

__all__ = ["BalancedTree", "FlatTree", "Index", "LabelTree"]
