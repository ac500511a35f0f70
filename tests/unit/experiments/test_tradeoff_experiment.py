"""The experiment on frequencies in the tree, on a toy: every kind of model has its table and its curves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.experiments import experiment, tradeoff
from xtrellis.experiments.base import run_all
from xtrellis.experiments.figures import Figures
from xtrellis.experiments.tradeoff_parts import factors, tables


def test_the_whole_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = xt.synthetic(n_rows=400, n_labels=240, n_features=200, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    monkeypatch.setattr(tradeoff, "TRADEOFFS", (0, math.inf))
    monkeypatch.setattr(tradeoff, "ROWS", 10)
    for name, value in {
        "TRADEOFFS": (0, 2),
        "CODE_TRADEOFFS": (2,),
        "ROWS": 10,
        "TURNS": 1,
        "CHUNK": 4,
        "CODES": ({"answers": 3},),
    }.items():
        monkeypatch.setattr(factors, name, value)
    page = run_all(experiment("tradeoff"), tmp_path / "out", data=[str(tmp_path)], seeds=1, threads=1).read_text()
    for title in tables.TITLES.values():
        assert f"### {title}" in page
    assert "| huffman |" in page
    assert len(list((tmp_path / "out").glob("tradeoff-*.svg"))) == len(tables.TITLES) + 1  # and how uneven labels are
    lines = [json.loads(line) for line in (tmp_path / "out/tradeoff.jsonl").read_text().splitlines()]
    lines = [row for row in lines if row["model"] != "none"]
    rows = [row for row in lines if "part" not in row]
    chosen = {row["tradeoff"]: row for row in rows if row["model"] == "softmax" and row["route"] == "weighted"}
    assert chosen["inf"]["depth@1"] < chosen["0"]["depth@1"]  # frequent labels are nearer to the root
    assert all(0 < row["P@1"] <= 100 for row in lines)
    assert all(row["nodes@1"] >= 1 for row in lines if row["model"] != "softmax")

    parts = {(row["model"], row["part"]): [] for row in lines if "part" in row}
    for row in lines:
        if "part" in row:
            parts[row["model"], row["part"]].append(row)
    joins = [(row["tradeoff"], row.get("join")) for row in parts["linear-16", "factors"]]
    assert joins == [("0", None), ("2", None), ("0", "levels"), ("2", "levels")]
    assert [row.get("answers") for row in parts["linear-2", "codes"]] == [None, 3]
    assert [row.get("asked") for row in parts["linear-2", "asked"]] == [None, True]
    for row in parts["linear-2", "slack"]:  # a slack only stops earlier; none is the plain search
        nodes = [found["nodes@1"] for found in row["slack"]]
        assert nodes == sorted(nodes, reverse=True)
        assert row["slack"][0]["P@1"] == row["P@1"]
    for words in ("by levels", "2, marginal, 3 answers", "2, row weights", "0, 0.05", "margin 0.2"):
        assert words in page


def test_asked_rows_are_those_with_busy_labels() -> None:
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    busy = np.array([True, False, True])
    assert factors.asked_weights(sp.csr_array(Y), busy).tolist() == [10, 1, 10, 1]


def seeds_of(tradeoff: str, precisions: list[float], native: float) -> list[dict[str, Any]]:
    times = {f"native@{k}": native for k in factors.KS}
    times |= {f"latency@{k}": {"mean": native + 8, "p99": 2 * native} for k in factors.KS}
    return [
        {"data": "x", "model": "softmax", "part": "factors", "seed": s, "tradeoff": tradeoff, "P@1": p, "P@3": p / 2}
        | {"depth@1": 2.0, "depth@3": 3.0}
        | times
        for s, p in enumerate(precisions)
    ]


def test_a_tree_within_the_margin_is_no_worse_and_shown_only_if_its_interval_is(tmp_path: Path) -> None:
    base = seeds_of("0", [70.0, 71.0, 72.0], 20)
    steady = seeds_of("1", [69.9, 70.9, 71.9], 15)
    shaky = seeds_of("2", [71.0, 71.0, 71.0], 10)
    worse = seeds_of("6", [69.7, 70.7, 71.7], 5)
    figures = Figures(tmp_path, "tradeoff")
    page = tables.page_of([*base, *steady, *worse], figures, "")
    assert "λ'=1, native -25%, Python -18%, P@1 -0.10 ± 0.00 (shown)" in page
    page = tables.page_of([*base, *steady, *shaky, *worse], figures, "")
    assert "λ'=2, native -50%, Python -36%, P@1 +0.00 ± 2.48 (not shown)" in page
    page = tables.page_of([*base, *worse], figures, "")
    assert "No tree with frequencies is within 0.2" in page


def test_older_lines_say_how_their_trees_were_joined(tmp_path: Path) -> None:
    rows = [
        {**row, "model": "linear-16", "part": None, "route": "weighted", "frequency": "marginal", "nodes@1": 3.0}
        for row in (*seeds_of("0", [70.0], 20), *seeds_of("1", [69.0], 15))
    ]
    page = tables.page_of(rows, Figures(tmp_path, "tradeoff"), "")
    assert "| 0, by levels |" in page
    assert "two things differ" in page


def test_trees_of_another_part_count_for_seeds_that_are_missing(tmp_path: Path) -> None:
    rows = [{**row, "model": "linear-2", "nodes@1": 3.0} for row in seeds_of("0", [70.0, 72.0], 20)]
    found = [
        {"slack": 0.0, "P@1": 1.0, "P@3": 1.0}
        | {f"{what}@{k}": 1.0 for what in ("nodes", "native") for k in (1, 3, 10)}
    ]
    rows = [rows[0], *({**row, "part": "slack", "slack": found} for row in rows)]
    page = tables.page_of(rows, Figures(tmp_path, "tradeoff"), "")
    assert "| 0 | 71.00 |" in page  # 70 of one part, 72 of the other
    assert "Means of 2 seeds, commit" in page
