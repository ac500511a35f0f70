"""What a format needs from a Dataset before it can be written."""

from __future__ import annotations

from ...arrays import Csr, StringTable
from ...core import InputError
from ..dataset import Dataset


def features_of(dataset: Dataset, format: str) -> Csr:
    """X, for formats that hold features."""
    if dataset.X is None:
        raise InputError(
            f"{format} files hold features, and this data set has only texts; "
            "vectorise it first, or write jsonl, csv, tsv or parquet"
        )
    return dataset.X


def texts_of(dataset: Dataset, format: str) -> tuple[list[str], StringTable]:
    """Texts and label names, for formats that hold those."""
    if dataset.texts is None:
        raise InputError(f"{format} files hold texts, and this data set has none; write xmc, svmlight or npz")
    if dataset.label_names is None:
        raise InputError(f"{format} files hold label names, and this data set has none; give it label_names")
    return dataset.texts, dataset.label_names
