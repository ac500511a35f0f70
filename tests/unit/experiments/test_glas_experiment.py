"""The GLaS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import TopK
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
    assert "| no regulariser |" in page
    assert "| `xr-linear` |" in page
    assert "| GLaS better than gravity, P@1 |" in page
    assert "| random | chosen | spread-out | 10 |" in page
    assert "| centroids | none | glas | 10 |" in page
    assert "PSP@1 of test counts" in page
    assert "| `xr-linear`, prior 0.1 |" in page
    assert " ± " in page
    assert list((tmp_path / "out").glob("glas-curves-*.svg"))


def test_every_factor_is_varied_alone() -> None:
    runs = [run for run in glas.plan("x", 0, False) if run["model"] == "glas"]
    varied = {run["factor"] for run in runs} - {None, glas.CROSS, glas.PLAIN, glas.DROPOUT}
    assert varied == set(glas.FACTORS)
    assert len({str(run) for run in runs}) == len(runs)
    for run in runs:
        if run["factor"] in varied:
            assert run["value"] != getattr(xt.Glas, run["factor"])
        if run["model"] == "glas":
            xt.Glas(**glas.changed(run))


def test_regularisers_are_crossed_with_weights_and_starts() -> None:
    crossed = [glas.changed(run) for run in glas.plan("x", 0, False) if run["factor"] == glas.CROSS]
    assert {(c["regularizer"], c["init"]) for c in crossed} == {
        (kind, start) for kind in (None, "glas", "spread-out") for start in ("centroids", "random")
    }
    assert {c["regularizer_weight"] for c in crossed if c["regularizer"]} == set(glas.WEIGHTS)


def test_a_prior_in_the_answers_of_a_tree() -> None:
    top = TopK(np.array([[0, 1, 2], [2, 0, -1]], np.int32), np.array([[0.9, 0.8, 0.1], [0.5, 0.4, 0]], np.float32), 3)
    counts = np.array([100, 10, 1])
    assert glas.with_prior(top, counts, 0.0).labels.tolist() == top.labels.tolist()
    assert glas.with_prior(top, counts, 0.2).labels.tolist() == [[1, 0, 2], [2, 0, -1]]
    assert glas.with_prior(top, counts, -0.2).labels.tolist() == [[0, 1, 2], [0, 2, -1]]


def test_differences_are_by_seed() -> None:
    base = [{"seed": seed, "P@1": value} for seed, value in ((0, 10.0), (1, 50.0), (2, 30.0))]
    mine = [{"seed": seed, "P@1": value} for seed, value in ((0, 11.0), (1, 53.0), (3, 99.0))]
    assert glas._gain(mine, base, "P@1") == "+2.00 ± 1.00"
    assert glas._gain(mine[:1], base, "P@1") == "+1.00"
    assert glas._gain(mine[2:], base, "P@1") == "–"
