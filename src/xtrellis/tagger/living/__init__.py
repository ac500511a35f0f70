"""Taggers that live: they learn on, change their labels, forget, and keep a journal of it."""

from .drifting import Drift
from .face import Living, explained_state
from .learning import begun
from .life import Life
from .rows import KeptRows

__all__ = ["Drift", "KeptRows", "Life", "Living", "begun", "explained_state"]
