"""Threads beside a Ray cluster on one machine: seconds of training and prediction with one and two workers.

    python benchmarks/workers.py [--rows 40000] [--labels 10000] [--repeat 3]

The same synthetic data folder for all; the cluster is started once and warmed up with a training. All ways take turns;
the least time of each counts. The models must be the same to the byte. Appends a line to results/workers.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from common import record

import xtrellis as xt


def digest(model: Any, folder: Path) -> str:
    model.save(folder)
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        found.update(file.read_bytes())
    return found.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    seconds: dict[str, float] = {}
    models = set()
    with tempfile.TemporaryDirectory() as place:
        data = xt.synthetic(n_rows=args.rows, n_labels=args.labels, n_features=args.features, seed=0)
        xt.write(data, f"{place}/data.xt")
        stored = xt.open(f"{place}/data.xt")
        with xt.engines.Ray(workers=2) as cluster:
            xt.LinearTree(seed=0, threads=1).fit(stored.select(slice(0, 2000)), engine=cluster)
            for turn in range(args.repeat):
                for workers in (1, 2):
                    for name in ("threads", "ray"):
                        engine = None if name == "threads" else xt.engines.Ray(workers=workers)
                        model = xt.LinearTree(seed=0, threads=workers if engine is None else 1)
                        begun = time.perf_counter()
                        model.fit(stored, engine=engine)
                        fitted = time.perf_counter()
                        if engine is None:
                            model.predict(stored.X, k=10)
                        else:
                            engine.predict(model, stored, k=10)
                        ended = time.perf_counter()
                        for what, taken in (("train", fitted - begun), ("predict", ended - fitted)):
                            key = f"{what}, {name}, {workers}"
                            seconds[key] = min(seconds.get(key, float("inf")), taken)
                        models.add(digest(model, Path(place) / f"{turn}{name}{workers}"))
    if len(models) != 1:
        raise SystemExit("the models differ")
    told = {key: round(value, 3) for key, value in seconds.items()}
    record("workers", **vars(args), seed=0, seconds=told)
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
