"""Weights in fewer bits: size on disk and precision of one xr-linear model kept as float32, float16 and int8.

python benchmarks/storage.py [--data debian-depends yso-100k npm-deps]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from common import record

import xtrellis as xt
from xtrellis.experiments.data import prepare

METRICS = ["P@1", "P@3", "P@5"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["debian-depends", "yso-100k", "npm-deps"])
    args = parser.parse_args()
    for name in args.data:
        data = prepare(name)
        model = xt.preset("xr-linear", seed=0, storage="float32").fit(data.train.X, data.train.Y)
        for storage in ("float32", "float16", "int8"):
            stored = model.stored_as(storage)
            with tempfile.TemporaryDirectory() as folder:
                stored.save(Path(folder) / "model")
                size = sum(p.stat().st_size for p in (Path(folder) / "model").rglob("*") if p.is_file())
            found = xt.evaluate(data.test.Y, stored.predict(data.test.X, k=5), METRICS)
            scores = {metric: round(float(found[metric]), 3) for metric in METRICS}
            print(f"{name:16} {storage:8} {size / 1e6:6.1f} MB", scores, flush=True)
            record("storage", data=name, storage=storage, model_bytes=size, **scores)


if __name__ == "__main__":
    main()
