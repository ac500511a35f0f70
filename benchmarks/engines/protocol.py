"""What every engine's worker shares: it runs one phase in a process of its own and prints one JSON object.

    python engines/run_ENGINE.py train   DATA MODEL --config NAME --threads 2
    python engines/run_ENGINE.py predict DATA MODEL --config NAME --threads 2 --beam 10 --top 10

    python engines/run_ENGINE.py answers DATA MODEL --config NAME --top 100     # MODEL.npy: labels of all test rows

DATA holds X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz (csr, float32) and train.txt (the same rows as XMC text). Only
NumPy and SciPy are needed here, since the engines live in different environments.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


class Engine:
    """One engine: what is timed is inside `fit`, `load`, `batch` and `single`, and nothing else."""

    needs_matrices = True  # False: trains from train.txt

    def __init__(self, config: str, threads: int, beam: int, top: int, seed: int) -> None:
        self.config, self.threads, self.beam, self.top, self.seed = config, threads, beam, top, seed

    def version(self) -> str:
        raise NotImplementedError

    def fit(self, data: Path, X: Any, Y: Any, model: Path) -> dict[str, float]:
        """Train; returns the seconds of each part (label features, clustering, weights), as far as it can tell."""
        raise NotImplementedError

    def save(self, model: Path) -> None:
        raise NotImplementedError

    def load(self, model: Path) -> None:
        raise NotImplementedError

    def prepare(self) -> None:
        """What an engine offers to make prediction faster once a model is loaded."""

    def native(self, X: Any) -> Any:
        """A csr_matrix in the form that the engine's Python interface takes; not timed."""
        return X

    def batch(self, rows: Any) -> Any:
        """Predict all rows, given as `native` made them."""
        raise NotImplementedError

    def labels(self, found: Any, n: int) -> Any:
        """What `batch` returned as labels, n × top, best first, -1 pads; not timed."""
        raise NotImplementedError

    def single(self, row: Any) -> Any:
        raise NotImplementedError

    def answers(self, row: Any) -> bool:
        """False for a row that the engine cannot take at all."""
        return True


def matrix(path: Path) -> Any:
    found = sp.csr_matrix(sp.load_npz(path), dtype=np.float32)
    found.sort_indices()
    return found


def memory(field: str) -> float:
    """VmHWM (peak) or VmRSS of this process in MB; unlike ru_maxrss, nothing of the parent process is in it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return float("nan")


def precision(labels: Any, Y: Any, k: int) -> float:
    """Of the k best, how many per cent are right; all rows count."""
    hits = 0
    for row, top in enumerate(labels):
        right = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        hits += np.isin(top[:k], right).sum()
    return round(100 * float(hits) / (k * len(labels)), 3)


def train(engine: Engine, data: Path, model: Path) -> dict[str, Any]:
    X = matrix(data / "X.trn.npz") if engine.needs_matrices else None
    Y = matrix(data / "Y.trn.npz") if engine.needs_matrices else None
    before = memory("VmRSS")
    start, cpu = time.perf_counter(), time.process_time()
    parts = engine.fit(data, X, Y, model)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    not_training = parts.pop("reading", 0.0)  # parsing a text file is not what is compared
    peak = memory("VmHWM")
    start = time.perf_counter()
    engine.save(model)
    return {
        "train_seconds": seconds - not_training, "train_cpu_seconds": cpu, "parts": parts, "reading": not_training,
        "peak_mb": peak, "before_mb": before, "save_seconds": time.perf_counter() - start,
        "model_bytes": sum(f.stat().st_size for f in model.rglob("*") if f.is_file()),
    }  # fmt: skip


def predict(engine: Engine, data: Path, model: Path, rows: int, singles: int, rounds: int) -> dict[str, Any]:
    X, Y = matrix(data / "X.tst.npz")[:rows], matrix(data / "Y.tst.npz")[:rows]
    loads = []
    for _ in range(rounds):
        start = time.perf_counter()
        engine.load(model)
        loads.append(time.perf_counter() - start)
    start = time.perf_counter()
    engine.prepare()
    prepare = time.perf_counter() - start
    times, cpus, rows_given = [], [], engine.native(X)
    for _ in range(rounds):
        start, cpu = time.perf_counter(), time.process_time()
        found = engine.batch(rows_given)
        times.append((time.perf_counter() - start) * 1e3 / X.shape[0])
        cpus.append((time.process_time() - cpu) * 1e3 / X.shape[0])  # over all threads
    labels = engine.labels(found, X.shape[0])
    lone = [engine.native(X[i]) for i in range(min(singles, X.shape[0])) if engine.answers(X[i])]
    each = np.full(len(lone), np.inf)
    for _ in range(rounds):  # the least of each row: what other programs do to the clock is no engine's merit or fault
        for i, row in enumerate(lone):
            start = time.perf_counter_ns()
            engine.single(row)
            each[i] = min(each[i], (time.perf_counter_ns() - start) / 1e3)
    return {
        "load_ms": min(loads) * 1e3, "prepare_ms": prepare * 1e3, "batch_ms": min(times),
        "batch_cpu_ms": min(cpus), "predict_mb": memory("VmHWM"),
        "p50_us": float(np.percentile(each, 50)), "p99_us": float(np.percentile(each, 99)),
        "P@1": precision(labels, Y, 1), "P@3": precision(labels, Y, 3), "P@5": precision(labels, Y, 5),
        "rows": X.shape[0], "rows_refused": sum(not engine.answers(X[i]) for i in range(X.shape[0])),
    }  # fmt: skip


def answers(engine: Engine, data: Path, model: Path) -> dict[str, Any]:
    """What it answers to all test rows, for whoever measures it."""
    X = matrix(data / "X.tst.npz")
    engine.load(model)
    engine.prepare()
    labels = engine.labels(engine.batch(engine.native(X)), X.shape[0])
    np.save(model.with_name(model.name + ".npy"), labels.astype(np.int32))
    return {"rows": X.shape[0]}


def main(kind: type[Engine]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=["train", "predict", "answers"])
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--config", default="default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--singles", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines that print do it elsewhere: stdout holds the answer and nothing else
    engine = kind(args.config, args.threads, args.beam, args.top, args.seed)
    if args.phase == "train":
        found = train(engine, args.data, args.model)
    elif args.phase == "answers":
        found = answers(engine, args.data, args.model)
    else:
        found = predict(engine, args.data, args.model, args.rows, args.singles, args.rounds)
    answer.write(json.dumps({"version": engine.version(), **found}) + "\n")
    answer.flush()
    sys.stderr.flush()
    os._exit(0)  # an engine that fails while it is taken apart has already been measured
