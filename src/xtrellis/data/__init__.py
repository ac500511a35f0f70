"""Rows, features and labels."""

from .dataset import Dataset
from .datasets.synthetic import synthetic, synthetic_blocks

__all__ = ["Dataset", "synthetic", "synthetic_blocks"]
