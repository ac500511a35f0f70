"""Threads beside a Ray cluster on one machine: training and prediction with one worker and with two.

    python benchmarks/workers.py [--rows 40000 --labels 10000] [--repeat 3] [--workers 1 2]
    python benchmarks/workers.py --data yso-100k [--times 20]

The same data folder for all; `--times` writes the rows of a data set so often. For each number of workers a cluster of
so many is started and warmed up with a training; then threads and Ray take turns. Seconds are summed over all turns and
the least is kept beside the sum; processor seconds are those of this process and all below it (Ray's own processes and
workers), which is what counts on a machine that others use. The models must be the same to the byte. Appends a line to
results/workers.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import record

import xtrellis as xt
from xtrellis.data import Writer


def digest(model: Any, folder: Path) -> str:
    model.save(folder)
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        found.update(file.read_bytes())
    return found.hexdigest()


def processor() -> float:
    """Seconds of this process and of all below it; those that have ended are counted by whoever waited for them."""
    parents, ticks = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid = int(place.parent.name)
        parents[pid], ticks[pid] = int(told[1]), sum(map(int, told[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def write_rows(args: argparse.Namespace, to: str) -> None:
    if args.data is None:
        data = xt.synthetic(n_rows=args.rows, n_labels=args.labels, n_features=args.features, seed=0)
    else:
        read = xt.read(Path(os.environ["XTRELLIS_DATA"]) / args.data, part="train")
        data = xt.Dataset(read.X if read.X is not None else xt.Vectorizer().fit_transform(read.texts), read.Y)
    with Writer(to) as out:
        for _ in range(args.times):
            out.add(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    spent: dict[str, list[tuple[float, float]]] = {}
    models = set()

    def timed(name: str, function: Any, *given: Any, **named: Any) -> Any:
        begun, before = time.perf_counter(), processor()
        made = function(*given, **named)
        spent.setdefault(name, []).append((time.perf_counter() - begun, processor() - before))
        return made

    with tempfile.TemporaryDirectory() as place:
        write_rows(args, f"{place}/data.xt")
        stored = xt.open(f"{place}/data.xt")
        for workers in args.workers:
            engine = xt.engines.Ray(workers=workers)
            timed(f"start, ray, {workers}", engine.__enter__)
            try:
                warm = xt.LinearTree(seed=0, threads=1).fit(stored, engine=engine)
                engine.predict(warm, stored, k=10)
                for _ in range(args.repeat):
                    near, far = xt.LinearTree(seed=0, threads=workers), xt.LinearTree(seed=0, threads=1)
                    timed(f"train, threads, {workers}", near.fit, stored)
                    timed(f"train, ray, {workers}", far.fit, stored, engine=engine)
                    one = timed(f"predict, threads, {workers}", near.predict, stored.X, k=10)
                    other = timed(f"predict, ray, {workers}", engine.predict, far, stored, k=10)
                    if not (np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)):
                        raise SystemExit("the answers differ")
                for name, model in (("near", near), ("far", far)):
                    models.add(digest(model, Path(place) / f"{name}{workers}"))
            finally:
                engine.__exit__(None, None, None)
    if len(models) != 1:
        raise SystemExit("the models differ")
    told = {
        name: {
            "seconds": round(sum(wall for wall, _ in times), 3), "least": round(min(wall for wall, _ in times), 3),
            "processor": round(sum(cpu for _, cpu in times), 3), "times": len(times),
        }
        for name, times in spent.items()
    }  # fmt: skip
    load = [round(value, 1) for value in os.getloadavg()]
    shape = {"rows": stored.n_rows, "labels": stored.n_labels, "features": int(stored.X.shape[1])}
    record("workers", data=args.data, copies=args.times, **shape, repeat=args.repeat, seed=0, load=load, spent=told)
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
