"""The part of the ELIAS experiment about labels that no training row has, on a toy whose rows are told by names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.core import InputError
from xtrellis.experiments import elias
from xtrellis.experiments.data import Bench, prepare
from xtrellis.experiments.elias_parts.page import _unseen
from xtrellis.experiments.elias_parts.unseen import KINDS, NAME, WAYS, unseen
from xtrellis.neural.encoders.bag import BagEncoder

WORDS = [f"word{i}" for i in range(40)]


def part(rows: list[list[int]]) -> xt.Dataset:
    texts = [" ".join(WORDS[i] for i in row) for row in rows]
    return xt.Dataset(None, np.eye(40, dtype=np.float32)[rows].sum(axis=1), texts=texts, label_names=WORDS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A row's words are the names of its labels."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(40, 2, replace=False).tolist() for _ in range(320)]
    for name, some in (("train", rows[:240]), ("test", rows[240:])):
        xt.write(part(some), tmp_path / f"{name}.jsonl")
    return tmp_path


def test_names_find_labels_without_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {"encoder": BagEncoder(dim=16), "epochs": 3, "shortlist_size": 40}
    monkeypatch.setattr(elias, "SMALL", small)
    monkeypatch.setattr(elias, "NAMED", (str(folder),))
    (run,) = (run for run in elias.plan(str(folder), 0, True) if run["model"] == NAME)
    rows = elias.measure(run, Bench(1))
    assert [row["way"] for row in rows] == list(WAYS)
    assert all(row["held-out labels"] == 4 for row in rows)
    told, without, words = (row["by kind"] for row in rows)
    assert without["held out"]["R@10"] == 0 < told["held out"]["R@10"]
    assert words["held out"]["R@10"] == 100
    assert told["all"]["rows"] == 80 > told["held out"]["rows"]
    text = _unseen([{**run, **row} for row in rows])
    assert "Labels without rows: 4 labels" in text
    for way in ("ELIAS, `unseen_labels`", "ELIAS without", "cosine of the words of name and row"):
        assert all(f"| {way} | {kind} |" in text for kind in KINDS)


def test_labels_without_names_are_refused(folder: Path) -> None:
    data = prepare(str(folder), 1)
    with pytest.raises(InputError, match="it needs texts and label_names"):
        unseen(replace(data, train=replace(data.train, texts=None)), xt.Elias(), 0, 1)
