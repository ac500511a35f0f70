"""Two parts of the experiment on frequencies in the tree: how uneven labels are, and fastText's setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xtrellis.core import InputError
from xtrellis.data import Dataset
from xtrellis.experiments import tradeoff
from xtrellis.experiments.data import Bench, Prepared
from xtrellis.experiments.figures import Figures
from xtrellis.experiments.tradeoff_parts import factors, fasttext, tables
from xtrellis.experiments.tradeoff_parts.imbalance import measure_imbalance, needed_ranks


def test_so_many_labels_answer_a_row() -> None:
    Y = np.array([[0, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    needed = needed_ranks(sp.csr_array(Y))  # counts 1, 3, 3, 2, 1: ranks 4, 1, 2, 3, 5
    assert needed["one"].tolist() == [1, 1, 1, 2]  # a row without labels asks for none
    assert needed["three"].tolist() == [3, 2, 1, 4]
    assert needed["all"].tolist() == [5, 2, 1, 4]


def test_more_labels_answer_more_rows(tmp_path: Path) -> None:
    Y = sp.random_array((200, 1000), density=0.01, format="csr", rng=np.random.default_rng(0))
    found = measure_imbalance(Y)
    for answers in ("one", "three", "all"):
        assert found[answers] == sorted(found[answers])
        assert found[answers][-1] == 100
    assert all(np.greater_equal(found["one"], found["three"]))
    assert all(np.greater_equal(found["three"], found["all"]))
    page = tables.page_of([{"data": "x", "part": "imbalance", **found}], Figures(tmp_path, "tradeoff"), "")
    assert "| x | 1,000 |" in page
    assert "## x" not in page  # no section of trees


class Given(Bench):
    def __init__(self, train: Dataset, test: Dataset) -> None:
        super().__init__(threads=1)
        self._last, self._data = ("given", 1), Prepared("given", train, test)


def rows_of(texts: list[str] | None) -> Dataset:
    Y = sp.csr_array(np.eye(4, dtype=np.float32)[np.arange(40) % 4])
    return Dataset(Y=Y, X=sp.csr_array(np.eye(40, dtype=np.float32)), texts=texts)


def test_fasttext_counts_words_and_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fasttext, "TRADEOFFS", (0, 2))
    monkeypatch.setattr(fasttext, "SETTING", {**fasttext.SETTING, "dim": 8, "epochs": 20})
    monkeypatch.setattr(factors, "TURNS", 1)
    words = ["red apple", "apple red", "red", "apple"]  # the order of two words tells two labels apart
    train = rows_of([words[i % 4] for i in range(40)])
    run: dict[str, Any] = {"data": "given", "seed": 0, "model": "softmax", "part": "fasttext", "small": False}
    rows = tradeoff.measure(run, Given(train, train))
    assert [row["tradeoff"] for row in rows] == ["huffman", "0", "2"]
    assert all(row["P@1"] == 100 for row in rows)
    page = tables.page_of([{**run, **row} for row in rows], Figures(tmp_path, "tradeoff"), "")
    assert "200 passes" in page
    with pytest.raises(InputError, match="texts"):
        tradeoff.measure(run, Given(rows_of(None), train))


def test_it_is_planned_for_small_sets_of_texts_alone() -> None:
    for name, planned in (("cooking", True), ("yso-100k", False)):
        assert any(run.get("part") == "fasttext" for run in tradeoff.plan(name, 0, False)) is planned
    assert [run["seed"] for seed in (0, 1) for run in tradeoff.plan("x", seed, True) if run["model"] == "none"] == [0]
