"""The page of the ELIAS experiment: tables 1 to 3, 6, 7 and 9, figures 3 to 5 and 7 to 9."""

from __future__ import annotations

from statistics import mean
from typing import Any

import numpy as np

from ..figures import Figures, spread, table
from .index import AT
from .unseen import KINDS, WAYS

STEPS = ("stage 1", "stage 2", "+ ranker", "+ logistic ranker", "+ calibration", "× 3")
OTHERS = ("encoder-ova", "xr-linear", "overlap")
SMALLER = " (small models)"
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "R@10", "R@20", "R@100")


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """All of it, by data sets and sizes of models."""
    parts = [
        "Gupta et al. (NeurIPS 2022) learn which labels a cluster leads to together with the classifiers: stage 2 "
        "raises the recall of a fixed partition (stage 1) by 4 to 7 points at 100 labels and P@1 by 1 to 2, up to what "
        "brute force (one-versus-all on the same encoder) reaches. Here: test parts, percentages, mean ± standard "
        "deviation over seeds where there are several; seconds of one processor. Small models: `BagEncoder(dim=128)`, "
        "8 epochs, a shortlist of 500 in training. Rows that share labels are found breadth first from a random label, "
        "test rows on the way, so that labels keep as many rows as they have in the whole set."
    ]
    for name, size in dict.fromkeys((row["data"], row["size"]) for row in rows):
        here = [row for row in rows if (row["data"], row["size"]) == (name, size)]
        key = f"{name}-{size}".replace("/", "-").replace("@", "-")
        parts += [
            f"## {_heading(name)}{SMALLER * (size == 'small')}",
            _steps(here),
            _gains(here),
            _costs(here),
            _unseen(here),
            _sweeps(here),
            _pruning(here),
            _index(here, figures, key),
            _opinions(here, figures, key),
            _pictures(here, figures, key),
        ]
    return "\n\n".join(part for part in parts if part)


def _heading(data: str) -> str:
    name, _, rows = data.partition("@")
    return f"{name}, {int(rows):,} rows that share labels" if rows.isdecimal() else data


