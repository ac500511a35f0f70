"""How frequencies in the tree trade precision for depth and time (Baharav et al. 2021, figures 1, 3, 4 and 6).

A run trains one kind of model over interpolated trees from balanced 2-means (0) to Fano's code (inf), and asks all of
them in turn. LinearTree has the paper's setting (binary, 100 labels a leaf) and ours (16-way); SoftmaxTree has binary
trees with one label a leaf, and Huffman's code beside them. Searches are adaptive: they stop when nothing left can
improve the answer, which is what turns a label's small depth into a short time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..index import HuffmanTree, Index, InterpolatedTree
from ..linear import LinearTree
from ..metrics import evaluate
from .base import Experiment, Run
from .data import Bench
from .figures import Figures
from .measure import latency
from .tradeoff_parts import fasttext
from .tradeoff_parts.factors import KS, PARTS, SHAPES, make_model, measure_factors, name_of, native_latency
from .tradeoff_parts.fasttext import measure_fasttext
from .tradeoff_parts.imbalance import measure_imbalance
from .tradeoff_parts.tables import VARIANTS, page_of

TRADEOFFS = (0, 0.25, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, math.inf)
FEW = (0, 0.5, 2, math.inf)
ROWS = 1000  # test rows that are asked one by one


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """A run a kind of model and variant: its trees share one run, so that their times can be compared."""
    kinds: list[Run] = [{"model": "linear-16", "route": "weighted", "frequency": "marginal"}]
    if not small:
        kinds += [
            {"model": model, "route": r, "frequency": f} for model in ("linear-2", "softmax") for r, f in VARIANTS
        ]
        kinds += [{"model": model, "part": part} for part, models in PARTS.items() for model in models]
        if data in fasttext.SETS:
            kinds.append({"model": "softmax", "part": "fasttext"})
    if seed == 0:
        kinds.append({"model": "none", "part": "imbalance"})
    return [{"data": data, "seed": seed, **kind, "small": small} for kind in kinds]


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train over every tree, then compare."""
    if run.get("part") == "imbalance":
        return [measure_imbalance(bench.data(run["data"]).train.Y)]
    if run.get("part") == "fasttext":
        return measure_fasttext(run, bench)
    if "part" in run:
        return measure_factors(run, bench)
    data, kind = bench.data(run["data"]), run["model"]
    arity, max_leaf = SHAPES[kind]
    trees: dict[str, Index] = {
        name_of(tradeoff): InterpolatedTree(
            tradeoff=tradeoff, arity=arity, max_leaf=max_leaf, route=run["route"], frequency=run["frequency"]
        )
        for tradeoff in (FEW if run["small"] else TRADEOFFS)
    }
    if kind == "softmax":
        trees["huffman"] = HuffmanTree()
    models = {name: make_model(kind, index, run["seed"], bench.threads) for name, index in trees.items()}
    for model in models.values():
        model.fit(data.train.X, data.train.Y)
    X, Y = data.test.X, data.test.Y
    times = {k: latency(models, X, k=k, rows=ROWS) for k in KS}
    native = {k: native_latency(models, X, k=k) for k in KS}
    rows = []
    for name, model in models.items():
        depths = np.asarray(model.tree.label_depths)  # type: ignore[attr-defined]
        wanted = ["P@1", "P@3", "P@5", "depth@1", "depth@3"]
        found = evaluate(Y, model.predict(X, k=5), wanted, depth=depths)
        row: dict[str, Any] = {"tradeoff": name, "join": "frequency"}
        row |= {key: round(float(value), 4) for key, value in found.items()}
        row |= {f"latency@{k}": times[k][name] for k in KS} | {f"native@{k}": native[k][name] for k in KS}
        if isinstance(model, LinearTree):
            row |= {f"nodes@{k}": round(model.count_nodes(X, k=k), 3) for k in KS}
        rows.append(row)
    return rows


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables of means over seeds, and the curves."""
    return page_of(rows, figures, __doc__ or "")


EXPERIMENT = Experiment(
    name="tradeoff",
    title="Precision against depth and time over interpolated label trees",
    data=("yso-100k", "debian-depends"),
    seeds=3,
    plan=plan,
    measure=measure,
    page=page,
)
