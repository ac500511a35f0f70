"""The GLaS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.experiments import experiment, glas
from xtrellis.experiments.base import run_all


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train, test = xt.synthetic(n_rows=400, n_labels=30, n_features=300, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    return tmp_path


def test_the_whole_of_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        glas, "preset", lambda name, **p: xt.preset(name, **p, **({"epochs": 2} if name == "glas" else {}))
    )
    chosen = experiment("glas")
    page = run_all(chosen, tmp_path / "out", data=[str(folder)], seeds=2, small=True, threads=1).read_text()
    assert "as the preset has it" in page
    assert "| regularizer | spread-out |" in page
    assert "| neither |" in page
    assert "| `xr-linear` |" in page
    assert "| GLaS better than gravity, P@1 |" in page
    assert " ± " in page
    assert list((tmp_path / "out").glob("glas-curves-*.svg"))


def test_every_factor_is_varied_alone() -> None:
    runs = glas.plan("x", 0, False)
    varied = {run["factor"] for run in runs} - {None, glas.NOTHING}
    assert varied == set(glas.FACTORS)
    assert len({str(run) for run in runs}) == len(runs)
    for run in runs:
        if run["factor"] in varied:
            assert run["value"] != getattr(xt.Glas, run["factor"])
            xt.Glas(**{run["factor"]: run["value"]})
