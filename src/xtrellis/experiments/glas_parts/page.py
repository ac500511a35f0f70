"""The page of the GLaS experiment: tables 1 and 2, figure 1, the trees beside it, regularisers against each other."""

from __future__ import annotations

from itertools import product
from statistics import mean, stdev
from typing import Any

from ...neural import Curves, Glas
from ..figures import Figures, spread, table
from .groups import GROUPS as N_GROUPS
from .groups import NAME as GROUPS
from .groups import TAILS, TAILS_A_ROW, WRITTEN

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
LABELS = "labels"  # no model: what the labels of the data ask of one
CROSS = "regulariser, weight, start"
WIDE = "dim, refit"  # twice the preset's dimensions, and all rows once held-out ones have chosen: four times its time
# Smaller than the preset, so that five seeds of all can be had; with the layer of ReLUs that the preset once had.
CROSS_EPOCHS, CROSS_DIM, CROSS_HIDDEN = 5, 128, "relu"
STARTS = ("centroids", "random")
TREES = ("xr-linear", "bonsai", "parabel")
# Rare labels favoured in the answers of a tree, too: how much of a gain in PSP is the prior's, not the embeddings'?
CHOSEN = "by held-out rows"
TREE_PRIORS = (CHOSEN, 0.1, 0.2, 0.3, 0.5)
# With the chosen prior and without one: a regulariser may do what a prior does as well.
CROSSED = ("P@1", "PSP@1", "P@1 of cosines", "PSP@1 of cosines")
ON_GROUPS = ("P@5 of cosines", "PSP@5 of cosines")
LIE = {
    "cosine of pairs that meet": "cosine of labels that share rows",
    "correlation": "correlation with similarity",
    "squared cosine of others": "squared cosine of other labels",
}


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables 1 and 2, figure 1 and the comparison with trees."""
    sets = list(dict.fromkeys(row["data"] for row in rows if row["model"] != LABELS and row["data"] != GROUPS))
    parts = [_introduction(rows)]
    for name in sets:
        here = [row for row in rows if row["data"] == name]
        shown = (_trees(here), _tenths(here), _crossed(here), _factors(here), _gap(here), _curves(here, figures, name))
        parts.append("\n\n".join((f"## {name}", *(part for part in shown if part))))
    parts.append(_claims(rows, [name for name in sets if _of(rows, data=name, model="glas", factor=None)]))
    parts += [part for part in (_asked(rows), _groups(_of(rows, data=GROUPS))) if part]
    return "\n\n".join(parts)


def _introduction(rows: list[dict[str, Any]]) -> str:
    seeds = len({row["seed"] for row in rows if row["model"] == "glas"})
    return (
        "Guo et al. (NeurIPS 2019) say that embedding classifiers fail by overfitting, not by their low dimension, and "
        "that label vectors whose products follow the labels' co-occurrence, with input dropout and a ReLU, repair it. "
        f"Here: the preset `glas` (dim {Glas.dim}, {Glas.epochs} epochs) on test parts, mean ± standard deviation of "
        f"up to {seeds} seeds (a number without a deviation is of one seed); percentages. Each factor is "
        "changed alone, all else as in the preset; what was not run is not shown. Training times are those of a busy "
        "machine: they tell orders of magnitude."
    )


def _of(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _number(rows: list[dict[str, Any]], name: str) -> str:
    return spread([row[name] for row in rows if name in row])


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return mean(row[name] for row in rows) if rows else float("nan")


def _factors(rows: list[dict[str, Any]]) -> str:
    base = _of(rows, model="glas", factor=None)
    lines = [["as the preset has it", "", *(_number(base, name) for name in ("P@1", "P@5", "PSP@1", "PSP@5"))]]
    ours = _of(rows, model="glas")
    varied = dict.fromkeys((row["factor"], str(row["value"])) for row in ours if row["factor"])
    for factor, value in varied:
        if factor == CROSS:
            continue
        found = [row for row in _of(rows, model="glas", factor=factor) if str(row["value"]) == value]
        lines.append([factor, _value(value), *(_number(found, name) for name in ("P@1", "P@5", "PSP@1", "PSP@5"))])
    head = ["changed", "to", "P@1", "P@5", "PSP@1", "PSP@5"]
    if len(lines) == 1:
        return ""
    return f"Each factor alone (the paper's table 1):\n\n{table(head, lines)}"


def _value(value: str) -> str:
    return value.strip("[]").replace("'", "")


def _crossed(rows: list[dict[str, Any]], metrics: tuple[str, ...] = CROSSED) -> str:
    """Regularisers at every weight from both starts: what was reached, and how label vectors lie."""
    crossed = sorted(_of(rows, factor=CROSS), key=lambda row: _rank(row["value"]))
    lines = []
    for value in dict.fromkeys(tuple(row["value"]) for row in crossed):
        kind, weight, start = value
        mine = [row for row in crossed if tuple(row["value"]) == value]
        numbers = [_number(mine, name) for name in metrics]
        inner = [row["structure"] for row in mine if "structure" in row]
        lie = [f"{_mean(inner, name):.3f}" if inner else "–" for name in LIE]
        lines.append([start, kind or "none", f"{weight:g}" if kind else "", *numbers, *lie, len(mine)])
    if not lines:
        return ""
    alike = [row["structure"]["similarity of pairs that meet"] for row in crossed if "structure" in row]
    how = f'dim {CROSS_DIM}, {CROSS_EPOCHS} epochs, `hidden="{CROSS_HIDDEN}"`'
    note = f"Regularisers at every weight, from both starts ({how})."
    if alike:
        note += f" Labels that share rows have a similarity (u of eq. 3) of {mean(alike):.3f} on average."
    head = ["start", "regulariser", "λ", *metrics, *LIE.values(), "seeds"]
    return f"{note}\n\n{table(head, lines)}\n\n{_differences(crossed, metrics)}"


def _asked(rows: list[dict[str, Any]]) -> str:
    """How far GLaS and spread-out differ on each data set, whatever the model."""
    found = _of(rows, model=LABELS)
    if not found:
        return ""
    note = (
        "GLaS asks for products of label vectors that equal the labels' similarity u, spread-out for 0: both ask the "
        "same of labels that share no rows. Of two different labels that a batch draws: how often they share rows, "
        "their mean u then, and the root mean square of u over all such pairs, beside which stands the cosine that "
        f"random vectors of {Glas.dim} dimensions have ({Glas.dim**-0.5:.4f})."
    )
    names = ("share of pairs that meet", "similarity of pairs that meet", "root mean square similarity")
    lines = [[row["data"], f"{row[names[0]]:.1%}", *(f"{row[name]:.4f}" for name in names[1:])] for row in found]
    return f"## What the regulariser asks for\n\n{note}\n\n{table(['data set', *names], lines)}"


def _groups(rows: list[dict[str, Any]]) -> str:
    """Made data on which the regulariser must help, if it regularises."""
    if not rows:
        return ""
    note = (
        f"{N_GROUPS} groups of a head label and {TAILS} tail labels each; every row of a group has its head label and "
        f"{TAILS_A_ROW} of its tail labels, of which training rows are given {WRITTEN:.0%} and test rows all. Rows "
        "without a tail label teach that it is wrong there; that it never occurs without its head label is what is "
        "left to learn from. P@1 is 100 for all: any head label is easy."
    )
    tree = _of(rows, model=TREES[0])
    beside = f"`{TREES[0]}` has P@5 {_number(tree, 'P@5')} and PSP@5 {_number(tree, 'PSP@5')}." if tree else ""
    return f"## Does it regularise? Groups with missing labels\n\n{note} {beside}\n\n{_crossed(rows, ON_GROUPS)}"


def _rank(value: list[Any]) -> tuple[int, int, float]:
    return STARTS.index(value[2]), (None, "glas", "spread-out").index(value[0]), value[1]


def _differences(crossed: list[dict[str, Any]], metrics: tuple[str, ...]) -> str:
    """GLaS less none and less spread-out of the same weight; bold where that is more than two standard errors."""
    lines = []
    for start in STARTS:
        here = [row for row in crossed if row["value"][2] == start]
        none = [row for row in here if row["value"][0] is None]
        for weight in dict.fromkeys(row["value"][1] for row in here if row["value"][0] == "glas"):
            ours, others = ([r for r in here if r["value"][:2] == [k, weight]] for k in ("glas", "spread-out"))
            gains = [_gain(ours, base, name) for base in (none, others) for name in metrics]
            lines.append([start, f"{weight:g}", *gains])
    head = ["start", "λ", *(f"{name} − {base}" for base in ("none", "spread-out") for name in metrics)]
    note = "GLaS less the others: mean difference of runs of one seed ± standard error, bold beyond two of them."
    return f"{note}\n\n{table(head, lines)}" if lines else ""


def _gain(rows: list[dict[str, Any]], base: list[dict[str, Any]], name: str) -> str:
    """Mean difference of the runs that share a seed ± its standard error; bold if it is above two of them."""
    by_seed = {row["seed"]: row[name] for row in base if name in row}
    gains = [row[name] - by_seed[row["seed"]] for row in rows if row["seed"] in by_seed and name in row]
    if len(gains) < 2:
        return f"{gains[0]:+.2f}" if gains else "–"
    error = stdev(gains) / len(gains) ** 0.5
    shown = f"{mean(gains):+.2f} ± {error:.2f}"
    return f"**{shown}**" if abs(mean(gains)) > 2 * error else shown


def _gap(rows: list[dict[str, Any]]) -> str:
    lines = []
    kinds = {
        "as the preset has it": (None, None),
        "no regulariser": ("regularizer", None),
        "spread-out": ("regularizer", "spread-out"),
        "λ = 1000": ("regularizer_weight", 1000.0),
        "dropout 0.2 besides": ("input_dropout", 0.2),
        "the paper's ReLU layer": ("hidden", "relu-only"),
        "random start": ("init", "random"),
        "1,024 dimensions": ("dim", 1024),
        "softmax": ("loss", "softmax"),
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
    if not _of(rows, model="glas", factor=None):
        return ""
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
            name = f"`xr-linear`, prior {prior}"
            if prior == CHOSEN:
                name += f" ({', '.join(f'{told:g}' for told in dict.fromkeys(row['prior'] for row in found))})"
            lines.append([name, *(_number(found, metric) for metric in METRICS), *more])
    head = ["model", *METRICS, "PSP@1 of test counts", "training s"]
    return f"Beside the linear trees (tables 3, 4 and 6):\n\n{table(head, lines)}"


def _tenths(rows: list[dict[str, Any]]) -> str:
    """Where PSP@1 comes from."""
    kinds: dict[str, dict[str, Any]] = {
        "`glas`": {"model": "glas", "factor": None},
        "`xr-linear`": {"model": "xr-linear", "factor": None},
        f"`xr-linear`, prior {CHOSEN}": {"model": "xr-linear", "factor": "prior", "value": CHOSEN},
    }
    lines = []
    for name, wanted in kinds.items():
        if found := [row["PSP@1 by tenths"] for row in _of(rows, **wanted) if "PSP@1 by tenths" in row]:
            shares = [mean(column) for column in zip(*found, strict=True)]
            lines.append([name, *(f"{share:.2f}" for share in shares), f"{sum(shares):.2f}"])
    if not lines:
        return ""
    note = "PSP@1 by tenths of the labels, the most frequent first: what the right first answers of each add to it."
    return f"{note}\n\n{table(['model', *(str(i + 1) for i in range(10)), 'together'], lines)}"


def _claims(rows: list[dict[str, Any]], sets: list[str]) -> str:
    """Each claim of the paper, on each data set: by how many points it holds (or not)."""
    claims: dict[str, tuple[str, Any]] = {
        "GLaS better than no regulariser": ("regularizer", None),
        "GLaS better than spread-out": ("regularizer", "spread-out"),
        "GLaS better than gravity": ("regularizer", "gravity"),
        "no layer of ReLUs better than the paper's": ("hidden", "relu-only"),
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
