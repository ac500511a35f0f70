"""Building label trees: `python benchmarks/trees.py [DATA …]`. Seconds for label vectors and for each kind of tree.

DATA names a set of the shared data folder; `synthetic` is 1M labels and 300k rows. The least of three runs counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from common import record

import xtrellis as xt
from xtrellis.data import shared
from xtrellis.labels import LabelSpace

THREADS = 2


def training_data(name: str) -> xt.TrainingData:
    if name == "synthetic":
        data = xt.synthetic(n_rows=300_000, n_labels=1_000_000, n_features=500_000, seed=0)
        return xt.TrainingData.of(data.X, data.Y)
    data = shared(name)
    return xt.TrainingData.of(data.X if data.X is not None else xt.Vectorizer().fit_transform(data.texts), data.Y)


def timed(function: Callable[[], object], repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    print(f"{'data':16} {'labels':>9}   step             seconds")
    for name in sys.argv[1:] or ["debian-depends"]:
        data = training_data(name)
        space = LabelSpace(data, threads=THREADS)
        seconds = {"vectors": timed(lambda data=data: LabelSpace(data, threads=THREADS).vectors)}
        for index in (xt.BalancedTree(), xt.KMeansTree()):
            seconds[type(index).__name__] = timed(lambda index=index, space=space: index.build(space, seed=0))
        for step, taken in seconds.items():
            print(f"{name:16} {space.n_labels:9,}   {step:14} {taken:9.3f}")
        record("trees", data=name, labels=space.n_labels, threads=THREADS, seed=0, seconds=seconds)


if __name__ == "__main__":
    main()
