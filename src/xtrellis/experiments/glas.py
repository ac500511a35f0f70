"""What the GLaS paper (Guo et al. 2019) measured: each factor alone, the generalisation gap, tail labels; and its
regulariser against others at every weight, from both starts.

Everything is measured on the test part; parameters were chosen on held-out training rows. `dim` and batch are smaller
than the paper's (1024 and 4096), which had data sets a hundred times as large.
"""

from __future__ import annotations

from itertools import product
from statistics import mean, stdev
from typing import Any

import numpy as np

from ..arrays import TopK
from ..catalog import preset
from ..labels import inverse_propensity, label_frequency, propensity_constants
from ..metrics import evaluate
from ..neural import Curves, Glas
from .base import Experiment, Run
from .data import Bench, Prepared
from .figures import Figures, spread, table
from .measure import quality

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
# Table 1: one of these changed at a time, all else as in the preset.
FACTORS: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity", "laplacian"),
    "similarity": ("geometric", "pmi", "jaccard"),
    "regularizer_weight": (1.0, 10.0, 100.0, 1000.0, 10000.0),
    "init": ("random",),
    "prior": (-0.04, -0.02, 0.0, 0.02, 0.04),
    "input_dropout": (0.0, 0.2, 0.4),
    "hidden": ("relu", "relu-only", "linear"),
    "dim": (64, 128, 256, 512, 1024),
    "loss": ("margin", "negative-mining", "softmax"),
    "margin": (0.3, 0.5, 0.7),
    "n_hard_negatives": (1, 3, 10, 30),
    "n_negatives": (0, 1000, 5000),
    "batch_size": (256, 1024, 4096),
    "epochs": (5, 10, 20),
    "weight_norm": (False,),
    "refit": (True,),
}
SMALL: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity"),
    "init": ("random",),
    "prior": (0.0,),
    "hidden": ("relu-only", "linear"),
}
# The regulariser against others at every weight, from both starts; all else as in the preset.
WEIGHTS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
STARTS = ("centroids", "random")
TREES = ("xr-linear", "bonsai", "parabel")
# Rare labels favoured in the answers of a tree, too: how much of a gain in PSP is the prior's, not the embeddings'?
TREE_PRIORS = (0.1, 0.2, 0.3, 0.5)
TREE_CANDIDATES = 50
MILD = {"gravity": 10.0, "laplacian": 10.0}  # both pull all vectors one way: at the preset's weight nothing is learned
MOST_TRAIN = 3000  # training rows that the generalisation gap is measured on
CROSS = "regulariser, weight, start"
PLAIN = "regulariser, weight, prior"  # by cosines alone: what a regulariser does that a prior does as well
DROPOUT = "input_dropout, dropout_scale"  # crossed: what is left can make up for what was dropped


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """The preset, every factor alone, the trees, regularisers at all weights."""
    common = {"data": data, "seed": seed}
    runs: list[Run] = [{**common, "model": "glas", "factor": None, "value": None}]
    runs += [{**common, "model": tree, "factor": None, "value": None} for tree in TREES[: 1 if small else None]]
    runs += [
        {**common, "model": "xr-linear", "factor": "prior", "value": t} for t in TREE_PRIORS[: 1 if small else None]
    ]
    for factor, values in (SMALL if small else FACTORS).items():
        default = getattr(Glas, factor)
        runs += [{**common, "model": "glas", "factor": factor, "value": v} for v in values if v != default]
    runs += [
        {**common, "model": "glas", "factor": DROPOUT, "value": [0.2, how]} for how in ("none", "share", "length")
    ][: 1 if small else None]
    weights = WEIGHTS[1:2] if small else WEIGHTS
    crossed = [[None, 0.0, start] for start in STARTS]
    crossed += [[kind, w, start] for kind in ("glas", "spread-out") for w in weights for start in STARTS]
    runs += [{**common, "model": "glas", "factor": CROSS, "value": value} for value in crossed]
    plain = [[None, 0.0, 0.0], *([kind, w, 0.0] for kind in ("glas", "spread-out") for w in weights[-3:])]
    return runs + [{**common, "model": "glas", "factor": PLAIN, "value": value} for value in plain]


