"""What `best` could be instead: each choice on rows held out of the training part, never on test rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...arrays import TopK
from ...catalog import preset
from ...data import TrainingData
from ...metrics import reliability
from ...model import Model
from ...rank import Blend, Ensemble
from ...store import Stages
from ..data import Prepared
from ..figures import table
from ..measure import quality

DATA = ("stackexchange", "mdn-seealso", "debian-depends")
METRICS = ("P@1", "P@5", "R@10", "R@100", "PSP@5")
SHOWN = (*METRICS, "ECE", "training s")
HELD = 0.2  # of the training rows: so many that a few tenths of a point show
WIDE = 100
TITLE = "neighbors+names+title"
NEVER = (1, -1, 1, 0)  # a better score, score beside the best, or rank never counts against a label
BASE = "best"


def best(**changed: Any) -> Callable[[], Model]:
    """The preset with some parameters of its own."""
    return lambda: preset("best").set_params(**changed)


# What is asked for; None: the preset with blends that may not hold better scores against a label.
CHOICES: dict[str, Callable[[], Model] | None] = {
    BASE: best(),
    "scores monotone, too": None,
    "members score what others propose": best(score_missing=True),
    "names by stems": best(models__2__stem="english", models__3__stem="english"),
    "200 candidates": best(candidates=200),
    "xr-linear++ in place of overlap": lambda: preset(f"xr-linear+++{TITLE}"),
    "overlap++ in place of overlap": lambda: preset(f"overlap+++{TITLE}"),
    "bonsai beside overlap": lambda: preset(f"overlap+bonsai+{TITLE}"),
    "xr-linear beside overlap": lambda: preset(f"overlap+xr-linear+{TITLE}"),
}


def measure(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """A row for each choice: how good it is on rows that were held out."""
    held = data.held_out(seed, HELD)
    train = TrainingData.of(held.train.X, held.train.Y, texts=held.train.texts, label_names=held.train.label_names)
    return [{"choice": name, **_measured(name, held, train, seed, threads)} for name in CHOICES]


def _measured(name: str, held: Prepared, train: TrainingData, seed: int, threads: int | None) -> dict[str, Any]:
    make = CHOICES[name]
    model = (make or best())()
    model.set_params(seed=seed, threads=threads)
    start = time.process_time()
    if make is None:
        top, spent = _other_rule(cast(Ensemble, model), held, train, seed, threads)
    else:
        model.fit(train)
        spent = time.process_time() - start
        top = model.predict(held.test.X, WIDE, texts=held.test.texts)
    found = reliability(held.test.Y, top)
    return {
        "training s": round(spent, 2), "rows": held.test.n_rows, "ECE": round(found.ece, 4),
        **quality(held, top, METRICS),
    }  # fmt: skip


def _other_rule(
    ensemble: Ensemble, held: Prepared, train: TrainingData, seed: int, threads: int | None
) -> tuple[TopK, float]:
    """What the same members answer if they are weighed by another rule."""
    start = time.process_time()
    members = ensemble.fit(train).members
    with Stages(None, {}) as stages:
        trials = list(ensemble.trials(train, members, stages))
    blend = Blend.learn(
        trials, train.label_counts, wide=WIDE, ask=False, seed=seed, threads=threads, rule=NEVER
    )  # fmt: skip
    spent = time.process_time() - start
    pool, said = blend.hear(members, held.test.X, held.test.texts, WIDE, threads)
    return pool.best(blend.probability(said, threads=threads), WIDE), spent


def section(rows: Sequence[dict[str, Any]]) -> str:
    """A table for each data set: the preset, and by how much each choice differs from it."""
    out = [
        "## What was chosen on held-out rows\n",
        f"{HELD:.0%} of the training rows are held out, the preset and what it could be instead are trained on the "
        "others: the preset's numbers, and below them by how much each choice differs (the mean over the splits; "
        "training in processor seconds). A choice that gains nothing on average, or costs more than it gains, was "
        "not taken.\n",
    ]
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        base = _means([row for row in mine if row["choice"] == BASE])
        splits = len({row["seed"] for row in mine})
        out.append(f"### {data}: {mine[0]['rows']:,} rows, {splits} split{'s' if splits > 1 else ''}\n")
        lines = []
        for name in dict.fromkeys(row["choice"] for row in mine):
            found = _means([row for row in mine if row["choice"] == name])
            cells = [_cell(field, found[field], None if name == BASE else base[field]) for field in SHOWN]
            lines.append([name, *cells])
        out.append(table(["choice", *SHOWN], lines) + "\n")
    return "\n".join(out)


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {field: float(np.mean([row[field] for row in rows])) for field in SHOWN}


def _cell(field: str, value: float, base: float | None) -> str:
    digits = 3 if field == "ECE" else 1 if field == "training s" else 2
    if base is None or field in ("ECE", "training s"):
        return f"{value:.{digits}f}"
    return f"{value - base:+.{digits}f}"
