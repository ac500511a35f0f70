"""What most experiments measure: how good predictions are, and how long a single query takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import TopK
from ..metrics import evaluate
from ..model import Model
from .data import Prepared

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "PSP@1", "PSP@3", "PSP@5")


def quality(data: Prepared, top: TopK, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Percentages on the test part."""
    weights = data.weights() if any(name.startswith("PS") for name in metrics) else None
    found = evaluate(data.test.Y, top, list(metrics), weights=weights)
    return {name: round(float(value), 3) for name, value in found.items()}


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
