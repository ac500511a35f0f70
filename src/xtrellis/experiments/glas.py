"""What the GLaS paper (Guo et al. 2019) measured: each factor alone, the generalisation gap, tail labels.

Everything is measured on the test part; the training itself holds rows out to choose its epoch by. `dim` and batch are
smaller than the paper's (1024 and 4096), which had data sets a hundred times as large.
"""

from __future__ import annotations

from itertools import product
from statistics import mean
from typing import Any

from ..catalog import preset
from ..neural import Curves, Glas
from .base import Experiment, Run
from .data import Bench
from .figures import Figures, spread, table
from .measure import quality

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
# Table 1: one of these changed at a time, all else as in the preset.
FACTORS: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity", "laplacian"),
    "similarity": ("geometric", "pmi", "jaccard"),
    "regularizer_weight": (1.0, 100.0, 1000.0),
    "input_dropout": (0.0, 0.4),
    "hidden": ("linear",),
    "dim": (64, 128, 512),
    "loss": ("margin", "negative-mining", "softmax"),
    "weight_norm": (False,),
}
SMALL: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity"),
    "input_dropout": (0.0,),
    "hidden": ("linear",),
}
TREES = ("xr-linear", "bonsai", "parabel")
NOTHING = "nothing"  # neither regulariser nor dropout: the paper's algorithm 1


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """The preset, every factor alone, the model without any regularisation, and the trees."""
    common = {"data": data, "seed": seed}
    runs: list[Run] = [{**common, "model": "glas", "factor": None, "value": None}]
    for factor, values in (SMALL if small else FACTORS).items():
        default = getattr(Glas, factor)
        runs += [{**common, "model": "glas", "factor": factor, "value": v} for v in values if v != default]
    runs.append({**common, "model": "glas", "factor": NOTHING, "value": None})
    return runs + [{**common, "model": tree, "factor": None, "value": None} for tree in TREES[: 1 if small else None]]


def measure(run: Run, bench: Bench) -> dict[str, Any]:
    """Train one model; quality on test and on as many training rows, and how training went."""
    import time

    data = bench.data(run["data"])
    model = preset(run["model"], seed=run["seed"], threads=bench.threads)
    if run["factor"] == NOTHING:
        model.set_params(regularizer=None, input_dropout=0.0)
    elif run["factor"] is not None:
        model.set_params(**{run["factor"]: run["value"]})
    began = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    seconds = time.perf_counter() - began
    measured: dict[str, Any] = {"seconds": round(seconds, 2)}
    measured |= quality(data, model.predict(data.test.X, k=5), METRICS)
    seen = data.train.select(range(min(data.train.n_rows, data.test.n_rows)))
    found = quality(type(data)(data.name, data.train, seen), model.predict(seen.X, k=5), ("P@1",))
    measured["train P@1"] = found["P@1"]
    if isinstance(model, Glas):
        measured["curves"] = [{k: round(v, 5) for k, v in point.items() if k != "seconds"} for point in model.curves]
    return measured


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables 1 and 2, figure 1 and the comparison with trees."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    parts = [_introduction(rows)]
    for name in sets:
        here = [row for row in rows if row["data"] == name]
        parts.append(
            f"## {name}\n\n{_factors(here)}\n\n{_gap(here)}\n\n{_curves(here, figures, name)}\n\n{_trees(here)}"
        )
    parts.append(_claims(rows, sets))
    return "\n\n".join(parts)


def _introduction(rows: list[dict[str, Any]]) -> str:
    seeds = len({row["seed"] for row in rows})
    return (
        "Guo et al. (NeurIPS 2019) say that embedding classifiers fail by overfitting, not by their low dimension, and "
        "that label vectors whose products follow the labels' co-occurrence, with input dropout and a ReLU, repair it. "
        f"Here: the preset `glas` (dim {Glas.dim}, at most {Glas.epochs} epochs) on test parts, mean ± standard "
        f"deviation of up to {seeds} seeds; percentages."
    )


