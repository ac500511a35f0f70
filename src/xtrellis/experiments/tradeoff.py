"""How frequencies in the tree trade precision for depth and time (Baharav et al. 2021, figures 3 and 4).

A run trains one kind of model over interpolated trees from balanced 2-means (0) to Fano's code (inf), and asks all of
them in turn. LinearTree has the paper's setting (binary, 100 labels a leaf) and ours (16-way); SoftmaxTree has binary
trees with one label a leaf, and Huffman's code beside them. Searches are adaptive: they stop when nothing left can
improve the answer, which is what turns a label's small depth into a short time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..index import HuffmanTree, Index, InterpolatedTree
from ..linear import LinearTree
from ..metrics import evaluate
from ..model import Model
from ..softmax import SoftmaxTree
from .base import Experiment, Run
from .data import Bench
from .figures import Figures, table
from .measure import latency

TRADEOFFS = (0, 0.25, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, math.inf)
FEW = (0, 0.5, 2, math.inf)
VARIANTS = (("weighted", "marginal"), ("weighted", "greedy"), ("direct", "marginal"), ("direct", "greedy"))
KS = (1, 3, 10)
ROWS = 1000  # test rows that are asked one by one


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """A run a kind of model and variant: its trees share one run, so that their times can be compared."""
    kinds: list[Run] = [{"model": "linear-16", "route": "weighted", "frequency": "marginal"}]
    if not small:
        kinds += [
            {"model": model, "route": r, "frequency": f} for model in ("linear-2", "softmax") for r, f in VARIANTS
        ]
    return [{"data": data, "seed": seed, **kind, "small": small} for kind in kinds]


def _model(kind: str, index: Index, seed: int, threads: int | None) -> Model:
    if kind == "softmax":
        return SoftmaxTree(index=index, seed=seed, threads=threads)
    transform = "l2-hinge" if kind == "linear-2" else "l3-hinge"
    return LinearTree(index=index, transform=transform, seed=seed, threads=threads)


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train over every tree, then compare."""
    data, kind = bench.data(run["data"]), run["model"]
    shape = {"linear-2": (2, 100), "linear-16": (16, 100), "softmax": (2, 1)}[kind]
    trees: dict[str, Index] = {
        _name(tradeoff): InterpolatedTree(
            tradeoff=tradeoff, arity=shape[0], max_leaf=shape[1], route=run["route"], frequency=run["frequency"]
        )
        for tradeoff in (FEW if run["small"] else TRADEOFFS)
    }
    if kind == "softmax":
        trees["huffman"] = HuffmanTree()
    models = {name: _model(kind, index, run["seed"], bench.threads) for name, index in trees.items()}
    for model in models.values():
        model.fit(data.train.X, data.train.Y)
    X, Y = data.test.X, data.test.Y
    times = {k: latency(models, X, k=k, rows=ROWS) for k in KS}
    rows = []
    for name, model in models.items():
        depths = np.asarray(model.tree.label_depths)  # type: ignore[attr-defined]
        wanted = ["P@1", "P@3", "P@5", "depth@1", "depth@3"]
        found = evaluate(Y, model.predict(X, k=5), wanted, depth=depths)
        row: dict[str, Any] = {"tradeoff": name, **{key: round(float(value), 4) for key, value in found.items()}}
        row |= {f"latency@{k}": times[k][name] for k in KS}
        if isinstance(model, LinearTree):
            row |= {f"nodes@{k}": round(model.count_nodes(X, k=k), 3) for k in KS}
        rows.append(row)
    return rows


