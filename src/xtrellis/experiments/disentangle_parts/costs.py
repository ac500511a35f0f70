"""What overlapping clusters cost (Liu et al. 2021, table 5), and presets compared in precision, time and size together.

Times are the processor's, not the clock's, which counts the waits of a busy machine; models take turns, and the least
of all turns counts.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...catalog import preset
from ...linear import LinearTree
from ...metrics import bootstrap, per_row
from ...model import Model
from ...neural import XTransformer
from ..data import Prepared
from ..figures import table
from ..measure import quality

TURNS = 7  # of predictions, the least counts
LONE = 300  # rows that are asked one by one
XR_LINEAR = "xr-linear"
FORMER = "former preset"
PRESET = "preset"  # against `xr-linear`
BARE = "preset without overlap"  # its tree, solver, storage and beam: what these do by themselves
DEEP = "x-transformer"  # with its features, and the former preset's tree against its own
WHAT = {"train s": "training", "us": "prediction, batch", "p50 us": "prediction, single (median)"}


def cost(plain: LinearTree, model: LinearTree, data: Prepared) -> dict[str, Any]:
    """Seconds of training, microseconds a row in batches and alone, of both."""
    both: dict[str, Model] = {"plain": plain, "model": model}
    train = dict.fromkeys(both, math.inf)
    for _ in range(2):
        for name, it in both.items():
            train[name] = min(train[name], training_seconds(it, data))
    return _both({"plain": plain.trees[0].n_bytes, "model": model.trees[0].n_bytes}, train, both, data)


def deep_cost(data: Prepared, seed: int, threads: int | None) -> dict[str, Any]:
    """The same for X-Transformer, whose encoder is trained alike in both; once, since that takes minutes."""
    plain, other = (preset(name, seed=seed, threads=threads) for name in (DEEP, f"{DEEP}-overlap"))
    assert isinstance(plain, XTransformer)  # what the presets are
    assert isinstance(other, XTransformer)
    both: dict[str, Model] = {"plain": plain, "model": other}
    train = {name: training_seconds(it, data) for name, it in both.items()}
    sizes = {"plain": plain.fitted_tree.trees[0].n_bytes, "model": other.fitted_tree.trees[0].n_bytes}
    found = {name: quality(data, it.predict(data.test.X, k=5), ("P@1", "P@3", "P@5")) for name, it in both.items()}
    better = found["model"] | {f"plain {key}": value for key, value in found["plain"].items()}
    return _both(sizes, train, both, data) | better


def _both(
    sizes: Mapping[str, int], train: Mapping[str, float], both: dict[str, Model], data: Prepared
) -> dict[str, Any]:
    times = prediction_times(both, data.test.X)
    told = {
        f"{name} {what}": value for name in both for what, value in ({"train s": train[name]} | times[name]).items()
    }
    return {"plain bytes": sizes["plain"], "bytes": sizes["model"], "clock": "processor"} | _rounded(told)


def training_seconds(model: Model, data: Prepared) -> float:
    """Of the processor, all threads together."""
    begun = time.process_time()
    model.fit(data.train.X, data.train.Y, texts=data.train.texts if isinstance(model, XTransformer) else None)
    return time.process_time() - begun


def prediction_times(models: Mapping[str, Model], X: Any) -> dict[str, dict[str, float]]:
    """Microseconds of the processor for ten answers: a row among all (`us`), and alone (`p50 us`, the median)."""
    batch = dict.fromkeys(models, math.inf)
    lone = [X[[i]] for i in np.unique(np.linspace(0, X.shape[0] - 1, min(LONE, X.shape[0])).astype(int))]
    alone = {name: np.full(len(lone), np.inf) for name in models}
    for _ in range(TURNS):
        for name, model in models.items():
            begun = time.process_time_ns()
            model.predict(X, k=10)
            batch[name] = min(batch[name], (time.process_time_ns() - begun) / 1e3 / X.shape[0])
            for i, row in enumerate(lone):
                begun = time.process_time_ns()
                model.predict(row, k=10)
                alone[name][i] = min(alone[name][i], (time.process_time_ns() - begun) / 1e3)
    return {name: {"us": batch[name], "p50 us": float(np.median(alone[name]))} for name in models}


def measure_presets(
    models: Mapping[str, LinearTree], data: Prepared, metrics: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """A row a model: precision, its gain over `xr-linear` row by row, times and size."""
    train = {name: training_seconds(model, data) for name, model in models.items()}
    times = prediction_times(models, data.test.X)
    tops = {name: model.predict(data.test.X, k=5) for name, model in models.items()}
    values = {name: np.asarray(per_row(data.test.Y, top, "P@5")) for name, top in tops.items()}
    out = []
    for name, model in models.items():
        gain = bootstrap(values[name] - values[XR_LINEAR], seed=seed)
        out.append(
            {"model": name, **quality(data, tops[name], metrics)}
            | _rounded({"gain": gain.mean, "gain low": gain.low, "gain high": gain.high})
            | _rounded({"train s": train[name], **times[name]})
            | {"bytes": model.trees[0].n_bytes, "places": len(model.tree.label_slots[1]) / model.n_labels}
        )
    return out


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in values.items()}


def presets_table(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> str:
    """Means over seeds; sizes and times against `xr-linear`."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["model"]].append(row)
    lines = []
    for (data, name), group in groups.items():
        base, former = groups[data, XR_LINEAR], groups[data, FORMER]
        gain, before = _mean(group, "gain"), _mean(former, "gain")
        cells = [f"{_mean(group, metric):.2f}" for metric in metrics]
        low, high = _mean(group, "gain low"), _mean(group, "gain high")
        cells.append("" if name == XR_LINEAR else f"{gain:+.2f} [{low:+.2f}, {high:+.2f}]")
        cells.append(f"{gain / before:.2f}" if name in (PRESET, BARE) and before > 0 else "")
        cells += [f"{_mean(group, what) / _mean(base, what):.2f}×" for what in ("bytes", *WHAT)]
        lines.append([data, name, *cells, f"{_mean(group, 'places'):.2f}", len(group)])
    said = (
        "All trained and asked in one run, taking turns; sizes and times (of the processor) against `xr-linear`. "
        "*Former preset*: two places, clusters of at most 100 that begin with 50, beam 7. *Of former*: the gain in "
        "P@5 as a multiple of its gain."
    )
    head = ("data", "model", *metrics, "gain in P@5", "of former", "size", *WHAT.values(), "places a label", "seeds")
    return said + "\n\n" + table(head, lines) + _beside_former(groups)


