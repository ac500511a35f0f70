"""Where labels sit: `LabelTree`, and the builders that make one."""

from .balanced import BalancedTree
from .base import Index
from .flat import FlatTree
from .given import GivenTree
from .huffman import HuffmanTree
from .interpolated import InterpolatedTree
from .kmeans import KMeansTree
from .overlap import Overlap
from .tree import LabelTree

__all__ = [
    "BalancedTree",
    "FlatTree",
    "GivenTree",
    "HuffmanTree",
    "Index",
    "InterpolatedTree",
    "KMeansTree",
    "LabelTree",
    "Overlap",
]
