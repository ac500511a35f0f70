"""Data sets: what they are, reading and writing, splitting and describing them, and two that are made on the spot."""

from . import datasets
from .align import align, labels_from_pairs
from .dataset import Dataset, split_rows
from .datasets.synthetic import synthetic, synthetic_blocks
from .describe import Stats, describe
from .formats import FORMATS, find_format, read, read_names, write
from .shared import find_data_root, shared
from .training import TrainingData, hash_files

__all__ = [
    "FORMATS", "Dataset", "Stats", "TrainingData", "align", "datasets", "describe", "find_data_root", "find_format",
    "hash_files", "labels_from_pairs", "read", "read_names", "shared", "split_rows", "synthetic", "synthetic_blocks",
    "write",
]  # fmt: skip
