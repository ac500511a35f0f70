"""Evaluation of 1M×10 predictions by every rank metric at 1, 3 and 5: `python benchmarks/metrics.py [rows]`."""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
from common import record
from scipy.sparse import csr_array

import xtrellis as xt

METRICS = [f"{kind}@{k}" for kind in ("P", "nDCG", "R", "PSP", "PSnDCG", "PSnDCG-ratio") for k in (1, 3, 5)]


def make(n: int, n_labels: int, seed: int) -> tuple[csr_array, xt.TopK]:
    rng = np.random.default_rng(seed)
    labels = np.argsort(rng.random((n, 10)), axis=1) * (n_labels // 10) + rng.integers(0, n_labels // 10, (n, 10))
    scores = -np.sort(-rng.random((n, 10)).astype(np.float32), axis=1)
    top = xt.TopK(labels.astype(np.int32), scores, n_labels)
    counts = rng.integers(2, 6, n)  # 2 to 5 labels a row, about half of them among the predictions
    rows = np.repeat(np.arange(n), counts)
    guess = labels[rows, rng.integers(0, 10, len(rows))]
    truth = np.where(rng.random(len(rows)) < 0.5, guess, rng.integers(0, n_labels, len(rows)))
    return csr_array((np.ones(len(rows), np.float32), (rows, truth)), shape=(n, n_labels)), top


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    Y, top = make(n, 500_000, seed=0)
    for name, predictions in {"TopK": top, "csr": top.to_csr()}.items():
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            report = xt.evaluate(Y, predictions, METRICS, train_labels=Y)
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        print(f"{name:5} {n:,}×10, {len(METRICS)} metrics: min {min(seconds):.2f} s, median {median:.2f} s")
        record(
            "metrics", task="evaluate", predictions=name, rows=n, k=10, metrics=len(METRICS), seed=0,
            seconds_min=min(seconds), seconds_median=median, p1=report["P@1"],
        )  # fmt: skip
    print(report)


if __name__ == "__main__":
    main()
