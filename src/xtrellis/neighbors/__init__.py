"""Votes of the most similar training rows, found by an inverted index."""

from .index import RowIndex
from .model import Neighbors
from .segment import RowSegment

__all__ = ["Neighbors", "RowIndex", "RowSegment"]