def _of(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _with(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row.get(name)]


def _number(rows: list[dict[str, Any]], name: str) -> str:
    return spread([row[name] for row in rows])


def _steps(rows: list[dict[str, Any]]) -> str:
    lines = []
    for model in (*STEPS, *OTHERS):
        found = _of(rows, model=model, factor=None)
        if found:
            name = f"ELIAS {model}" if model in STEPS else f"`{model}`"
            cells = [_number(found, metric) for metric in METRICS]
            more = [_number(_with(found, field), field) for field in ("processor seconds", "ms a row", "megabytes")]
            lines.append([name, *cells, *more, ", ".join(dict.fromkeys(row["commit"] for row in found))])
    return table(["model", *METRICS, "training, processor s", "ms a row", "MB", "commit"], lines)


def _gains(rows: list[dict[str, Any]]) -> str:
    one, two, ova = (_of(rows, model=name, factor=None) for name in ("stage 1", "stage 2", "encoder-ova"))
    if not (one and two):
        return ""

    def gain(a: list[dict[str, Any]], b: list[dict[str, Any]], metric: str) -> str:
        return f"{mean(row[metric] for row in b) - mean(row[metric] for row in a):+.2f}"

    text = f"Stage 2 against stage 1: R@100 {gain(one, two, 'R@100')}, P@1 {gain(one, two, 'P@1')}."
    if ova:
        text += f" Stage 2 against brute force: R@100 {gain(ova, two, 'R@100')}, P@1 {gain(ova, two, 'P@1')}."
    return text


def _unseen(rows: list[dict[str, Any]]) -> str:
    """A line for each way and kind of labels."""
    here = _with(rows, "way")
    if not here:
        return ""
    shown = {
        WAYS[0]: "ELIAS, `unseen_labels`",
        WAYS[1]: "ELIAS without",
        WAYS[2]: "cosine of the words of name and row",
    }
    metrics = ("P@1", "R@10", "R@100")
    lines = [
        [shown[way], kind, *(spread([row["by kind"][kind][m] for row in _of(here, way=way)]) for m in metrics)]
        for kind in KINDS
        for way in WAYS
    ]
    text = (
        f"Labels without rows: {here[0]['held-out labels']:,} labels, drawn at random, lost all their training rows; "
        "test rows that have a label of the kind, all labels compete."
    )
    return f"{text}\n\n" + table(["", "labels that count", *metrics], lines)


def _sweeps(rows: list[dict[str, Any]]) -> str:
    names = {
        "shortlist_weight": "λ", "edges_per_cluster": "κ, in labels a cluster has", "shortlist_size": "K",
        "cluster_scale": "α", "edge_scale": "β, in labels a cluster has", "edge_start": "values that edges begin with",
        "first_cluster_rows": "rows that a first cluster counts as", "edge_learning_rate": "rate of the edges",
        "folds": "folds of M", "reset_classifiers": "classifiers begin anew",
    }  # fmt: skip
    lines = [
        [f"{names[row['factor']]} = {row['value']}", *(row[metric] for metric in ("P@1", "P@5", "R@10", "R@100"))]
        for row in rows
        if row["factor"] in names
    ]
    base = [
        ["nothing", *(row[metric] for metric in ("P@1", "P@5", "R@10", "R@100"))]
        for row in _of(rows, model="stage 2", factor=None, seed=0)
    ]
    return "One parameter changed:\n\n" + table(
        ["changed", "P@1", "P@5", "R@10", "R@100"], base + lines
    ) if lines else ""  # fmt: skip


def _costs(rows: list[dict[str, Any]]) -> str:
    """What is found where about as many labels' classifiers are asked."""
    priced = {
        "stage 1": ("stage 1", "costs"), "stage 2": ("stage 2", "costs"), "by best path": ("stage 2", "costs, best"),
        "beam 5": ("stage 2", "costs, narrow"), "`xr-linear`": ("xr-linear", "costs"),
    }  # fmt: skip
    found = {
        name: [row[field] for row in _with(_of(rows, model=model, factor=None), field)]
        for name, (model, field) in priced.items()
    }
    found = {name: costs for name, costs in found.items() if costs}
    if not {"stage 1", "stage 2"} <= set(found):
        return ""

    def at(name: str, place: int, field: str) -> float:
        return float(mean(costs[place][field] for costs in found[name]))

    shown = {"P@1": [name for name in found if name not in ("by best path", "beam 5")], "R@100": list(found)}
    lines = []
    for place, point in enumerate(found["stage 1"][0]):
        cells: list[Any] = [point["as clusters"], f"{at('stage 1', place, 'labels asked'):.0f}"]
        for metric, names in shown.items():
            cells += [f"{at(name, place, metric):.2f}" for name in names]
            pairs = zip(found["stage 1"], found["stage 2"], strict=False)
            cells.append(spread([two[place][metric] - one[place][metric] for one, two in pairs]))
        lines.append(cells)
    heads = [[*(f"{metric}, {name}" for name in names), "gain"] for metric, names in shown.items()]
    told = (
        "At equal cost, counted in labels whose classifiers a row asks: a partition (stage 1) and a tree look at so "
        "many clusters, the learned index (stage 2) looks at 20 and keeps a shortlist as long as the labels of so many "
        "clusters. `by best path` has the paper's shortlist, `beam 5` looks at 5 clusters. The gain is stage 2's over "
        "stage 1's."
    )
    ova = _of(rows, model="encoder-ova", factor=None)
    if ova:
        numbers = ", ".join(f"{metric} {_number(ova, metric)}" for metric in ("P@1", "R@100"))
        told += f" Brute force asks all labels: {numbers}."
    return f"{told}\n\n{table(['clusters', 'labels asked', *heads[0], *heads[1]], lines)}"


def _pruning(rows: list[dict[str, Any]]) -> str:
    found = _of(rows, model="stage 2", factor=None, seed=0)
    if not found or not found[0].get("pruning"):
        return ""
    lines = [[p["cut"], p["edges"], p["P@1"], p["P@5"], p["R@100"]] for p in found[0]["pruning"]]
    first = [["all", 100.0, found[0]["P@1"], found[0]["P@5"], found[0]["R@100"]]]
    return "Edges that can go:\n\n" + table(["kept", "edges %", "P@1", "P@5", "R@100"], first + lines)


def _index(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    key = f"index-{name}"
    with figures.draw(key, columns=2, rows=2) as (recall, left, middle, right):
        tenths = np.arange(1, 11)
        for model in (*STEPS, *OTHERS):
            found = _of(rows, model=model, factor=None)
            if found:
                left.plot(tenths, np.mean([row["deciles"] for row in found], axis=0), "o-", label=model, markersize=3)
            if many := _with(found, "recall"):
                recall.plot(AT, np.mean([row["recall"] for row in many], axis=0), "o-", label=model, markersize=3)
        recall.set_xlabel("answers")
        recall.set_ylabel("recall (%)")
        left.set_xlabel("tenth of the labels, most frequent first")
        left.set_ylabel("recall at 100 (%)")
        left.legend()
        two = _of(rows, model="stage 2", factor=None)
        if two:
            middle.bar(np.arange(20) / 20 + 0.025, np.mean([row["edge scores"] for row in two], axis=0), width=0.045)
            middle.set_yscale("log")
            places = _with(two, "places")
            for least in places[0]["places"] if places else ():
                values = np.mean([row["places"][least] for row in places], axis=0)
                right.plot(tenths, values, "s-", label=f"edges ≥ {least}", markersize=3)
            if not places:  # lines from before there were several thresholds
                values = np.mean([row["clusters a label"] for row in two], axis=0)
                right.plot(tenths, values, "s-", label="edges ≥ 0.25", markersize=3)
            right.plot(tenths, np.mean([row["kept"] for row in two], axis=0), "^--", label="kept its first cluster")
            right.legend()
        middle.set_xlabel("score of an edge")
        middle.set_ylabel("edges")
        right.set_xlabel("tenth of the labels, most frequent first")
        right.set_ylabel("clusters a label")
    told = "Recall by answers and by label frequency, scores of edges, clusters a label"
    return figures.link(key, told)


def _opinions(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    """Figure 4: whose scores find labels of which frequency."""
    found = _with(_of(rows, model="+ ranker", factor=None), "by frequency")
    if not found:
        return ""
    key = f"ranker-{name}"
    with figures.draw(key) as (axis,):
        for who in found[0]["by frequency"]:
            values = np.mean([row["by frequency"][who] for row in found], axis=0)
            axis.plot(np.arange(1, 11), values, "o-", label=who, markersize=3)
        axis.set_xlabel("tenth of the labels, most frequent first")
        axis.set_ylabel("recall at 5 (%)")
        axis.legend()
    return figures.link(key, "Recall at 5 of ELIAS's scores, the ranker's and both, by label frequency")


def _pictures(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    """Figures 8 and 9: rows of labels with several clusters and with one, coloured by the cluster they come to."""
    found = _with(_of(rows, model="stage 2", factor=None, seed=0), "pictures")
    if not found:
        return ""
    shown = found[0]["pictures"]
    key = f"rows-{name}"
    with figures.draw(key, columns=3, rows=-(-len(shown) // 3), size=(3.4, 3.0)) as axes:
        for axis, label in zip(axes, shown, strict=False):
            points, first = np.array(label["points"]), np.array(label["first"])
            clusters, counts = np.unique(first, return_counts=True)
            usual = clusters[np.argsort(-counts, kind="stable")][:9]  # the rest in grey
            rest = ~np.isin(first, usual)
            axis.scatter(*points[rest].T, s=6, color="lightgrey")
            for cluster in usual:
                axis.scatter(*points[first == cluster].T, s=8)
            axis.set_title(f"{label['label'][:28]}: {label['clusters']} cluster{'s' * (label['clusters'] != 1)}")
            axis.set_xticks([])
            axis.set_yticks([])
    told = "Rows of labels with several and with one strong edge (t-SNE of their vectors), by the cluster they come to"
    return figures.link(key, told)
