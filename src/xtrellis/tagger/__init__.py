"""Strings in, names out: `Tagger`, what it answers, and how good it is."""

from .labels import goes_by_names
from .likely import asked_for, knows_probabilities
from .living import Drift, KeptRows, VocabularyChange, having_words
from .measuring import METRICS, Unknown, above, evaluate_predictions, unknown_labels
from .prepared import OTHER_FEATURES, PreparedData
from .tagger import Tagger
from .tags import Tag, Tags

__all__ = [
    "METRICS", "OTHER_FEATURES", "Drift", "KeptRows", "PreparedData", "Tag", "Tagger", "Tags", "Unknown",
    "VocabularyChange", "above", "asked_for", "evaluate_predictions", "goes_by_names", "having_words",
    "knows_probabilities", "unknown_labels",
]  # fmt: skip
