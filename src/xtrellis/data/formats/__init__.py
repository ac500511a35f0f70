"""Reading and writing data sets: one module a format."""

from .files import reading, writing
from .io import FORMATS, find_format, read, write
from .names import read_names
from .predictions import read_predictions
from .tidy import Tidy

__all__ = ["FORMATS", "Tidy", "find_format", "read", "read_names", "read_predictions", "reading", "write", "writing"]
