"""What labels are called, by whom and in which language, and where they sit in the tree."""

from .labels import Labels
from .spoken import Spoken
from .tree import TreeView, tree_of

__all__ = ["Labels", "Spoken", "TreeView", "tree_of"]
