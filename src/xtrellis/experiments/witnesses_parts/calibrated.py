"""Do probabilities mean what they say: of `best` by itself, and of `xr-linear` as a tagger learns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import TopK
from ...catalog import preset
from ...core import generator
from ...data import TrainingData
from ...labels import label_frequency
from ...metrics import reliability
from ...rank import Probabilities
from ..data import Prepared
from ..figures import table

# The shared sets of 5,000 test rows and more that are measured for nothing else here.
MORE = ("yso", "acl-authors", "npm-dependents", "gene-pubmed")
FEWEST, AIM = 5000, 0.02  # test rows; expected calibration error of the first ten answers
ANSWERS, LEARNED = 100, 20
HELD = 0.1  # of the training rows: what xr-linear's scores are worth is learned from them


def measure(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """Of the preset, and of a tree whose scores were learned the worth of."""
    train = TrainingData.of(data.train.X, data.train.Y, texts=data.train.texts, label_names=data.train.label_names)
    best = preset("best", seed=seed, threads=threads).fit(train)
    rows = [_row(data, "best", best.predict(data.test.X, ANSWERS, texts=data.test.texts))]
    order = generator(seed, "calibration").permutation(train.n_rows)
    held, rest = np.split(order, [int(HELD * train.n_rows)])
    asked, known = train.select(np.sort(held)), train.select(np.sort(rest))
    tree = preset("xr-linear", seed=seed, threads=threads).fit(known)
    frequency = np.asarray(label_frequency(known.Y), np.int64)
    curves = Probabilities.learn(tree.predict(asked.X, LEARNED), asked.Y, frequency)
    top = tree.predict(data.test.X, ANSWERS)
    return [*rows, _row(data, "xr-linear, calibrated", curves(top, frequency))]


def _row(data: Prepared, name: str, top: TopK) -> dict[str, Any]:
    found = reliability(data.test.Y, top)
    said = {"model": name, "test rows": data.test.n_rows, "ECE": round(found.ece, 4), "Brier": round(found.brier, 4)}
    return {**said, "reliability": found.to_dict()["bins"]}


def section(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each data set."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        errors = [float(np.mean([row["ECE"] for row in mine if row["model"] == model])) for model in models]
        lines.append([data, f"{mine[0]['test rows']:,}", *(f"{error:.3f}" for error in errors)])
    large = [row for row in rows if row["test rows"] >= FEWEST and row["model"] == "best"]
    worst = max((row["ECE"] for row in large), default=0.0)
    verdict = "met" if worst <= AIM else "missed"
    return (
        "## Whether probabilities mean what they say\n\n"
        f"Expected calibration error of the first ten answers on test rows; what the scores of `xr-linear` are worth "
        f"is learned from a tenth of the training rows. Aimed for: {AIM} for `best` on every set of {FEWEST:,} test "
        f"rows and more. The largest there is {worst:.3f}: {verdict}.\n\n"
        + table(["data", "test rows", *(f"{model} ECE" for model in models)], lines)
        + "\n"
    )
