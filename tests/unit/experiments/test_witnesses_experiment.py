"""`xtrellis experiment witnesses`: every combination of witnesses, labels without rows, and a page that shows both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import xtrellis as xt
from xtrellis import cli

WORDS = ["bread", "cheese", "soup", "cake", "fish", "rice", "wine", "salt", "oven", "milk", "pie", "tea"]


def texts(n: int, seed: int) -> xt.Dataset:
    rng = np.random.default_rng(seed)
    said, labels = [], []
    for _ in range(n):
        mine = rng.choice(len(WORDS), rng.integers(1, 4), replace=False)
        words = [WORDS[i] if rng.random() < 0.5 else f"hint{i}" for i in mine]
        said.append(" ".join([*words, *(f"w{i}" for i in rng.integers(0, 30, 5))]))
        labels.append([int(i) for i in mine])
    return xt.Dataset(None, labels, texts=said, label_names=WORDS)


def test_every_combination_is_measured_and_shown(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    xt.write(texts(400, 0), tmp_path / "data" / "train.jsonl")
    xt.write(texts(150, 1), tmp_path / "data" / "test.jsonl")
    args = ["experiment", "witnesses", "--data", str(tmp_path / "data"), "--to", str(tmp_path), "--threads", "1"]
    assert cli.run([*args, "--quiet"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "witnesses.jsonl").read_text().splitlines()]
    together = {row["witnesses"]: row for row in rows if row["part"] == "together"}
    best = "overlap + neighbors + names"
    assert list(together) == [
        "xr-linear", "overlap", "neighbors", "names",
        "overlap + neighbors", "overlap + names", "neighbors + names", best,
    ]  # fmt: skip
    assert together[best]["P@1"] >= together["overlap"]["P@1"]
    assert 0 <= together[best]["ECE"] < 0.2
    assert len(together[best]["by frequency"]) == 10
    unseen = {row["witnesses"]: row for row in rows if row["part"] == "unseen"}
    assert unseen["overlap"]["R@5 of unseen"] < unseen["names"]["R@5 of unseen"]
    page = (tmp_path / "witnesses.md").read_text()
    assert "What all witnesses together gain" in page
    assert f"| {best} |" in page
    assert "| three calibrated xr-linear |" in page
    assert "Labels that no training row has" in page
    assert (tmp_path / "witnesses-data.svg").exists()


def test_data_without_texts_goes_without_names(tmp_path: Path) -> None:
    for part, first in (("train", 0), ("test", 400)):
        data = xt.synthetic(n_rows=400, n_labels=40, n_features=200, seed=1, first_row=first)
        (tmp_path / "data").mkdir(exist_ok=True)
        xt.write(data, tmp_path / "data" / f"{part}.txt")
    args = ["experiment", "witnesses", "--data", str(tmp_path / "data"), "--to", str(tmp_path), "--threads", "1"]
    assert cli.run([*args, "--quiet"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "witnesses.jsonl").read_text().splitlines()]
    assert [row["witnesses"] for row in rows] == [
        "xr-linear",
        "overlap",
        "neighbors",
        "overlap + neighbors",
        "none",
        "three calibrated xr-linear",
        "best: overlap + neighbors",
    ]
