"""Hyperparameters chosen on held-out rows: many short trainings, the best of them longer."""

from .plot import check_picture
from .ranges import RANGES
from .search import Trial, Tuned, tune

__all__ = ["RANGES", "Trial", "Tuned", "check_picture", "tune"]
