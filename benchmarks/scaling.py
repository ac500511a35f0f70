"""How prediction time grows with the number of labels: xr-linear on synthetic data of 10³ … 10⁶ labels.

    python benchmarks/scaling.py [--labels 1000 10000 100000 1000000] [--rows 2] [--repeat 5]

Every size has `--rows` training rows a label (at most --max-rows), 30 features and 3 labels a row. Training is done
once; prediction (beam 10, 10 labels a row, 2 threads for batches) is repeated, the least time counts. The sizes take
turns in prediction, so that a busy moment of the machine hits all alike; models wait on disk.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import record

import xtrellis as xt

TEST_ROWS, SINGLES = 20_000, 1_000


def world(n_labels: int) -> dict[str, Any]:
    return {"n_labels": n_labels, "n_features": max(1000, n_labels // 2), "seed": 0}


def train(n_labels: int, n_rows: int, folder: Path) -> dict[str, Any]:
    data = xt.synthetic(n_rows=n_rows, **world(n_labels))
    start = time.perf_counter()
    model = xt.preset("xr-linear", threads=2, seed=0).fit(data.X, data.Y)
    seconds = time.perf_counter() - start
    model.save(folder / str(n_labels))
    print(f"{n_labels:>9,} labels, {n_rows:,} rows: trained in {seconds:.1f} s, {model.tree!r}", flush=True)
    return {"labels": n_labels, "rows": n_rows, "train_seconds": round(seconds, 2), "depth": model.tree.depth}


def predict(n_labels: int, n_rows: int, folder: Path, times: dict[str, Any]) -> None:
    """One turn: adds to the least times so far."""
    test = xt.synthetic(n_rows=TEST_ROWS, first_row=n_rows, **world(n_labels))
    model = xt.load(folder / str(n_labels)).set_params(threads=2)
    start = time.perf_counter()
    top = model.predict(test.X, k=10)
    times["batch_ms"] = min(times.get("batch_ms", np.inf), (time.perf_counter() - start) * 1e3 / TEST_ROWS)
    each = times.setdefault("each", np.full(SINGLES, np.inf))
    lone = [test.X[[i]] for i in range(SINGLES)]
    for i, row in enumerate(lone):
        start = time.perf_counter()
        model.predict(row, k=10)
        each[i] = min(each[i], (time.perf_counter() - start) * 1e6)
    times["P@1"] = xt.evaluate(test.Y, top, metrics=["P@1"])["P@1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--rows", type=float, default=2.0, help="training rows a label")
    parser.add_argument("--max-rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    command = " ".join(["python", "benchmarks/scaling.py", *sys.argv[1:]])
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        about = [train(n, int(min(args.rows * n, args.max_rows)), folder) for n in args.labels]
        times: list[dict[str, Any]] = [{} for _ in about]
        for _ in range(args.repeat):
            for size, found in zip(about, times, strict=True):
                predict(size["labels"], size["rows"], folder, found)
        print(f"{'labels':>10}{'depth':>7}{'batch ms/row':>14}{'single p50 µs':>15}{'p99 µs':>9}{'P@1':>8}")
        for size, found in zip(about, times, strict=True):
            p50, p99 = (float(np.percentile(found["each"], q)) for q in (50, 99))
            print(
                f"{size['labels']:>10,}{size['depth']:>7}{found['batch_ms']:>14.4f}{p50:>15.1f}{p99:>9.1f}"
                f"{found['P@1']:>8.2f}"
            )
            record(
                "scaling", run=run, command=command, **size, repeats=args.repeat, threads=2,
                batch_ms=round(found["batch_ms"], 5),
                p50_us=round(p50, 2), p99_us=round(p99, 2), precision_at_1=round(found["P@1"], 3), seed=0,
            )  # fmt: skip


if __name__ == "__main__":
    main()
