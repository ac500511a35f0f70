"""What the ELIAS paper (Gupta et al. 2022) measured: both stages beside brute force and trees, and what the index is.

Everything is measured on the test part; the training itself holds rows out to choose its epoch by. The encoder is the
BagEncoder, where the paper fine-tunes BERT: gains of the index can be compared with the paper's, absolute figures not.
"""

from __future__ import annotations

import time
from statistics import mean, stdev
from typing import Any

import numpy as np

from ..catalog import preset
from ..labels import label_frequency
from ..neural import Elias
from ..neural.elias_graph import clusters_a_label
from ..types import TopK
from .base import Experiment, Run
from .data import Bench, Prepared
from .figures import Figures, table
from .measure import quality

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "R@10", "R@20", "R@100")
# The steps of ELIAS: a preset each, and what is changed in it. Then what it is compared with.
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "stage 1": ("elias", {"stages": 1}),
    "stage 2": ("elias", {"stages": 2}),
    "+ ranker": ("elias++", {"calibrate": False}),
    "+ calibration": ("elias++", {}),
    "× 3": ("elias++,elias++,elias++", {}),
}
SMALL = ("stage 1", "stage 2")
OTHERS = ("encoder-ova", "xr-linear", "overlap", "glas")
WEIGHTS = (0.0, 0.05, 1.0)  # λ, beside the default
WIDTHS = (1, 3, 30)  # κ as multiples of the labels a cluster has, beside the default of 10
LEAST = (0.01, 0.05, 0.1, 0.25, 0.5)
TOP = (1, 2, 4)  # edges a cluster keeps, as multiples of the labels it would have


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """Both stages, the others, and (not small, one seed) the sweeps of table 7."""
    common = {"data": data, "seed": seed}
    steps = SMALL if small else tuple(STEPS)
    runs: list[Run] = [{**common, "model": name, "factor": None, "value": None} for name in steps]
    runs += [{**common, "model": name, "factor": None, "value": None} for name in OTHERS[: 2 if small else None]]
    if not small and seed == 0:
        runs += [{**common, "model": "stage 2", "factor": "shortlist_weight", "value": value} for value in WEIGHTS]
        runs += [{**common, "model": "stage 2", "factor": "edges", "value": value} for value in WIDTHS]
    return runs