def _of(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _number(rows: list[dict[str, Any]], name: str) -> str:
    return spread([row[name] for row in rows])


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return mean(row[name] for row in rows) if rows else float("nan")


def _factors(rows: list[dict[str, Any]]) -> str:
    base = _of(rows, model="glas", factor=None)
    lines = [["as the preset has it", "", *(_number(base, name) for name in ("P@1", "P@5", "PSP@1", "PSP@5"))]]
    changed = dict.fromkeys((row["factor"], str(row["value"])) for row in rows if row["factor"])
    for factor, value in changed:
        if factor == NOTHING:
            continue
        found = [row for row in _of(rows, model="glas", factor=factor) if str(row["value"]) == value]
        lines.append([factor, value, *(_number(found, name) for name in ("P@1", "P@5", "PSP@1", "PSP@5"))])
    head = ["changed", "to", "P@1", "P@5", "PSP@1", "PSP@5"]
    return f"Each factor alone (the paper's table 1):\n\n{table(head, lines)}"


def _gap(rows: list[dict[str, Any]]) -> str:
    lines = []
    kinds = {"glas and dropout": (None, None), "no regulariser": ("regularizer", None), "neither": (NOTHING, None)}
    for name, (factor, value) in kinds.items():
        found = _of(rows, model="glas", factor=factor, value=value)
        if found:
            gap = [{"gap": row["train P@1"] - row["P@1"]} for row in found]
            lines.append([name, _number(found, "train P@1"), _number(found, "P@1"), _number(gap, "gap")])
    return f"Generalisation gap (table 2):\n\n{table(['', 'train P@1', 'test P@1', 'gap'], lines)}"


def _curves(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    key = f"curves-{name}".replace("/", "-")
    kinds = {"glas and dropout": None, "neither": NOTHING}
    with figures.draw(key, columns=2) as axes:
        for axis, (title, factor) in zip(axes, kinds.items(), strict=True):
            found = _of(rows, model="glas", factor=factor)
            curves: Curves = found[0]["curves"] if found else []
            for what in ("train_p1", "validation_p1"):
                points = [(point["epoch"], point[what]) for point in curves if what in point]
                if points:
                    axis.plot(*zip(*points, strict=True), "o-", markersize=3, label=what.replace("_p1", ""))
            axis.set_title(title)
            axis.set_xlabel("epoch")
            axis.set_ylabel("P@1")
            if curves:
                axis.legend()
    return "Training and held-out rows (figure 1):\n\n" + figures.link(key, f"P@1 by epoch on {name}")


def _trees(rows: list[dict[str, Any]]) -> str:
    names = [name for name in ("glas", *TREES) if _of(rows, model=name, factor=None)]
    lines = []
    for name in names:
        found = _of(rows, model=name, factor=None)
        lines.append([f"`{name}`", *(_number(found, metric) for metric in METRICS), _number(found, "seconds")])
    return f"Beside the linear trees (tables 3, 4 and 6):\n\n{table(['model', *METRICS, 'training s'], lines)}"


def _claims(rows: list[dict[str, Any]], sets: list[str]) -> str:
    """Each claim of the paper, on each data set: by how many points it holds (or not)."""
    claims: dict[str, tuple[str, Any]] = {
        "GLaS better than no regulariser": ("regularizer", None),
        "GLaS better than spread-out": ("regularizer", "spread-out"),
        "GLaS better than gravity": ("regularizer", "gravity"),
        "ReLU better than linear": ("hidden", "linear"),
        "dropout helps": ("input_dropout", 0.0),
    }
    lines = []
    for (claim, (factor, value)), metric in product(claims.items(), ("P@1", "PSP@5")):
        cells = []
        for name in sets:
            here = _of(rows, data=name, model="glas")
            base, other = _of(here, factor=None), _of(here, factor=factor, value=value)
            cells.append(f"{_mean(base, metric) - _mean(other, metric):+.2f}" if other else "–")
        lines.append([f"{claim}, {metric}", *cells])
    for metric in ("PSP@1", "PSP@5"):
        cells = []
        for name in sets:
            here = _of(rows, data=name, factor=None)
            trees = [_mean(found, metric) for tree in TREES if (found := _of(here, model=tree))]
            cells.append(f"{_mean(_of(here, model='glas'), metric) - max(trees):+.2f}" if trees else "–")
        lines.append([f"{metric} above the best tree's", *cells])
    shown = table(["claim", *sets], lines)
    return f"## The paper's claims\n\nDifferences in points; a claim holds where it is positive.\n\n{shown}"


EXPERIMENT = Experiment(
    name="glas",
    title="GLaS: embeddings of labels that follow their co-occurrence",
    data=("cooking", "stackexchange", "mdn-seealso", "yso-100k"),
    seeds=3,
    plan=plan,
    measure=measure,
    page=page,
)
