"""The ELIAS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.experiments import elias, experiment
from xtrellis.experiments.base import run_all
from xtrellis.experiments.data import Bench, prepare
from xtrellis.experiments.elias_parts.index import BEAMS, tree_costs
from xtrellis.experiments.elias_parts.page import STEPS, _heading
from xtrellis.experiments.measure import deciles
from xtrellis.experiments.results import Results
from xtrellis.neural.elias.task import EliasTask
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
        "| R@100, by best path | R@100, beam 5 | R@100, `xr-linear` | gain |",
        "Brute force asks all labels",
    ):  # fmt: skip
        assert expected in page
    for key in ("index", "ranker", "rows"):
        assert list((tmp_path / "out").glob(f"elias-{key}-*.svg"))


def test_tenths_of_the_labels() -> None:
    tenth = deciles(np.arange(20))
    assert tenth.tolist() == [9 - i // 2 for i in range(20)]


def test_small_runs_are_fewer_and_of_smaller_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (0, 1):
        assert len(elias.plan("x", seed, True)) < len(elias.plan("x", seed, False))
    made = []
    monkeypatch.setattr(elias, "_trained", lambda data, name, model, at, facts: made.append(model) or {})
    for model in ("stage 1", "encoder-ova", "xr-linear"):
        run = next(run for run in elias.plan(str(folder), 0, True) if run["model"] == model)
        elias.measure(run, Bench(1))
    one, ova, _ = made
    assert (one.stages, one.shortlist_size, one.epochs) == (1, 500, 8)
    assert one.encoder.dim == ova.encoder.dim == 128


def test_a_stopped_run_goes_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elias, "SMALL", {"encoder": BagEncoder(dim=8), "epochs": 3, "shortlist_size": 20})
    epochs, real = [], EliasTask.epoch

    def epoch(self: EliasTask, number: int):
        if stops and number == 2:
            raise KeyboardInterrupt
        epochs.append(number)
        return real(self, number)

    monkeypatch.setattr(EliasTask, "epoch", epoch)
    asked = {"data": [str(folder)], "seeds": 1, "small": True, "only": {"model": ["stage 1"]}, "threads": 1}
    stops = True
    with pytest.raises(KeyboardInterrupt):
        run_all(experiment("elias"), tmp_path, **asked)
    assert len(list((tmp_path / "unfinished").iterdir())) == 1
    stops = False
    run_all(experiment("elias"), tmp_path, **asked)
    assert epochs == [0, 1, 2]
    assert not list((tmp_path / "unfinished").iterdir())
    run_all(experiment("elias"), tmp_path / "whole", **asked)
    went_on, whole = (Results(at / "elias.jsonl").rows[0] for at in (tmp_path, tmp_path / "whole"))
    assert went_on["P@5"] == whole["P@5"]
    assert went_on["costs"] == whole["costs"]
    assert "processor seconds" in whole
    assert "processor seconds" not in went_on


def test_what_a_tree_costs(folder: Path) -> None:
    data = prepare(str(folder), threads=1)
    model = xt.LinearTree(index=xt.BalancedTree(arity=2, max_leaf=5), beam=3, threads=1).fit(data.train.X, data.train.Y)
    costs = tree_costs(model, data)
    assert [point["as clusters"] for point in costs] == list(BEAMS)
    assert costs[-1]["labels asked"] == 40  # all there are
    assert [point["labels asked"] for point in costs] == sorted(point["labels asked"] for point in costs)
    assert costs[-1]["R@100"] == 100
    assert model.beam == 3


def test_parts_of_data_sets_are_told() -> None:
    assert _heading("acl-authors@10000") == "acl-authors, 10,000 rows that share labels"
    assert _heading("mdn-seealso") == "mdn-seealso"