def changed(run: Run) -> dict[str, Any]:
    """The parameters that a run changes."""
    factor, value = run["factor"], run["value"]
    if run["model"] != "glas":
        return {}
    if factor == CROSS:
        return dict(zip(("regularizer", "regularizer_weight", "init"), value, strict=True))
    if factor == PLAIN:
        return dict(zip(("regularizer", "regularizer_weight", "prior"), value, strict=True))
    if factor == DROPOUT:
        return dict(zip(("input_dropout", "dropout_scale"), value, strict=True))
    if factor == "regularizer" and value in MILD:
        return {factor: value, "regularizer_weight": MILD[value]}
    return {} if factor is None else {factor: value}


def measure(run: Run, bench: Bench) -> dict[str, Any]:
    """Train one model; quality on test and on some training rows, and how training went."""
    import time

    data = bench.data(run["data"])
    model = preset(run["model"], seed=run["seed"], threads=bench.threads)
    model.set_params(**changed(run))
    began = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    seconds = time.perf_counter() - began
    measured: dict[str, Any] = {"seconds": round(seconds, 2)}
    if run["model"] != "glas" and run["factor"] == "prior":
        counts = label_frequency(data.train.Y)
        top = with_prior(model.predict(data.test.X, k=TREE_CANDIDATES), counts, run["value"])
    else:
        top = model.predict(data.test.X, k=5)
    measured |= quality(data, top, METRICS)
    measured["PSP@1 of test counts"] = _psp_of_test_counts(data, top)
    seen = data.train.select(range(min(data.train.n_rows, data.test.n_rows, MOST_TRAIN)))
    found = quality(type(data)(data.name, data.train, seen), model.predict(seen.X, k=5), ("P@1",))
    measured["train P@1"] = found["P@1"]
    if isinstance(model, Glas):
        measured["curves"] = [{k: round(v, 5) for k, v in point.items() if k != "seconds"} for point in model.curves]
    return measured


def with_prior(top: TopK, counts: Any, prior: float) -> TopK:
    """The five best by logarithm of the score − prior · ln(rows of the label)."""
    logs = np.log(np.maximum(top.scores, 1e-30)) - prior * np.log(np.maximum(counts, 1))[np.maximum(top.labels, 0)]
    logs = np.where(top.labels >= 0, logs, -np.inf).astype(np.float32)
    order = np.argsort(-logs, axis=1, kind="stable")[:, :5]
    labels, scores = (np.take_along_axis(array, order, axis=1) for array in (top.labels, logs))
    return TopK(labels, scores, top.n_labels)


def _psp_of_test_counts(data: Prepared, top: TopK) -> float:
    """PSP@1 with propensities from the test part, as the code in the paper's appendix D has them."""
    A, B = propensity_constants(data.name)
    weights = inverse_propensity(label_frequency(data.test.Y), data.test.n_rows, A=A, B=B)
    return round(float(evaluate(data.test.Y, top, ["PSP@1"], weights=weights)["PSP@1"]), 3)


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables 1 and 2, figure 1 and the comparison with trees."""
    rows = rows + _also(rows)
    sets = list(dict.fromkeys(row["data"] for row in rows))
    parts = [_introduction(rows)]
    for name in sets:
        here = [row for row in rows if row["data"] == name]
        shown = (_trees(here), _crossed(here), _factors(here), _gap(here), _curves(here, figures, name))
        parts.append("\n\n".join((f"## {name}", *(part for part in shown if part))))
    parts.append(_claims(rows, sets))
    return "\n\n".join(parts)


def _also(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs of the crossed regularisers that are the preset but for its regulariser: a factor changed alone, too."""
    alone = {(str(None), 0.0): None, ("spread-out", Glas.regularizer_weight): "spread-out"}
    there = {(row["data"], row["seed"], row["value"]) for row in _of(rows, factor="regularizer")}
    return [
        {**row, "factor": "regularizer", "value": kind}
        for row in _of(rows, factor=CROSS)
        for pair, kind in alone.items()
        if (str(row["value"][0]), row["value"][1]) == pair
        and row["value"][2] == Glas.init
        and (row["data"], row["seed"], kind) not in there
    ]


