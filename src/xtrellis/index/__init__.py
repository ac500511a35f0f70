"""Where labels sit: `LabelTree`, and the builders that make one."""

from .balanced import BalancedTree
from .base import Index
from .flat import FlatTree
from .kmeans import KMeansTree
from .tree import LabelTree

__all__ = ["BalancedTree", "FlatTree", "Index", "KMeansTree", "LabelTree"]
