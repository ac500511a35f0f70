"""What a format needs from a Dataset before it can be written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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


def used_names(dataset: Dataset) -> Iterator[str]:
    """The names of labels that some row has."""
    assert dataset.label_names is not None  # texts_of has asked for them
    yield from (dataset.label_names[int(i)] for i in np.unique(dataset.Y.indices))


def require_bare(dataset: Dataset) -> None:
    """Refuse label names that would not be read as they are written (tidy.py)."""
    for name in used_names(dataset):
        if name != name.strip():
            raise InputError(f"label {name!r} begins or ends with white space, which readers take off; rename it")
