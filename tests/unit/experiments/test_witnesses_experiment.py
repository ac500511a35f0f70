"""`xtrellis experiment witnesses`: every combination of witnesses, labels without rows, and a page that shows both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import xtrellis as xt
from xtrellis import cli
from xtrellis.experiments import witnesses
from xtrellis.experiments.data import Prepared
from xtrellis.experiments.witnesses_parts import calibrated, choices

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
    opponents = {row["witnesses"]: row for row in rows if row["part"] in ("opponents", "best")}
    assert opponents[f"{best} + title"]["P@1"] >= together["xr-linear"]["P@1"]
    assert opponents[f"{best} + title"]["R@10"] >= together[best]["R@10"] - 3
    assert 0 <= opponents[f"{best} + title"]["ECE"] < 0.2
    opponent = opponents["three calibrated xr-linear"]
    assert 0 < opponent["P@5"] <= opponent["P@1"] <= 100
    assert opponent["P@1"] > 100 / len(WORDS)
    unseen = {row["witnesses"]: row for row in rows if row["part"] == "unseen"}
    assert unseen["overlap"]["R@5 of unseen"] < unseen["names"]["R@5 of unseen"]
    page = (tmp_path / "witnesses.md").read_text()
    assert "What all witnesses together gain" in page
    assert f"| {best} |" in page
    assert "| three calibrated xr-linear |" in page
    assert "Labels that no training row has" in page
    said = {row["model"]: row["ECE"] for row in rows if row["part"] == "calibration"}
    assert said["best"] == opponents[f"{best} + title"]["ECE"]
    assert 0 <= said["xr-linear, calibrated"] < 0.2
    assert f"/data | 150 | {said['best']:.3f} | {said['xr-linear, calibrated']:.3f} |" in page
    assert (tmp_path / "witnesses-data.svg").exists()


def test_choices_are_made_on_held_out_rows() -> None:
    data = Prepared("made", *(_with_words(texts(400, 0), texts(150, 1))))
    rows = choices.measure(data, 0, 1)
    assert [row["choice"] for row in rows] == list(choices.CHOICES)
    assert all(50 < row["rows"] < 110 for row in rows)  # of the training part
    assert all(0 < row["P@5"] <= 100 and 0 <= row["ECE"] < 0.3 for row in rows)
    page = choices.section([{**row, "data": "made", "seed": 0} for row in rows])
    assert f"### made: {rows[0]['rows']} rows, 1 split" in page
    assert "| names by stems | " in page


def _with_words(*parts: xt.Dataset) -> list[xt.Dataset]:
    words = xt.Vectorizer().fit(list(parts[0].texts or []))
    return [replace(part, X=words.transform(list(part.texts or []))) for part in parts]


def test_sets_that_are_large_are_measured_for_their_probabilities_alone() -> None:
    assert witnesses.plan("acl-authors", 0, False) == [{"data": "acl-authors", "seed": 0, "part": "calibration"}]
    assert {run["part"] for run in witnesses.plan("cooking", 0, False)} == set(witnesses.PARTS) - {"choices"}
    assert {run["part"] for run in witnesses.plan("stackexchange", 0, False)} == set(witnesses.PARTS)
    rows = [{"data": "a", "model": "best", "test rows": n, "ECE": e} for n, e in ((5000, 0.02), (4999, 0.5))]
    assert "The largest there is 0.020: met." in calibrated.section(rows)
    assert "0.021: missed" in calibrated.section([{**rows[0], "ECE": 0.021}])


def test_data_without_texts_goes_without_names(tmp_path: Path) -> None:
    for part, first in (("train", 0), ("test", 400)):
        data = xt.synthetic(n_rows=400, n_labels=40, n_features=200, seed=1, first_row=first)
        (tmp_path / "data").mkdir(exist_ok=True)
        xt.write(data, tmp_path / "data" / f"{part}.txt")
    args = ["experiment", "witnesses", "--data", str(tmp_path / "data"), "--to", str(tmp_path), "--threads", "1"]
    assert cli.run([*args, "--quiet"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "witnesses.jsonl").read_text().splitlines()]
    said = {row["model"]: row for row in rows if row["part"] == "calibration"}
    assert list(said) == ["best", "xr-linear, calibrated"]
    assert [row["witnesses"] for row in rows if row["part"] != "calibration"] == [
        "xr-linear",
        "overlap",
        "neighbors",
        "overlap + neighbors",
        "none",
        "three calibrated xr-linear",
        "best: overlap + neighbors",
    ]
