"""Training speed of `Glas` on the CPU: against a plain dense PyTorch version, and as the number of features grows.

    python benchmarks/glas.py [data set]

Both train the same model (ReLU, hardest in-batch negatives, GLaS, dropout, unit vectors) on the same batches' worth of
rows with two threads. The dense one holds a batch as a dense matrix, its weights as plain parameters under Adam, and
the block of U as a slice of a dense matrix (made beforehand and not counted).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from common import record

import xtrellis as xt
from xtrellis.arrays import as_features, as_labels
from xtrellis.experiments.data import prepare
from xtrellis.neural.glas.task import GlasSettings, GlasTask

DIM, BATCH, STEPS, THREADS = 256, 1024, 6, 2
FEATURES, KINDS, TURNS = (20_000, 200_000, 2_000_000), ("spread", "drawn"), 5


def settings(**params: Any) -> GlasSettings:
    model = xt.Glas(dim=DIM, hidden="relu", threads=THREADS, batch_size=BATCH, **params)
    return model._settings(10**6)


def ours(X: Any, Y: Any) -> float:
    """Rows a second, the best of some batches."""
    rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
    task = GlasTask(X, Y, rows, rows[:0], settings(), torch, torch.device("cpu"))
    speeds, start = [], time.perf_counter()
    for step, (n, _, _) in enumerate(task.epoch(0)):
        speeds.append(n / (time.perf_counter() - start))
        if step >= STEPS:
            break
        start = time.perf_counter()
    return max(speeds[1:] or speeds)


def dense(X: Any, Y: Any) -> float:
    """The same by the book: dense batches, autograd for everything, Adam for everything."""
    torch.set_num_threads(THREADS)
    rng = np.random.default_rng(0)
    W = torch.nn.Parameter(torch.randn(X.shape[1], DIM) / DIM**0.5)
    V = torch.nn.Parameter(torch.randn(Y.shape[1], DIM))
    b, mix = torch.nn.Parameter(torch.zeros(DIM)), torch.nn.Parameter(torch.eye(DIM))
    optimizer = torch.optim.Adam([W, V, b, mix], lr=1e-3)
    A = (Y.T @ Y).tocsr()
    z = np.maximum(A.diagonal(), 1)
    rows = rng.permutation(np.flatnonzero(np.diff(Y.indptr)))
    speeds = []
    for step in range(min(STEPS, max(2, len(rows) // BATCH))):
        chosen = rows[step * BATCH : (step + 1) * BATCH]
        if not len(chosen):
            break
        labels = np.array([rng.choice(Y.indices[Y.indptr[r] : Y.indptr[r + 1]]) for r in chosen])
        block, places = np.unique(labels, return_inverse=True)
        U = A[block][:, block].toarray()
        U = torch.from_numpy((0.5 * (U / z[block] + U / z[block][:, None])).astype(np.float32))
        known = torch.from_numpy(Y[chosen][:, block].toarray() > 0)
        start = time.perf_counter()
        x = torch.from_numpy(X[chosen].toarray())
        x = x * (torch.rand_like(x) < 0.8)
        hidden = torch.relu(x @ W + b) @ mix
        inputs = torch.nn.functional.normalize(hidden, dim=1)
        vectors = torch.nn.functional.normalize(V, dim=1)[torch.from_numpy(block)]
        scores = inputs @ vectors.T
        own = scores.gather(1, torch.from_numpy(places)[:, None])
        worst = scores.masked_fill(known, -float("inf")).topk(min(10, scores.shape[1]), dim=1).values
        loss = torch.relu(worst - own + 0.5).mean(1).mean()
        loss = loss + 10 * ((vectors @ vectors.T - U) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        speeds.append(len(chosen) / (time.perf_counter() - start))
    return max(speeds)


def wide(features: int, per_row: int = 60, rows: int = 8192, labels: int = 20_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    at = np.repeat(np.arange(rows), per_row)
    X = sp.csr_array(
        (rng.random(rows * per_row, np.float32), (at, rng.integers(0, features, len(at)))), shape=(rows, features)
    )
    few = np.repeat(np.arange(rows), 3)
    Y = sp.csr_array((np.ones(len(few), np.float32), (few, rng.integers(0, labels, len(few)))), shape=(rows, labels))
    return as_features(X), as_labels(Y)


def spread(X: Any, Y: Any, features: int) -> tuple[Any, Any]:
    """The rows of a data set with their features (as many as fit the smallest setting) spread over many more."""
    few = X.indices < FEATURES[0]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[few]
    columns = X.indices[few].astype(np.int64) * (features // FEATURES[0])
    return as_features(sp.csr_array((X.data[few], (rows, columns)), shape=(X.shape[0], features))), Y


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "yso-100k"
    data = prepare(name)
    X, Y = as_features(data.train.X), as_labels(data.train.Y)
    speeds: dict[str, list[float]] = {"ours": [], "dense": []}
    for _ in range(3):
        for kind, run in (("ours", ours), ("dense", dense)):
            speeds[kind].append(run(X, Y))
    best = {kind: round(max(found)) for kind, found in speeds.items()}
    print(name, best, f"ratio {best['ours'] / best['dense']:.1f}")
    record("glas", task="throughput", data=name, dim=DIM, batch=BATCH, threads=THREADS, rows_per_second=best)
    # More features, the same non-zeros: the same rows with their features spread out, and features drawn evenly, of
    # which a batch then touches more and more different ones (each is a row of weights to fetch and to update).
    made = {(kind, f): wide(f) if kind == "drawn" else spread(X, Y, f) for kind in KINDS for f in FEATURES}
    found: dict[Any, list[float]] = {which: [] for which in made}
    for _ in range(TURNS):
        for which, (A, B) in made.items():
            found[which].append(ours(A, B))
    for (kind, features), some in found.items():
        speed, first = max(some), max(found[kind, FEATURES[0]])
        print(f"{kind}, {features:,} features: {speed:,.0f} rows/s, {100 * (speed / first - 1):+.0f} %")
        record(
            "glas", task="features", kind=kind, features=features, dim=DIM, batch=BATCH, threads=THREADS,
            rows_per_second=round(speed),
        )  # fmt: skip


if __name__ == "__main__":
    main()
