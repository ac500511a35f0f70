"""Strings in, names out: `Tagger`, what it answers, and how good it is."""

from .measuring import METRICS, above, evaluate_predictions
from .tagger import PreparedData, Tagger
from .tags import Tag, Tags

__all__ = ["METRICS", "PreparedData", "Tag", "Tagger", "Tags", "above", "evaluate_predictions"]
