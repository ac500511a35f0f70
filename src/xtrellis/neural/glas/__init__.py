"""GLaS: inputs and labels embedded in one space, the label vectors shaped by how labels occur together."""

from .model import Glas
from .search import LabelIndex

__all__ = ["Glas", "LabelIndex"]
