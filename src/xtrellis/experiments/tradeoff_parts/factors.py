"""Parts of the tradeoff experiment: one thing at a time beside the tradeoff. All trees of a run take turns.

- `factors`: the tradeoff alone, and for 16-way trees how nodes of two are joined, at every tradeoff.
- `slack`: how much of a score best-first search may lose to stop earlier.
- `codes`: which labels of a row the code counts. It has a say above tradeoff 1 only.
- `asked`: rows are not asked alike. Those that have a label of a random twentieth of all are asked ten times as often,
  in training (`row_weights`, or not) and in a test drawn by the same rule. The workload is made up: no data set here
  says how often its rows are asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arrays import Float64
from ...core import generator
from ...index import HuffmanTree, Index, InterpolatedTree
from ...linear import LinearTree
from ...metrics import evaluate
from ...model import Model
from ...softmax import SoftmaxTree
from ..base import Run
from ..data import Bench
from ..measure import latency

TRADEOFFS = (0, 0.5, 1, 2)
CODE_TRADEOFFS = (2, 6)
CODES: tuple[dict[str, Any], ...] = (
    {"frequency": "all"},
    {"frequency": "soft"},
    {"frequency": "greedy"},
    {"answers": 3},
)
SLACKS = (0.0, 0.05, 0.2)
KS = (1, 3, 10)
ROWS = 500  # test rows that are asked one by one
TURNS = 5
CHUNK = 20  # queries in one native call
PARTS = {  # of models
    "factors": ("linear-2", "linear-16", "softmax"),
    "slack": ("linear-2", "linear-16"),
    "codes": ("linear-2",),
    "asked": ("linear-2",),
}
SHAPES = {"linear-2": (2, 100), "linear-16": (16, 100), "softmax": (2, 1)}  # arity, labels a leaf
BUSY_LABELS, BUSY = 0.05, 10.0  # `asked`: share of labels whose rows are asked so many times as often


def make_model(kind: str, index: Index, seed: int, threads: int | None) -> Model:
    """Binary linear trees have the paper's transform, 16-way ones ours."""
    if kind == "softmax":
        return SoftmaxTree(index=index, seed=seed, threads=threads)
    transform = "l2-hinge" if kind == "linear-2" else "l3-hinge"
    return LinearTree(index=index, transform=transform, seed=seed, threads=threads)


def name_of(tradeoff: float) -> str:
    """As the results have it."""
    return "inf" if math.isinf(tradeoff) else f"{tradeoff:g}"


def trees(kind: str, part: str) -> list[dict[str, Any]]:
    """What differs from the default, tree by tree; `asked` stands for row weights."""
    if part == "codes":
        return [{"tradeoff": t, **code} for t in CODE_TRADEOFFS for code in ({}, *CODES)]
    if part == "asked":
        return [{"tradeoff": t, **asked} for t in TRADEOFFS if t for asked in ({}, {"asked": True})]
    joins: tuple[dict[str, Any], ...] = ({},)
    if kind == "linear-16" and part == "factors":
        joins = ({}, {"join": "levels"})
    return [{"tradeoff": t, **join} for join in joins for t in TRADEOFFS]


