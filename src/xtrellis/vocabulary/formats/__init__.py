"""Vocabularies in files: SKOS in several syntaxes, Annif's tables, JSON lines."""

from .files import FORMATS, read_file, write_file

__all__ = ["FORMATS", "read_file", "write_file"]
