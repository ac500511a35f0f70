"""A million labels on an ordinary machine: time of each part of training, peak memory, size, precision.

    python benchmarks/million.py [--labels 1000000] [--rows 1000000] [--memory-gb 12] [--minutes 30]

Data is xt.synthetic (documented there): labels by Zipf's law, three a row, 30 features a row, half as many features as
labels. The model is xr-linear with weights below 0.1 dropped. It runs in a process of its own, whose peak memory
(VmHWM: data included) and time are held against the limits; the exit code says whether both were kept.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from common import record
from engines.clock import Clock

import xtrellis as xt
from xtrellis.core import progress

TEST_ROWS = 20_000


def status(field: str) -> float:
    """VmHWM (peak) or VmRSS of this process, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 2**20


class Loud(Clock):
    """Says at the end of each step what it took, and the memory so far."""

    def end(self, step: int) -> None:
        super().end(step)
        title, _ = self._running[step]
        print(f"{title:45}{self.steps[title]:9.1f} s{status('VmHWM'):8.2f} GB at most so far", flush=True)

    def note(self, message: str) -> None:
        print(message, flush=True)


def run(args: argparse.Namespace, answer: Any) -> None:
    world = {"n_labels": args.labels, "n_features": max(1000, args.labels // 2), "seed": 0}
    clock = Loud()
    with progress.listen(clock), tempfile.TemporaryDirectory() as work:
        start = time.perf_counter()
        train = xt.synthetic(n_rows=args.rows, **world)
        made, with_data = time.perf_counter() - start, status("VmRSS")
        print(f"data: {made:.1f} s, {with_data:.2f} GB, {train.X.nnz:,} features, {train.Y.nnz:,} labels", flush=True)
        start = time.perf_counter()
        model = xt.preset("xr-linear", threads=args.threads, seed=0, prune=0.1).fit(train.X, train.Y)
        taken, peak = time.perf_counter() - start, status("VmHWM")
        start = time.perf_counter()
        model.save(Path(work) / "model")
        saved = time.perf_counter() - start
        size = sum(file.stat().st_size for file in (Path(work) / "model").rglob("*") if file.is_file())
        test = xt.synthetic(n_rows=TEST_ROWS, first_row=args.rows, **world)
        start = time.perf_counter()
        top = model.predict(test.X, k=10)
        predicted = (time.perf_counter() - start) * 1e3 / TEST_ROWS
    found = xt.evaluate(test.Y, top, metrics=["P@1", "P@3", "P@5"])
    answer.put(
        {
            "labels": args.labels, "rows": args.rows, "threads": args.threads, "seed": 0, "tree": repr(model.tree),
            "train_seconds": round(taken, 1), "peak_gb": round(peak, 3), "data_gb": round(with_data, 3),
            "steps": {title: round(seconds, 1) for title, seconds in clock.steps.items()},
            "save_seconds": round(saved, 1), "model_gb": round(size / 1e9, 3),
            "batch_ms": round(predicted, 4), **{name: round(float(found[name]), 2) for name in ("P@1", "P@3", "P@5")},
        }
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-gb", type=float, default=12.0)
    parser.add_argument("--minutes", type=float, default=30.0)
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    worker = context.Process(target=run, args=(args, answer))
    worker.start()
    while worker.is_alive() and answer.empty():
        worker.join(1)
    if answer.empty():
        raise SystemExit(f"training ended without a model (exit code {worker.exitcode})")
    found = answer.get()
    worker.join()
    kept = found["peak_gb"] <= args.memory_gb and found["train_seconds"] <= args.minutes * 60
    print(json.dumps(found, indent=2))
    record("million", **found, limits={"gb": args.memory_gb, "minutes": args.minutes}, kept=kept)
    raise SystemExit(0 if kept else "the limits were not kept")


if __name__ == "__main__":
    main()
