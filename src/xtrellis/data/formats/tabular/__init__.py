"""Cells of tables: what separates columns, and what separates the labels within one."""

from .delimiters import bare_name, delimiter_of
from .labels import Cells, looks_like_list
from .separators import ONE, SEVERAL, UNCLEAR, judge, parts_of

__all__ = ["ONE", "SEVERAL", "UNCLEAR", "Cells", "bare_name", "delimiter_of", "judge", "looks_like_list", "parts_of"]
