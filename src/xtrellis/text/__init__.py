"""From texts to sparse tf-idf rows."""

from .encoding import Block, blocks
from .forms import STEMMERS
from .places import Places
from .points import SILENT, PointTable, code_points, is_unspaced
from .reader import EncodedTexts, WordReader
from .vectorizer import Vectorizer

__all__ = [
    "SILENT", "STEMMERS", "Block", "EncodedTexts", "Places", "PointTable", "Vectorizer", "WordReader", "blocks",
    "code_points", "is_unspaced",
]  # fmt: skip
