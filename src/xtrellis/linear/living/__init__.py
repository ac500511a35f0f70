"""Trees that learn on: places for new labels, and classifiers that are trained again."""

from .update import check_seen, update_trees

__all__ = ["check_seen", "update_trees"]