def measure_factors(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train over every tree, then ask all of them in turn."""
    data, kind, seed = bench.data(run["data"]), run["model"], run["seed"]
    arity, max_leaf = SHAPES[kind]
    train, test = data.train, data.test
    busy = generator(seed, "busy labels").random(train.n_labels) < BUSY_LABELS
    settings = {f"{i}": tree for i, tree in enumerate(trees(kind, run["part"]))}
    models: dict[str, Model] = {}
    for name, tree in settings.items():
        options = {key: value for key, value in tree.items() if key != "asked"}
        weights = asked_weights(train.Y, busy) if tree.get("asked") else None
        index = InterpolatedTree(arity=arity, max_leaf=max_leaf, row_weights=weights, **options)
        models[name] = make_model(kind, index, seed, bench.threads)
    if kind == "softmax" and run["part"] == "factors":
        settings["huffman"] = {"tradeoff": "huffman"}
        models["huffman"] = make_model(kind, HuffmanTree(), seed, bench.threads)
    for model in models.values():
        model.fit(train.X, train.Y)
    X: Any = test.X
    Y: Any = test.Y
    drawn = None
    if run["part"] == "asked":
        chances = asked_weights(Y, busy)
        drawn = generator(seed, "asked rows").choice(len(chances), len(chances), p=chances / chances.sum())
    times = {k: latency(models, X, k=k, rows=ROWS) for k in KS}
    native = {k: native_latency(models, X, k=k) for k in KS}
    out = []
    for name, model in models.items():
        depths = np.asarray(model.tree.label_depths)  # type: ignore[attr-defined]
        top = model.predict(X, k=5)
        found = evaluate(Y, top, ["P@1", "P@3", "P@5", "depth@1", "depth@3"], depth=depths)
        row: dict[str, Any] = {**settings[name], "tradeoff": _text(settings[name]["tradeoff"]), **_rounded(found)}
        row |= {f"latency@{k}": times[k][name] for k in KS} | {f"native@{k}": native[k][name] for k in KS}
        if drawn is not None:
            asked = evaluate(Y[drawn], model.predict(X[drawn], k=1), ["P@1", "depth@1"], depth=depths)
            row["queries"] = _rounded(asked)
        if isinstance(model, LinearTree):
            row |= {f"nodes@{k}": round(model.count_nodes(X[::5], k=k), 3) for k in KS}
        out.append(row)
    if run["part"] == "slack":
        found_slack = _slack({name: m for name, m in models.items() if isinstance(m, LinearTree)}, X, Y)
        out = [{**row, "slack": found_slack[name]} for name, row in zip(models, out, strict=True)]
    return out


def asked_weights(Y: Any, busy: Any) -> Float64:
    """How often each row is asked."""
    held = np.asarray((Y != 0) @ busy.astype(np.float64)).ravel()
    return np.where(held > 0, BUSY, 1.0)


def native_latency(models: Mapping[Any, Model], X: Any, *, k: int, prepare: Any = None) -> dict[Any, float]:
    """Mean microseconds of a query without Python: many in one native call, each searched best-first as one alone is.

    A chunk's least processor time of all turns counts (not the clock's, which counts the waits of a busy machine); that
    of a call without rows is taken off. `prepare(name)` is called before a model has its turn.
    """
    chosen = np.linspace(0, X.shape[0] - 1, min(ROWS, X.shape[0])).astype(int)
    chunks = [X[:0], *(X[chosen[i : i + CHUNK]] for i in range(0, len(chosen), CHUNK))]
    least = {name: np.full(len(chunks), np.inf) for name in models}
    for _ in range(TURNS):
        for name, model in models.items():
            if prepare is not None:
                prepare(name)
            ask = model.count_nodes if isinstance(model, LinearTree) else model.predict
            for i, chunk in enumerate(chunks):
                start = time.thread_time_ns()
                ask(chunk, k=k)
                least[name][i] = min(least[name][i], (time.thread_time_ns() - start) / 1e3)
    return {name: round(float((found[1:] - found[0]).sum()) / len(chosen), 3) for name, found in least.items()}


def _slack(models: Mapping[str, LinearTree], X: Any, Y: Any) -> dict[str, list[dict[str, float]]]:
    def prepare(name: tuple[str, float]) -> None:
        models[name[0]].set_params(search="best-first", slack=name[1])

    each = {(name, slack): model for slack in SLACKS for name, model in models.items()}
    times = {k: native_latency(each, X, k=k, prepare=prepare) for k in KS}
    out: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for (name, slack), model in each.items():
        prepare((name, slack))
        # A search for k answers stops by the k-th, so each k has a search of its own.
        found = {f"P@{k}": evaluate(Y, model.predict(X, k=k), [f"P@{k}"])[f"P@{k}"] for k in (1, 3)}
        row = {"slack": slack, **_rounded(found)} | {f"native@{k}": times[k][name, slack] for k in KS}
        out[name].append(row | {f"nodes@{k}": round(model.count_nodes(X[::5], k=k), 3) for k in KS})
    for model in models.values():
        model.set_params(search="beam", slack=0.0)
    return out


def _rounded(found: Mapping[str, Any]) -> dict[str, float]:
    return {key: round(float(value), 4) for key, value in found.items()}


def _text(tradeoff: Any) -> str:
    return tradeoff if isinstance(tradeoff, str) else name_of(tradeoff)
