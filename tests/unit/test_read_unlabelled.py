"""Texts without labels, to be predicted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from xtrellis.core.errors import DataError, ParameterError
from xtrellis.data.dataset import Dataset
from xtrellis.data.formats.io import read, write

TEXTS = ["a b", "c; d", "e, f"]


@pytest.fixture(params=["d.jsonl", "d.csv", "d.tsv", "d.parquet"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of texts without a label column."""
    path = tmp_path / request.param
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), path)
    else:
        path.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS))
    return path


def test_labels_may_be_missing_if_they_are_not_wanted(bare: Path) -> None:
    dataset = read(bare, unlabelled=True)
    assert dataset.texts == TEXTS
    assert dataset.Y.shape == (3, 0)
    with pytest.raises(DataError, match="labels"):
        read(bare)


def test_labels_that_are_there_are_not_looked_at(bare: Path) -> None:
    labelled = Dataset(None, [[1, 0], [0, 1], [1, 1]], texts=TEXTS, label_names=["x", "y"])
    write(labelled, bare)
    assert read(bare).n_labels == 2
    dataset = read(bare, unlabelled=True)
    assert dataset.texts == TEXTS
    assert dataset.n_labels == 0


def test_it_is_true_or_false(bare: Path) -> None:
    with pytest.raises(ParameterError, match="unlabelled must be True or False"):
        read(bare, unlabelled="yes")
