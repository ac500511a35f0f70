"""From texts to sparse tf-idf rows."""

from .vectorizer import Vectorizer

__all__ = ["Vectorizer"]
