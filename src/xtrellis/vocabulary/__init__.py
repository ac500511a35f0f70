"""Labels as things: ids, names by language, relations, states; read from SKOS and others, stored as arrays."""

from .diff import VocabularyDiff
from .faults import Fault, Faults
from .known import KnownLabels
from .label import NAME_KINDS, Label, Note
from .resolve import Resolved, UnknownLabel
from .vocabulary import Vocabulary

__all__ = [
    "NAME_KINDS", "Fault", "Faults", "KnownLabels", "Label", "Note", "Resolved", "UnknownLabel", "Vocabulary",
    "VocabularyDiff",
]  # fmt: skip
