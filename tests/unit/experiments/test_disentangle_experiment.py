"""The experiment on overlapping clusters, on a toy: every part has its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.experiments import disentangle, experiment
from xtrellis.experiments.base import run_all
from xtrellis.experiments.disentangle_parts import costs, tries


def test_the_whole_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = xt.synthetic(n_rows=400, n_labels=240, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    monkeypatch.setattr(disentangle, "SIZES", (2,))
    monkeypatch.setattr(disentangle, "MANY", (2,))
    monkeypatch.setattr(disentangle, "COSTS", tuple(set(disentangle.COSTS) - {costs.DEEP}))  # needs torch
    monkeypatch.setattr(disentangle, "COPIES", (1, 2))
    monkeypatch.setattr(costs, "TURNS", 1)
    monkeypatch.setattr(costs, "LONE", 10)
    tried = {name: tries.TRIES[name] for name in ("preset", "without overlap", "two places, k-means")}
    monkeypatch.setattr(tries, "TRIES", tried)
    page = run_all(experiment("disentangle"), tmp_path / "out", data=[str(tmp_path)], seeds=1, threads=1).read_text()
    titles = (
        "## Fused labels",
        "## Many fused labels",
        "## Places a label",
        "## Variants",
        "## What they cost",
        "## The preset",
    )
    for title in titles:
        assert title in page
    for variant in disentangle.VARIANTS:
        assert f"| {variant} |" in page
    rows = [json.loads(line) for line in (tmp_path / "out/disentangle.jsonl").read_text().splitlines()]
    none = next(row for row in rows if (row["part"], row.get("variant")) == ("variant", "none"))
    assert none["gain"] == 0
    assert none["P@5"] == none["plain P@5"]
    random = next(row for row in rows if (row["part"], row.get("variant")) == ("variant", "random copies"))
    assert random["bytes"] > random["plain bytes"]
    assert 0 < none["covered"] <= 100
    assert none["covered"] == none["plain covered"]
    assert {f"PSP@{k}" for k in (1, 3, 5)} <= set(none)
    assert random["places"] == 2
    assert list((tmp_path / "out").glob("disentangle-fused.svg"))
    compared = {row["model"]: row for row in rows if row["part"] == "presets"}
    assert list(compared) == ["xr-linear", "former preset", "preset", "preset without overlap"]
    assert compared["xr-linear"]["gain"] == 0
    assert compared["preset"]["places"] > compared["preset without overlap"]["places"] == 1
    settings = {row["setting"]: row for row in rows if row["part"] == "tries"}
    assert list(settings) == list(tried)
    assert settings["without overlap"]["places"] == 1 < settings["two places, k-means"]["places"] <= 2
    assert settings["preset"]["gain"] != 0
    assert all(row["train s"] > 0 and row["us"] > 0 and row["p50 us"] > 0 for row in compared.values())


def test_gains_are_told_as_multiples_of_the_former_presets() -> None:
    def of(model: str, gain: float, us: float) -> dict[str, object]:
        times = {"train s": 1.0, "us": us, "p50 us": us, "bytes": 10, "places": 1.0}
        return {"data": "x", "model": model, "P@5": 30 + gain, "gain": gain, "gain low": 0.0, "gain high": 1.0, **times}

    rows = [of("xr-linear", 0.0, 10.0), of("former preset", 0.5, 12.0), of("preset", 0.75, 15.0)]
    page = costs.presets_table(rows, ["P@5"])
    assert "| x | preset | 30.75 | +0.75 [+0.00, +1.00] | 1.50 | 1.00× | 1.00× | 1.50× | 1.50× |" in page
    assert "| x | former preset | 30.50 | +0.50 [+0.00, +1.00] |  |" in page
    # Of the lines, not of the rounded ratios above: 15 / 12.
    assert "x: size 1.000, training 1.000, prediction, batch 1.250, prediction, single (median) 1.250." in page