def _beside_former(groups: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> str:
    """Size and times of the preset against the former one: quotients of rounded ratios would be off by a percent."""
    told = []
    for (data, name), mine in groups.items():
        if name == PRESET and (former := groups.get((data, FORMER))):
            ratios = (
                f"{what} {_mean(mine, key) / _mean(former, key):.3f}" for key, what in {"bytes": "size", **WHAT}.items()
            )
            told.append(f"{data}: {', '.join(ratios)}")
    return "\n\nThe preset against the former one (of means over seeds): " + "; ".join(told) + "." if told else ""


def costs_table(rows: Sequence[Mapping[str, Any]], variants: Sequence[str], copies: Sequence[int]) -> str:
    """Ratios to the tree without overlap."""
    lines = []
    order = [*variants, *map(_places, copies)]
    told = [{**row, "what": row["variant"] if "variant" in row else _places(row["copies"])} for row in rows]
    for row in sorted(told, key=lambda row: (row["data"], order.index(row["what"]))):
        ratios = [f"{row[f'model {what}'] / row[f'plain {what}']:.2f}×" for what in WHAT]
        mine = [f"{row['model us']:.1f}", f"{row['model p50 us']:.1f}", row.get("clock", "wall, quiet machine")]
        lines.append([row["data"], row["what"], *ratios, *mine])
    head = ("data", "variant", *WHAT.values(), "µs a row, batch", "µs, single", "time")
    said = (
        "Against the same tree without overlap, both taking turns; *x-transformer*: with the former preset's tree "
        "against its own."
    )
    return said + "\n\n" + table(head, lines)


def _places(copies: int) -> str:
    return f"best counts, {copies} place{'s' * (copies > 1)}"


def _mean(rows: Sequence[Mapping[str, Any]], field: str) -> float:
    return float(np.mean([row[field] for row in rows]))
