"""The ELIAS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.experiments import elias, experiment, run_all
from xtrellis.neural import BagEncoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train, test = xt.synthetic(n_rows=300, n_labels=40, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    return tmp_path


def test_the_whole_of_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"epochs": 2, "encoder": BagEncoder(dim=16), "batch": 64}
    monkeypatch.setattr(
        elias,
        "preset",
        lambda name, **p: xt.preset(name, **p, **(quick if name in ("elias", "encoder-ova") else {})),
    )
    monkeypatch.setattr(elias, "STEPS", {name: elias.STEPS[name] for name in elias.SMALL})
    monkeypatch.setattr(elias, "WEIGHTS", (0.2,))
    monkeypatch.setattr(elias, "WIDTHS", (1,))
    monkeypatch.setattr(elias, "OTHERS", ("encoder-ova", "xr-linear"))
    page = run_all(experiment("elias"), tmp_path / "out", data=[str(folder)], seeds=1, threads=1).read_text()
    for expected in (
        "| ELIAS stage 1 |", "| ELIAS stage 2 |", "| `encoder-ova` |", "Stage 2 against stage 1: R@100",
        "| λ = 0.2 |", "| κ, in labels a cluster has = 1 |", "| score ≥ 0.1 |",
    ):  # fmt: skip
        assert expected in page
    assert list((tmp_path / "out").glob("elias-index-*.svg"))


def test_tenths_of_the_labels() -> None:
    tenth = elias.deciles(np.arange(20))
    assert tenth.tolist() == [9 - i // 2 for i in range(20)]


def test_every_step_is_a_model() -> None:
    for name, changed in elias.STEPS.values():
        assert not xt.preset(name, **changed).fitted
    assert len(elias.plan("x", 0, True)) < len(elias.plan("x", 1, False)) < len(elias.plan("x", 0, False))
