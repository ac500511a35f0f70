"""From texts to sparse tf-idf rows."""

from .places import Places
from .points import SILENT, PointTable, code_points, is_unspaced
from .vectorizer import Vectorizer

__all__ = ["SILENT", "Places", "PointTable", "Vectorizer", "code_points", "is_unspaced"]
