"""Commands for data and searches that are too large for one reading or one machine."""

from .convert import convert
from .tune import tune

__all__ = ["convert", "tune"]
