"""What most experiments measure: how good predictions are, and how long a single query takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Int64, TopK
from ..labels import label_frequency
from ..metrics import evaluate
from ..model import Model
from .data import Prepared

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "PSP@1", "PSP@3", "PSP@5")


def quality(data: Prepared, top: TopK, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Percentages on the test part."""
    weights = data.weights() if any(name.startswith("PS") for name in metrics) else None
    found = evaluate(data.test.Y, top, list(metrics), weights=weights)
    return {name: round(float(value), 3) for name, value in found.items()}


def deciles(frequency: Any) -> Int64:
    """Which tenth of the labels each belongs to, the most frequent first."""
    order = np.lexsort((np.arange(len(frequency)), -np.asarray(frequency)))
    out = np.empty(len(order), np.int64)
    out[order] = np.arange(len(order)) * 10 // len(order)
    return out


def recall_by_decile(data: Prepared, top: TopK, *, at: int = 100) -> list[float]:
    """Share of the test part's labels among the first answers, by tenths of the labels."""
    tenth, Y = deciles(label_frequency(data.train.Y)), data.test.Y.tocsr()
    found, total = np.zeros(10), np.zeros(10)
    for row in range(Y.shape[0]):
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        np.add.at(total, tenth[own], 1)
        np.add.at(found, tenth[own[np.isin(own, top.labels[row, :at])]], 1)
    return [round(float(100 * f / t), 2) if t else 0.0 for f, t in zip(found, total, strict=True)]


def psp_by_decile(data: Prepared, top: TopK) -> list[float]:
    """PSP@1 in percent, shared out among tenths of the labels: what the right first answers of each add to it."""
    tenth, Y, weights = deciles(label_frequency(data.train.Y)), data.test.Y.tocsr(), data.weights()
    found, best = np.zeros(10), 0.0
    for row in range(Y.shape[0]):
        own, first = Y.indices[Y.indptr[row] : Y.indptr[row + 1]], int(top.labels[row, 0])
        best += float(weights[own].max(initial=0.0))
        if first in own:
            found[tenth[first]] += weights[first]
    return [round(float(100 * share / max(best, 1e-12)), 3) for share in found]


def latency(models: dict[str, Model], X: Any, *, k: int = 10, rows: int = 500, repeat: int = 5) -> dict[str, Any]:
    """Microseconds of single queries: each row's least of `repeat` turns, in which the models alternate."""
    chosen = np.linspace(0, X.shape[0] - 1, min(rows, X.shape[0])).astype(int)
    lone = [X[[i]] for i in chosen]
    times = {name: np.full(len(lone), np.inf) for name in models}
    for _ in range(repeat):
        for name, model in models.items():
            for i, row in enumerate(lone):
                start = time.perf_counter_ns()
                model.predict(row, k=k)
                times[name][i] = min(times[name][i], (time.perf_counter_ns() - start) / 1e3)
    return {name: summary(found) for name, found in times.items()}


def summary(times: Any) -> dict[str, float]:
    """Mean and quantiles."""
    cuts = np.quantile(times, [0.1, 0.5, 0.9, 0.99])
    named = zip(("p10", "p50", "p90", "p99"), cuts, strict=True)
    return {"mean": round(float(np.mean(times)), 2), **{name: round(float(cut), 2) for name, cut in named}}