def _name(tradeoff: float) -> str:
    return "inf" if math.isinf(tradeoff) else f"{tradeoff:g}"


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables of means over seeds, and the curves."""
    parts = [__doc__ or ""]
    for data in dict.fromkeys(row["data"] for row in rows):
        parts.append(f"## {data}")
        for model in dict.fromkeys(row["model"] for row in rows if row["data"] == data):
            chosen = [row for row in rows if row["data"] == data and row["model"] == model]
            parts += _section(data, model, chosen, figures)
    return "\n\n".join(parts)


TITLES = {
    "linear-2": "LinearTree, binary (Parabel's setting)",
    "linear-16": "LinearTree, 16-way",
    "softmax": "SoftmaxTree, binary",
}


def _section(data: str, model: str, rows: list[dict[str, Any]], figures: Figures) -> Iterator[str]:
    seeds = len({row["seed"] for row in rows})
    yield f"### {TITLES[model]}"
    main = [row for row in rows if (row["route"], row["frequency"]) == VARIANTS[0]]
    means = _means(main, lambda row: row["tradeoff"])
    nodes = "nodes@1" in main[0]
    head = ["λ'", "P@1", "P@3", "depth@1", "depth@3", "mean µs, k=1", "p99", "mean µs, k=3", "p99", "mean µs, k=10"]
    lines = []
    for name, mean in means.items():
        cells = [f"{mean[key]:.2f}" for key in ("P@1", "P@3", "depth@1", "depth@3")]
        cells += [f"{mean[key]:.1f}" for key in ("latency@1.mean", "latency@1.p99", "latency@3.mean", "latency@3.p99")]
        lines.append([name, *cells, f"{mean['latency@10.mean']:.1f}", *([f"{mean['nodes@1']:.1f}"] if nodes else [])])
    yield table([*head, *(["nodes, k=1"] if nodes else [])], lines)
    yield _verdict(means) + f" Means of {seeds} seeds; a query's time is the least of five turns."
    yield _draw(data, model, rows, figures)


def _means(rows: Sequence[Mapping[str, Any]], key: Any) -> dict[Any, dict[str, float]]:
    """Means over seeds of every number; those of a dictionary are called `latency@1.mean`."""
    groups: dict[Any, list[dict[str, float]]] = {}
    for row in rows:
        flat = {name: value for name, value in row.items() if isinstance(value, (int, float))}
        for name, value in row.items():
            if isinstance(value, dict) and name.startswith("latency"):
                flat |= {f"{name}.{part}": number for part, number in value.items()}
        groups.setdefault(key(row), []).append(flat)
    return {
        name: {field: float(np.mean([g[field] for g in group])) for field in group[0]} for name, group in groups.items()
    }


def _verdict(means: Mapping[str, Mapping[str, float]]) -> str:
    """The fastest tree that is no less precise than the balanced one."""
    base = means["0"]
    good = {n: m for n, m in means.items() if n not in ("0", "huffman") and m["P@1"] >= base["P@1"]}
    if not good:
        return "No tree with frequencies is as precise as the balanced one."
    said = []
    for k in KS:
        best = min(good, key=lambda name: good[name][f"latency@{k}.mean"])
        change = (good[best][f"latency@{k}.mean"] / base[f"latency@{k}.mean"] - 1) * 100
        said.append(f"k={k}: λ'={best} takes {change:+.0f}% time (P@1 {good[best]['P@1'] - base['P@1']:+.2f})")
    return "The fastest tree with at least the balanced one's P@1: " + "; ".join(said) + "."


def _draw(data: str, model: str, rows: list[dict[str, Any]], figures: Figures) -> str:
    key = f"{data}-{model}".replace("/", "-")
    panels = (("depth@1", "P@1"), ("depth@3", "P@3"), ("latency@1.mean", "P@1"), ("latency@3.mean", "P@3"))
    labels = {"latency@1.mean": "mean µs a query, k=1", "latency@3.mean": "mean µs a query, k=3"}
    with figures.draw(key, columns=2, rows=2, size=(4.2, 3.2)) as axes:
        for (x, y), ax in zip(panels, axes, strict=True):
            for route, frequency in VARIANTS:
                chosen = [r for r in rows if (r["route"], r["frequency"]) == (route, frequency)]
                means = _means([r for r in chosen if r["tradeoff"] != "huffman"], lambda row: row["tradeoff"])
                if means:
                    xs, ys = [m[x] for m in means.values()], [m[y] for m in means.values()]
                    ax.plot(xs, ys, ".-", ms=4, lw=1, label=f"{route}, {frequency}")
            huffman = _means([r for r in rows if r["tradeoff"] == "huffman"], lambda row: "huffman")
            for mean in huffman.values():
                ax.plot(mean[x], mean[y], "k*", label="Huffman")
            ax.set_xlabel(labels.get(x, f"expected {x}"))
            ax.set_ylabel(y)
        axes[0].legend(fontsize=7)
    return figures.link(key, f"precision against depth and time on {data}, {TITLES[model]}")


EXPERIMENT = Experiment(
    name="tradeoff",
    title="Precision against depth and time over interpolated label trees",
    data=("yso-100k", "debian-depends"),
    seeds=3,
    plan=plan,
    measure=measure,
    page=page,
)
