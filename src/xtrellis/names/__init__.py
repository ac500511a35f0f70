"""`NameMatcher`: labels found by their names in the text, among them those that no training row has."""

from .model import NameMatcher

__all__ = ["NameMatcher"]
