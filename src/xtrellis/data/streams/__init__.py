"""Rows as they come in, from files and pipes of any length."""

from .answers import AnswerLines
from .chunks import read_text
from .stream import STREAM_FORMATS, RowBlock, stream

__all__ = ["STREAM_FORMATS", "AnswerLines", "RowBlock", "read_text", "stream"]
