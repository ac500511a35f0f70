"""The page of the ELIAS experiment: tables 1 to 3, 6, 7 and 9, figures 3 to 5 and 7 to 9."""

from __future__ import annotations

from statistics import mean
from typing import Any

import numpy as np

from .elias_index import AT
from .figures import Figures, spread, table

STEPS = ("stage 1", "stage 2", "+ ranker", "+ logistic ranker", "+ calibration", "× 3")
OTHERS = ("encoder-ova", "xr-linear", "overlap", "glas")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "R@10", "R@20", "R@100")


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables 1, 2, 7 and 9, figures 3, 5 and 7."""
    parts = [
        "Gupta et al. (NeurIPS 2022) learn which labels a cluster leads to together with the classifiers: stage 2 "
        "raises the recall of a fixed partition (stage 1) by 4 to 7 points at 100 labels and P@1 by 1 to 2, up to what "
        "brute force (one-versus-all on the same encoder) reaches. Here: test parts, percentages, mean ± standard "
        "deviation over seeds."
    ]
    # A small run's steps are among those of a whole one.
    whole = {_step(row) for row in rows if row["run"]["model"] == "all steps"}
    rows = [row for row in rows if row["run"]["model"] != "first steps" or _step(row) not in whole]
    for name in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == name]
        parts += [
            f"## {name}",
            _steps(here),
            _gains(here),
            _costs(here),
            _beams(here),
            _sweeps(here),
            _pruning(here),
            _index(here, figures, name),
            _opinions(here, figures, name),
            _pictures(here, figures, name),
        ]
    return "\n\n".join(part for part in parts if part)


def _step(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["seed"], row["model"]


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
            more = [_number(_with(found, field), field) for field in ("seconds", "ms a row", "megabytes")]
            lines.append([name, *cells, *more, ", ".join(dict.fromkeys(row["commit"] for row in found))])
    return table(["model", *METRICS, "training s", "ms a row", "MB", "commit"], lines)


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
        ["as the preset has it", *(row[metric] for metric in ("P@1", "P@5", "R@10", "R@100"))]
        for row in _of(rows, model="stage 2", factor=None, seed=0)
    ]
    return "One parameter changed:\n\n" + table(
        ["changed", "P@1", "P@5", "R@10", "R@100"], base + lines
    ) if lines else ""  # fmt: skip


def _costs(rows: list[dict[str, Any]]) -> str:
    """Both stages where they ask about as many labels' classifiers."""
    found = [_with(_of(rows, model=name, factor=None), "costs") for name in STEPS[:2]]
    if not all(found):
        return ""
    lines = []
    for at, point in enumerate(found[0][0]["costs"]):
        cells = [
            [mean(row["costs"][at][metric] for row in stage) for metric in ("labels asked", "P@1", "R@100")]
            for stage in found
        ]
        (n1, p1, r1), (n2, p2, r2) = cells
        shown = [f"{n1:.0f}", f"{n2:.0f}", f"{p1:.2f}", f"{p2:.2f}", f"{p2 - p1:+.2f}"]
        lines.append([point["as clusters"], *shown, f"{r1:.2f}", f"{r2:.2f}", f"{r2 - r1:+.2f}"])
    stages = [f"{what}, stage {n}" for what in ("labels asked", "P@1", "R@100") for n in (1, 2)]
    head = ["clusters", *stages[:4], "gain", *stages[4:], "gain"]
    told = (
        "At equal cost, counted in labels whose classifiers a row asks: a partition looks at so many clusters, the "
        "learned index keeps a shortlist as long as the labels of so many clusters (both trained with 20 clusters)."
    )
    return f"{told}\n\n{table(head, lines)}"


def _beams(rows: list[dict[str, Any]]) -> str:
    """What older lines have in place of costs."""
    found = [_with(_of(rows, model=name, factor=None), "beams") for name in STEPS[:2]]
    if not all(found) or any(_with(stage, "costs") for stage in found):
        return ""
    lines = []
    for at, point in enumerate(found[0][0]["beams"]):
        cells = [[mean(row["beams"][at][metric] for row in stage) for metric in ("P@1", "R@100")] for stage in found]
        (p1, r1), (p2, r2) = cells
        lines.append([point["beam"], f"{p1:.2f}", f"{p2:.2f}", f"{r1:.2f}", f"{r2:.2f}"])
    head = ["clusters looked at", "P@1, stage 1", "P@1, stage 2", "R@100, stage 1", "R@100, stage 2"]
    told = (
        "Both stages at equal numbers of clusters (trained with 20). That is not equal cost: after stage 2 a cluster "
        "leads to ten times as many labels."
    )
    return f"{told}\n\n{table(head, lines)}"


def _pruning(rows: list[dict[str, Any]]) -> str:
    found = _of(rows, model="stage 2", factor=None, seed=0)
    if not found or not found[0].get("pruning"):
        return ""
    lines = [[p["cut"], p["edges"], p["P@1"], p["P@5"], p["R@100"]] for p in found[0]["pruning"]]
    first = [["all", 100.0, found[0]["P@1"], found[0]["P@5"], found[0]["R@100"]]]
    return "Edges that can go:\n\n" + table(["kept", "edges %", "P@1", "P@5", "R@100"], first + lines)


def _index(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    key = f"index-{name.replace('/', '-')}"
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
    key = f"ranker-{name.replace('/', '-')}"
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
    key = f"rows-{name.replace('/', '-')}"
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
