"""What an index builder is: parameters, and `build`, which turns what is known of the labels into a tree."""

from __future__ import annotations

from abc import abstractmethod

from ..core import Configured, InputError, shown
from ..labels import LabelSpace
from .shape import ARITY, LEAF, TreeLevel, balanced_levels
from .tree import LabelTree

# A split that gains less than this is done whatever `tolerance` says: sums of floats never agree better, and rounds
# that change nothing would go on for as long as `iterations` allow.
LEAST_GAIN = 1e-9


class Index(Configured):
    """Builds a `LabelTree`. Equal parameters, labels and seed give equal trees, whatever the number of threads."""

    @abstractmethod
    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """A tree over all labels."""

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """The shape of the tree that `build` will make, level by level; a guess unless a builder knows better."""
        return balanced_levels(labels.n_labels, ARITY, LEAF)

    @property
    def needs_vectors(self) -> bool:
        """False for builders that do not look at the labels' vectors, so that those are never made."""
        return True

    def clustering_bytes(self, n_labels: int, entries: float, width: float, threads: int) -> float:
        """What `build` takes beside the labels' vectors, at most, by the number of labels, the entries of their vectors
        and the features that occur in them: a copy of them all, and sums over the features on every thread."""
        return 8 * entries + 24 * n_labels + 32 * width * threads


def build_tree(index: Index, labels: LabelSpace, *, seed: int) -> LabelTree:
    """What the builder makes; if one of a user's own makes something else, that is told here and not far from it."""
    tree: object = index.build(labels, seed=seed)
    name = type(index).__name__
    if not isinstance(tree, LabelTree):
        raise InputError(f"{name}.build must return an xt.LabelTree; got {shown(tree)}")
    if tree.n_labels != labels.n_labels:
        raise InputError(f"{name}.build must place all {labels.n_labels} labels; its tree is of {tree.n_labels}")
    return tree
