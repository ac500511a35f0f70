"""Reading and writing data sets: one module a format."""

from .io import FORMATS, find_format, read, write
from .names import read_names

__all__ = ["FORMATS", "find_format", "read", "read_names", "write"]
