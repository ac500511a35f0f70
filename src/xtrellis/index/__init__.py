"""Where labels sit: `LabelTree`, the builders that make one, and `Overlap`, which lets labels sit in several places."""

from .balanced import BalancedTree
from .base import Index, build_tree
from .flat import FlatTree
from .given import GivenTree
from .huffman import HuffmanTree
from .interpolated import InterpolatedTree
from .kmeans import KMeansTree
from .overlap import Matches, Overlap, OverlapRound, Placing, coverage, leaf_nodes, placing_of, replanted
from .shape import TreeLevel
from .tree import LabelTree

__all__ = [
    "BalancedTree", "FlatTree", "GivenTree", "HuffmanTree", "Index", "InterpolatedTree", "KMeansTree", "LabelTree",
    "Matches", "Overlap", "OverlapRound", "Placing", "TreeLevel", "build_tree", "coverage", "leaf_nodes", "placing_of",
    "replanted",
]  # fmt: skip
