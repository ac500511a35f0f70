"""Taggers that live: they learn on, change their labels, forget, and keep a journal of it."""

from .drifting import Drift
from .face import Living, explained_state
from .learning import begun
from .life import REPLACED, Life
from .renewing import VocabularyChange
from .rows import KeptRows
from .splitting import having_words

__all__ = [
    "REPLACED", "Drift", "KeptRows", "Life", "Living", "VocabularyChange", "begun", "explained_state", "having_words",
]  # fmt: skip
