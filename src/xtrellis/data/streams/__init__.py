"""Rows as they come in, from files and pipes of any length."""

from .chunks import read_text
from .stream import STREAM_FORMATS, RowBlock, stream

__all__ = ["STREAM_FORMATS", "RowBlock", "read_text", "stream"]
