"""Models and habits of other libraries."""

from .pecos import import_pecos

__all__ = ["import_pecos"]
