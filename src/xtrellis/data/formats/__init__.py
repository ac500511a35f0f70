"""Reading and writing data sets: one module a format."""

from .io import FORMATS, find_format, read, write
from .names import read_names
from .predictions import read_predictions

__all__ = ["FORMATS", "find_format", "read", "read_names", "read_predictions", "write"]