def _introduction(rows: list[dict[str, Any]]) -> str:
    seeds = len({row["seed"] for row in rows})
    return (
        "Guo et al. (NeurIPS 2019) say that embedding classifiers fail by overfitting, not by their low dimension, and "
        "that label vectors whose products follow the labels' co-occurrence, with input dropout and a ReLU, repair it. "
        f"Here: the preset `glas` (dim {Glas.dim}, {Glas.epochs} epochs) on test parts, mean ± standard deviation of "
        f"up to {seeds} seeds (a number without a deviation is of one seed); percentages. Each factor is "
        "changed alone, all else as in the preset; what was not run is not shown."
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
    ours = _of(rows, model="glas")
    varied = dict.fromkeys((row["factor"], str(row["value"])) for row in ours if row["factor"])
    for factor, value in varied:
        if factor in (CROSS, PLAIN):
            continue
        found = [row for row in _of(rows, model="glas", factor=factor) if str(row["value"]) == value]
        lines.append([factor, _value(value), *(_number(found, name) for name in ("P@1", "P@5", "PSP@1", "PSP@5"))])
    head = ["changed", "to", "P@1", "P@5", "PSP@1", "PSP@5"]
    if len(lines) == 1:
        return ""
    return f"Each factor alone (the paper's table 1):\n\n{table(head, lines)}"


def _value(value: str) -> str:
    return value.strip("[]").replace("'", "")


def _crossed(rows: list[dict[str, Any]]) -> str:
    """Regularisers at every weight from both starts, and by cosines alone, with standard errors of differences."""
    lines = []
    for factor, third in ((CROSS, STARTS), (PLAIN, (0.0,))):
        for value in third:
            here = [row for row in _of(rows, factor=factor) if row["value"][2] == value]
            none = [row for row in here if row["value"][0] is None]
            how = [value, "chosen"] if factor == CROSS else [STARTS[0], "none"]
            for kind, weight in dict.fromkeys((row["value"][0], row["value"][1]) for row in here):
                mine = [row for row in here if row["value"][:2] == [kind, weight]]
                numbers = [_number(mine, name) for name in ("P@1", "PSP@1", "PSP@5")]
                gains = [_gain(mine, none, name) if kind else "" for name in ("P@1", "PSP@1")]
                lines.append([*how, kind or "none", f"{weight:g}" if kind else "", *numbers, *gains, len(mine)])
    if not lines:
        return ""
    head = ["start", "prior", "regulariser", "λ", "P@1", "PSP@1", "PSP@5", "P@1 − none", "PSP@1 − none", "seeds"]
    note = "Regularisers at every weight, from both starts; differences by seed ± standard error:"
    return f"{note}\n\n{table(head, lines)}"


def _gain(rows: list[dict[str, Any]], base: list[dict[str, Any]], name: str) -> str:
    """Mean difference of the runs that share a seed ± its standard error."""
    by_seed = {row["seed"]: row[name] for row in base}
    gains = [row[name] - by_seed[row["seed"]] for row in rows if row["seed"] in by_seed]
    if not gains:
        return "–"
    return f"{mean(gains):+.2f}" + (f" ± {stdev(gains) / len(gains) ** 0.5:.2f}" if len(gains) > 1 else "")


def _gap(rows: list[dict[str, Any]]) -> str:
    lines = []
    kinds = {
        "as the preset has it": (None, None),
        "no regulariser": ("regularizer", None),
        "dropout 0.2 besides": ("input_dropout", 0.2),
    }
    for name, (factor, value) in kinds.items():
        found = _of(rows, model="glas", factor=factor, value=value)
        if found:
            gap = [{"gap": row["train P@1"] - row["P@1"]} for row in found]
            lines.append([name, _number(found, "train P@1"), _number(found, "P@1"), _number(gap, "gap")])
    if len(lines) < 2:
        return ""
    return f"Generalisation gap (table 2):\n\n{table(['', 'train P@1', 'test P@1', 'gap'], lines)}"


def _curves(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    key = f"curves-{name}".replace("/", "-")
    kinds = {"as the preset has it": None, "no regulariser": "regularizer"}
    with figures.draw(key, columns=2) as axes:
        for axis, (title, factor) in zip(axes, kinds.items(), strict=True):
            found = _of(rows, model="glas", factor=factor, value=None)
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
        extra = [row for row in found if "PSP@1 of test counts" in row]
        more = _number(extra, "PSP@1 of test counts"), _number(found, "seconds")
        lines.append([f"`{name}`", *(_number(found, metric) for metric in METRICS), *more])
    for prior in TREE_PRIORS:
        if found := _of(rows, model="xr-linear", factor="prior", value=prior):
            more = _number(found, "PSP@1 of test counts"), _number(found, "seconds")
            lines.append([f"`xr-linear`, prior {prior}", *(_number(found, metric) for metric in METRICS), *more])
    head = ["model", *METRICS, "PSP@1 of test counts", "training s"]
    return f"Beside the linear trees (tables 3, 4 and 6):\n\n{table(head, lines)}"


def _claims(rows: list[dict[str, Any]], sets: list[str]) -> str:
    """Each claim of the paper, on each data set: by how many points it holds (or not)."""
    claims: dict[str, tuple[str, Any]] = {
        "GLaS better than no regulariser": ("regularizer", None),
        "GLaS better than spread-out": ("regularizer", "spread-out"),
        "GLaS better than gravity": ("regularizer", "gravity"),
        "our ReLU layer better than the paper's": ("hidden", "relu-only"),
        "ReLU better than linear": ("hidden", "linear"),
        "no dropout better than 0.2": ("input_dropout", 0.2),
        "a chosen prior better than none": ("prior", 0.0),
    }
    lines = []
    for (claim, (factor, value)), metric in product(claims.items(), ("P@1", "PSP@1")):
        cells = []
        for name in sets:
            here = _of(rows, data=name, model="glas")
            base, other = _of(here, factor=None), _of(here, factor=factor, value=value)
            cells.append(f"{_mean(base, metric) - _mean(other, metric):+.2f}" if base and other else "–")
        lines.append([f"{claim}, {metric}", *cells])
    for metric in ("P@1", "PSP@1", "PSP@5"):
        cells = []
        for name in sets:
            here = _of(rows, data=name, factor=None)
            tree, ours = _of(here, model="xr-linear"), _of(here, model="glas")
            cells.append(f"{_mean(ours, metric) - _mean(tree, metric):+.2f}" if tree and ours else "–")
        lines.append([f"{metric} above `xr-linear`", *cells])
    shown = table(["claim", *sets], [line for line in lines if set(line[1:]) != {"–"}])  # what was not run is not shown
    return f"## The paper's claims\n\nDifferences in points; a claim holds where it is positive.\n\n{shown}"


EXPERIMENT = Experiment(
    name="glas",
    title="GLaS: embeddings of labels that follow their co-occurrence",
    data=("cooking", "stackexchange", "mdn-seealso", "yso-100k", "npm-deps", "acl-authors"),
    seeds=5,
    plan=plan,
    measure=measure,
    page=page,
    needs=("torch",),
)
