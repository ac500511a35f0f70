"""Several models as one: all their trees are searched together, as if they were of one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays import TopK
from .model import LinearTree
from .packed import BY_ID
from .several import search


def search_as_one(models: Sequence[Any]) -> bool:
    """True if `search_together` can: linear trees that see rows alike, each as many trees."""
    if len(models) < 2 or not all(type(model) is LinearTree for model in models):
        return False
    return len({(len(m.trees), m.trees[0].n_features, m.normalize_rows) for m in models}) == 1


def search_together(models: Sequence[LinearTree], X: Any, k: int, *, most: int, threads: int | None) -> TopK:
    """The k labels with the best mean score, of at most `most` that each tree gives; equals are ordered by id."""
    trees = [tree for model in models for tree in model.trees]
    settings = [model.search_settings for model in models for _ in model.trees]
    rows = models[0].rows_of(X)
    return search(trees, rows, k, settings, threads=threads, most=most, ranks=BY_ID, precise=True)
