"""The experiment on frequencies in the tree, on a toy: every kind of model has its table and its curves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.experiments import experiment, tradeoff
from xtrellis.experiments.base import run_all


def test_the_whole_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = xt.synthetic(n_rows=400, n_labels=240, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    monkeypatch.setattr(tradeoff, "TRADEOFFS", (0, math.inf))
    monkeypatch.setattr(tradeoff, "ROWS", 10)
    page = run_all(experiment("tradeoff"), tmp_path / "out", data=[str(tmp_path)], seeds=1, threads=1).read_text()
    for title in tradeoff.TITLES.values():
        assert f"### {title}" in page
    assert "| huffman |" in page
    assert len(list((tmp_path / "out").glob("tradeoff-*.svg"))) == len(tradeoff.TITLES)
    rows = [json.loads(line) for line in (tmp_path / "out/tradeoff.jsonl").read_text().splitlines()]
    chosen = {row["tradeoff"]: row for row in rows if row["model"] == "softmax" and row["route"] == "weighted"}
    assert chosen["inf"]["depth@1"] < chosen["0"]["depth@1"]  # frequent labels are nearer to the root
    assert all(0 < row["P@1"] <= 100 for row in rows)
    assert all(row["nodes@1"] >= 1 for row in rows if row["model"] != "softmax")
