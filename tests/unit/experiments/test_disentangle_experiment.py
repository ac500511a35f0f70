"""The experiment on overlapping clusters, on a toy: every part has its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.experiments import disentangle, experiment
from xtrellis.experiments.base import run_all


def test_the_whole_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = xt.synthetic(n_rows=400, n_labels=240, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    monkeypatch.setattr(disentangle, "SIZES", (2,))
    monkeypatch.setattr(disentangle, "MANY", (2,))
    monkeypatch.setattr(disentangle, "COSTS", tuple(set(disentangle.COSTS) - {disentangle.DEEP}))  # needs torch
    monkeypatch.setattr(disentangle, "COPIES", (1, 2))
    monkeypatch.setattr(disentangle, "TURNS", 1)
    page = run_all(experiment("disentangle"), tmp_path / "out", data=[str(tmp_path)], seeds=1, threads=1).read_text()
    titles = ("## Fused labels", "## Many fused labels", "## Places a label", "## Variants", "## What they cost")
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
