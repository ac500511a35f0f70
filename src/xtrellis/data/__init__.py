"""Data sets: what they are, reading and writing, splitting and describing them, and two that are made on the spot."""

from . import datasets
from .align import align, labels_from_pairs, relabel
from .concatenate import concatenate
from .dataset import Dataset, split_rows
from .datasets.synthetic import synthetic, synthetic_blocks
from .describe import Stats, describe
from .folder import (
    FarRows,
    RowSource,
    StoredDataset,
    Writer,
    all_rows,
    convert,
    far_rows,
    is_folder,
    near_rows,
    open,
    rows_in_files,
)
from .formats import FORMATS, Tidy, find_format, read, read_names, read_predictions, reading, write, writing
from .shared import find_data_root, shared
from .streams import STREAM_FORMATS, AnswerLines, RowBlock, read_text, stream
from .training import LabelKnowledge, TrainingData, hash_files

__all__ = [
    "FORMATS", "STREAM_FORMATS", "AnswerLines", "Dataset", "FarRows", "LabelKnowledge", "RowBlock", "RowSource",
    "Stats", "StoredDataset", "Tidy", "TrainingData", "Writer", "align", "all_rows", "concatenate", "convert",
    "datasets", "describe", "far_rows", "find_data_root", "find_format", "hash_files", "is_folder", "labels_from_pairs",
    "near_rows", "open", "read", "read_names", "read_predictions", "read_text", "reading", "relabel",
    "rows_in_files", "shared", "split_rows", "stream", "synthetic", "synthetic_blocks", "write", "writing",
]  # fmt: skip
