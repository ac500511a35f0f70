"""What was tried for the preset, on held-out training rows, beside `xr-linear` and the preset of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...catalog import preset
from ...index import KMeansTree
from ...linear import LinearTree
from ...metrics import evaluate
from ..data import Prepared
from ..figures import table
from .costs import FORMER, XR_LINEAR, prediction_times, training_seconds

SHARE = 0.15  # of the training rows are held out
TWO = {"overlap__copies": 2, "overlap__max_cluster_size": 100}
COVERING = {"overlap__assign": "coverage", "overlap__copies": 4, "overlap__folds": 2, "overlap__min_gain": 1}
K_MEANS = KMeansTree(k=100, depth=3, max_leaf=50)
TRIES: dict[str, dict[str, Any]] = {
    "preset": {},
    "beam 10": {"beam": 10},
    "beam 30": {"beam": 30},
    "without overlap": {"overlap": None},
    "out of fold": {"overlap__folds": 2},
    "coverage, out of fold": COVERING,
    "coverage, out of fold, beam 8": {**COVERING, "beam": 8},
    "coverage, out of fold, rows led to 2": {**COVERING, "overlap__beam": 2},
    "rows led to 2 clusters": {"overlap__beam": 2},
    "rows led to 10 clusters": {"overlap__beam": 10},
    "two places": TWO,
    "two places, beam 8": {**TWO, "beam": 8},
    "two places, negatives of both kinds": {**TWO, "negatives": "both", "negative_beam": 3},
    "two places, k-means": {**TWO, "index": K_MEANS},
    "two places, cost 2": {**TWO, "cost": 2.0},
    "cost 0.5": {"cost": 0.5},
    "l2-hinge": {"transform": "l2-hinge"},
    "sigmoid": {"transform": "sigmoid"},
}
TIMES = {"train s": "training", "us": "batch", "p50 us": "single"}


def measure_tries(
    data: Prepared, base: Mapping[str, LinearTree], seed: int, threads: int | None
) -> list[dict[str, Any]]:
    """A row a try; times and sizes are shares of the former preset's."""
    part = data.held_out(seed, SHARE)
    spent = {name: training_seconds(base[name], part) for name in (XR_LINEAR, FORMER)}
    known = {name: _quality(base[name], part) for name in spent}
    out = []
    for name, changes in TRIES.items():
        model = preset("overlap", seed=seed, threads=threads, **changes)
        assert isinstance(model, LinearTree)  # what the preset is
        seconds = training_seconds(model, part)
        times = prediction_times({FORMER: base[FORMER], name: model}, part.test.X)
        found = _quality(model, part)
        ratios = {"training": seconds / spent[FORMER], "size": _bytes(model) / _bytes(base[FORMER])}
        ratios |= {TIMES[what]: times[name][what] / times[FORMER][what] for what in ("us", "p50 us")}
        gains = {"gain": found["P@5"] - known[XR_LINEAR]["P@5"]}
        gains["former gain"] = known[FORMER]["P@5"] - known[XR_LINEAR]["P@5"]
        numbers = {**found, **gains, **ratios, "places": len(model.tree.label_slots[1]) / model.n_labels}
        out.append({"setting": name, **{key: round(float(value), 3) for key, value in numbers.items()}})
    return out


def _quality(model: LinearTree, data: Prepared) -> dict[str, float]:
    found = evaluate(data.test.Y, model.predict(data.test.X, k=5), ["P@1", "P@3", "P@5"])
    return {name: float(value) for name, value in found.items()}


def _bytes(model: LinearTree) -> int:
    return model.trees[0].n_bytes


def tries_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """As they are: choosing takes one seed."""
    lines = []
    for row in rows:
        cells = [f"{row[key]:.2f}" for key in ("P@1", "P@3", "P@5")]
        cells += [f"{row['gain']:+.2f}", f"{row['gain'] / row['former gain']:.2f}"]
        cells += [f"{row[key]:.2f}×" if key in row else "" for key in ("size", *TIMES.values())]
        lines.append([row["data"], row["setting"], *cells, f"{row['places']:.2f}" if "places" in row else ""])
    said = (
        f"The preset with a thing or two changed, on {100 * SHARE:.0f}% of the training rows, held out; *gain* "
        "in P@5 over `xr-linear`, *of former* as a multiple of the former preset's; size and times (of the processor) "
        "against the former preset. One seed."
    )
    head = ("data", "setting", "P@1", "P@3", "P@5", "gain", "of former", "size", *TIMES.values(), "places a label")
    return said + "\n\n" + table(head, lines)
