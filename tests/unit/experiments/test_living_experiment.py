"""`xtrellis experiment living`: every way to go on is measured, and the page shows them side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import xtrellis as xt
from xtrellis import cli

LABELS = [f"label{i}" for i in range(40)]


def texts(n: int, seed: int) -> xt.Dataset:
    rng = np.random.default_rng(seed)
    mine = [rng.choice(len(LABELS), rng.integers(1, 3), replace=False) for _ in range(n)]
    said = [
        " ".join([*(f"w{i}x{rng.integers(3)}" for i in row), *(f"c{j}" for j in rng.integers(0, 90, 4))])
        for row in mine
    ]
    return xt.Dataset(None, [[int(i) for i in row] for row in mine], texts=said, label_names=LABELS)


def test_ways_are_measured_and_shown(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    xt.write(texts(1500, 0), tmp_path / "data" / "train.jsonl")
    xt.write(texts(200, 1), tmp_path / "data" / "test.jsonl")
    args = [
        "experiment",
        "living",
        "--data",
        str(tmp_path / "data"),
        "--to",
        str(tmp_path),
        "--threads",
        "1",
        "--small",
    ]
    assert cli.run([*args, "--quiet"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "living.jsonl").read_text().splitlines()]
    ways = {(row["model"], row["way"]): row for row in rows}
    assert list(ways) == [
        ("xr-linear", "no update"), ("xr-linear", "update"), ("xr-linear", "full retraining"),
        ("neighbors", "no update"), ("neighbors", "neighbours only"), ("neighbors", "neighbours, trained anew"),
    ]  # fmt: skip
    before, after = ways["xr-linear", "no update"], ways["xr-linear", "update"]
    assert before["added labels"] > 0
    assert before["R@5 added"] == 0
    assert after["P@5"] > before["P@5"]
    assert len(after["batches"]) == 10
    assert after["MB"] > after["MB of kept rows"] > 0
    assert ways["neighbors", "neighbours only"]["ms until found"] > 0
    page = (tmp_path / "living.md").read_text()
    assert "Against full retraining: P@1" in page
    assert "| neighbours only |" in page