def measure(run: Run, bench: Bench) -> dict[str, Any]:
    """Train one model; quality on test, recall by label frequency, and the index if it has one."""
    data = bench.data(run["data"])
    name, changed = STEPS.get(run["model"], (run["model"], {}))
    model = preset(name, seed=run["seed"], threads=bench.threads, **changed)
    n_labels = int(data.train.Y.shape[1])
    if run["factor"] == "edges":
        clusters = model._n_clusters(n_labels) if isinstance(model, Elias) else 1
        model.set_params(edges=-(-run["value"] * n_labels // clusters))
    elif run["factor"] is not None:
        model.set_params(**{run["factor"]: run["value"]})
    began = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    measured: dict[str, Any] = {"seconds": round(time.perf_counter() - began, 1)}
    began = time.perf_counter()
    top = model.predict(data.test.X, k=100)
    measured["ms a row"] = round(1e3 * (time.perf_counter() - began) / max(1, data.test.n_rows), 4)
    measured |= quality(data, top, METRICS)
    measured["deciles"] = recall_by_decile(data, top)
    if isinstance(model, Elias) and run["factor"] is None:
        measured |= _index(model, data)
    return measured


def deciles(frequency: Any) -> Any:
    """Which tenth of the labels each belongs to, the most frequent first."""
    order = np.lexsort((np.arange(len(frequency)), -np.asarray(frequency)))
    out = np.empty(len(order), np.int64)
    out[order] = np.arange(len(order)) * 10 // len(order)
    return out


def recall_by_decile(data: Prepared, top: TopK) -> list[float]:
    """Share of the test part's labels among the first 100 answers, by tenths of the labels (figure 5)."""
    tenth, Y = deciles(label_frequency(data.train.Y)), data.test.Y.tocsr()
    found, total = np.zeros(10), np.zeros(10)
    for row in range(Y.shape[0]):
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        np.add.at(total, tenth[own], 1)
        np.add.at(found, tenth[own[np.isin(own, top.labels[row])]], 1)
    return [round(float(100 * f / t), 2) if t else 0.0 for f, t in zip(found, total, strict=True)]


def _index(model: Elias, data: Prepared) -> dict[str, Any]:
    """Edge scores (figure 3), clusters a label (figure 7) and pruning (table 9)."""
    network, tenth = model.network, deciles(label_frequency(data.train.Y))
    scores = np.exp(network.edge_logs[network.edge_ids >= 0])
    counts = clusters_a_label(network.edge_ids, network.edge_logs, network.n_labels)
    share = -(-network.n_labels // len(network.clusters))
    cuts: list[tuple[str, dict[str, Any]]] = [(f"score ≥ {least}", {"least": least}) for least in LEAST]
    cuts += [(f"best {factor * share} a cluster", {"top": factor * share}) for factor in TOP]
    pruning = []
    for name, cut in cuts if model.stages == 2 else []:
        fewer = Elias.from_state(model.get_params(deep=False), model.to_state()).prune(**({"least": 0.0} | cut))
        found = quality(data, fewer.predict(data.test.X, k=100), ("P@1", "P@5", "R@100"))
        pruning.append({"cut": name, "edges": round(100 * fewer.network.n_edges / network.n_edges, 1), **found})
    return {
        "edges": int(network.n_edges),
        "edge scores": np.histogram(scores, bins=20, range=(0, 1))[0].tolist(),
        "clusters a label": [
            round(float(counts[tenth == t].mean()), 3) if (tenth == t).any() else 0.0 for t in range(10)
        ],
        "pruning": pruning,
        "curves": [{k: round(v, 4) for k, v in point.items() if k != "seconds"} for point in model.curves],
    }


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables 1, 2, 7 and 9, figures 3, 5 and 7."""
    parts = [
        "Gupta et al. (NeurIPS 2022) learn which labels a cluster leads to together with the classifiers: stage 2 "
        "raises the recall of a fixed partition (stage 1) by 4 to 7 points at 100 labels and P@1 by 1 to 2, up to what "
        "brute force (one-versus-all on the same encoder) reaches. Here: test parts, percentages, mean ± standard "
        "deviation over seeds."
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == name]
        parts += [
            f"## {name}",
            _steps(here),
            _gains(here),
            _sweeps(here),
            _pruning(here),
            _pictures(here, figures, name),
        ]
    return "\n\n".join(part for part in parts if part)


def _of(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _number(rows: list[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows]
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "") if values else "–"


def _steps(rows: list[dict[str, Any]]) -> str:
    lines = []
    for model in (*STEPS, *OTHERS):
        found = _of(rows, model=model, factor=None)
        if found:
            name = f"ELIAS {model}" if model in STEPS else f"`{model}`"
            lines.append([name, *(_number(found, metric) for metric in (*METRICS, "seconds", "ms a row"))])
    return table(["model", *METRICS, "training s", "ms a row"], lines)


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
    names = {"shortlist_weight": "λ", "edges": "κ, in labels a cluster has"}
    lines = [
        [f"{names[row['factor']]} = {row['value']}", *(row[metric] for metric in ("P@1", "P@5", "R@10", "R@100"))]
        for row in rows
        if row["factor"] in names
    ]
    base = [
        ["as the preset has it", *(row[metric] for metric in ("P@1", "P@5", "R@10", "R@100"))]
        for row in _of(rows, model="stage 2", factor=None, seed=0)
    ]
    return "Weight of the shortlist loss and width of the index:\n\n" + table(
        ["changed", "P@1", "P@5", "R@10", "R@100"], base + lines
    ) if lines else ""  # fmt: skip


def _pruning(rows: list[dict[str, Any]]) -> str:
    found = _of(rows, model="stage 2", factor=None, seed=0)
    if not found or not found[0].get("pruning"):
        return ""
    lines = [[p["cut"], p["edges"], p["P@1"], p["P@5"], p["R@100"]] for p in found[0]["pruning"]]
    first = [["all", 100.0, found[0]["P@1"], found[0]["P@5"], found[0]["R@100"]]]
    return "Edges that can go:\n\n" + table(["kept", "edges %", "P@1", "P@5", "R@100"], first + lines)


def _pictures(rows: list[dict[str, Any]], figures: Figures, name: str) -> str:
    key = f"index-{name.replace('/', '-')}"
    with figures.draw(key, columns=3) as (left, middle, right):
        tenths = np.arange(1, 11)
        for model in (*STEPS, *OTHERS):
            found = _of(rows, model=model, factor=None)
            if found:
                left.plot(tenths, np.mean([row["deciles"] for row in found], axis=0), "o-", label=model, markersize=3)
        left.set_xlabel("tenth of the labels, most frequent first")
        left.set_ylabel("recall at 100 (%)")
        left.legend()
        two = _of(rows, model="stage 2", factor=None)
        if two:
            middle.bar(np.arange(20) / 20 + 0.025, np.mean([row["edge scores"] for row in two], axis=0), width=0.045)
            middle.set_yscale("log")
            right.plot(tenths, np.mean([row["clusters a label"] for row in two], axis=0), "s-", markersize=3)
        middle.set_xlabel("score of an edge")
        middle.set_ylabel("edges")
        right.set_xlabel("tenth of the labels, most frequent first")
        right.set_ylabel("clusters with an edge ≥ 0.25")
    return figures.link(key, "Recall by label frequency, scores of edges, clusters a label")


EXPERIMENT = Experiment(
    name="elias",
    title="A learned index of labels (ELIAS)",
    data=("mdn-seealso", "debian-depends"),
    seeds=2,
    plan=plan,
    measure=measure,
    page=page,
)
