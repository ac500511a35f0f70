"""The ELIAS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.experiments import elias, experiment
from xtrellis.experiments.base import run_all
from xtrellis.experiments.elias_index import deciles
from xtrellis.experiments.elias_page import STEPS
from xtrellis.neural.encoders.bag import BagEncoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train, test = xt.synthetic(n_rows=300, n_labels=40, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    return tmp_path


def test_the_whole_of_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"epochs": 2, "encoder": BagEncoder(dim=16), "batch_size": 64}

    def small(name: str, **params: Any) -> Any:
        model = xt.preset(name, **params)
        if name.startswith("elias"):
            (model if name == "elias" else model.base).set_params(**quick)
        return model.set_params(**quick) if name == "encoder-ova" else model

    monkeypatch.setattr(elias, "preset", small)
    swept = {"shortlist_weight": (0.2,), "edges_per_cluster": (1,), "shortlist_size": (10,), "edge_scale": (2,)}
    monkeypatch.setattr(elias, "SWEPT", swept)
    monkeypatch.setattr(elias, "OTHERS", ("encoder-ova", "xr-linear"))
    page = run_all(experiment("elias"), tmp_path / "out", data=[str(folder)], seeds=1, threads=1).read_text()
    for expected in (
        *(f"| ELIAS {step} |" for step in STEPS), "| `encoder-ova` |", "Stage 2 against stage 1: R@100",
        "| λ = 0.2 |", "| κ, in labels a cluster has = 1 |", "| K = 10 |", "| score ≥ 0.1 |",
        "| β, in labels a cluster has = 2 |", "At equal cost",
    ):  # fmt: skip
        assert expected in page
    for key in ("index", "ranker", "rows"):
        assert list((tmp_path / "out").glob(f"elias-{key}-*.svg"))


def test_tenths_of_the_labels() -> None:
    tenth = deciles(np.arange(20))
    assert tenth.tolist() == [9 - i // 2 for i in range(20)]


def test_small_runs_are_fewer() -> None:
    assert len(elias.plan("x", 0, True)) < len(elias.plan("x", 1, False)) < len(elias.plan("x", 0, False))
