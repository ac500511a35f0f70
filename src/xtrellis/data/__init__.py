"""Data sets: what they are, reading and writing, splitting and describing them, and two that are made on the spot."""

from __future__ import annotations

from .dataset import Dataset, split_rows
from .datasets.synthetic import synthetic, synthetic_blocks
from .describe import Stats, describe
from .io import FORMATS, find_format, read, write
from .shared import find_data_root, shared

__all__ = [
    "FORMATS",
    "Dataset",
    "Stats",
    "describe",
    "find_data_root",
    "find_format",
    "read",
    "shared",
    "split_rows",
    "synthetic",
    "synthetic_blocks",
    "write",
]
