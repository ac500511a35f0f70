"""Data sets: what they are, reading and writing, splitting and describing them, and two that are made on the spot."""

from . import datasets
from .align import align, labels_from_pairs
from .concatenate import concatenate
from .dataset import Dataset, split_rows
from .datasets.synthetic import synthetic, synthetic_blocks
from .describe import Stats, describe
from .formats import FORMATS, find_format, read, read_names, read_predictions, write
from .shared import find_data_root, shared
from .streams import STREAM_FORMATS, RowBlock, read_text, stream
from .training import TrainingData, hash_files

__all__ = [
    "FORMATS", "STREAM_FORMATS", "Dataset", "RowBlock", "Stats", "TrainingData", "align", "concatenate", "datasets",
    "describe", "find_data_root", "find_format", "hash_files", "labels_from_pairs", "read", "read_names",
    "read_predictions", "read_text", "shared", "split_rows", "stream", "synthetic", "synthetic_blocks", "write",
]  # fmt: skip
