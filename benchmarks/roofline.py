"""How far the two inner loops are from their bounds: solving classifiers, and looking features up for one query.

    python benchmarks/roofline.py [--data debian-depends] [--presets xr-linear parabel]

Solving: in each epoch a visit of a row reads the weights of its features for all lanes of a group, reads them again and
writes them back. The bytes of all visits (an upper bound: rows that rest are not visited) over the seconds of the
processor in the kernel are set beside what NumPy reaches when it adds to an array that fits the same cache. Looking up:
a query asks every node that it expands for each of its features; told are nanoseconds a look-up, where a cache line
from the last cache takes some tens. Times are of the processor, one thread, the least of --turns.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import record

import xtrellis as xt
from xtrellis._native import linear as native
from xtrellis._native import search as native_search
from xtrellis.data import shared

LANES = (4, 8, 16, 32)


def bandwidth(n_bytes: int = 1 << 19) -> float:
    """Bytes a second that are read and written again, in an array of this size."""
    array, best = np.zeros(n_bytes // 4, np.float32), np.inf
    for _ in range(50):
        began = time.process_time_ns()
        for _ in range(100):
            np.add(array, 1, out=array)
        best = min(best, (time.process_time_ns() - began) / 100)
    return 2e9 * n_bytes / best


class Spy:
    """Stands in for the native `train`: counts what its calls do."""

    def __init__(self) -> None:
        self.visits, self.n_bytes, self.seconds, self.train = 0.0, 0.0, 0.0, native.train

    def __call__(self, offsets: Any, ids: Any, values: Any, columns: int, rows: Any, *rest: Any, **how: Any) -> Any:
        began = time.process_time()
        block = self.train(offsets, ids, values, columns, rows, *rest, **how)
        self.seconds += time.process_time() - began
        nonzeros = int((offsets[rows + 1] - offsets[rows]).sum())
        epochs = block[5]
        for first in range(0, len(epochs), LANES[-1]):
            left = len(epochs) - first
            lanes = next((n for n in LANES if left <= n), LANES[-1])
            self.visits += float(epochs[first]) * nonzeros
            self.n_bytes += float(epochs[first]) * nonzeros * lanes * 4 * 3
        return block


def solving(preset: str, X: Any, Y: Any) -> tuple[Any, Spy]:
    spy: Any = Spy()
    native.train = spy
    try:
        model = xt.preset(preset, seed=0, threads=1).fit(X, Y)
    finally:
        native.train = spy.train
    return model, spy


def looking_up(model: Any, x: Any, n: int = 500) -> float:
    """Nanoseconds of the kernel for each feature in each node that it expands."""
    tree = model.trees[0]
    rows = [model._rows(x[[i]], tree.n_features) for i in range(min(n, x.shape[0]))]
    labels, scores = np.empty((1, 10), np.int32), np.empty((1, 10), np.float32)
    asked = sum(model.count_nodes(x[[i]]) * len(row.indices) for i, row in enumerate(rows))
    best = np.inf
    for _ in range(5):
        began = time.process_time_ns()
        for row in rows:
            native_search.single(tree.native, row.indices, row.data, 10, np.zeros(0, np.uint8), labels, scores)
        best = min(best, time.process_time_ns() - began)
    return float(best / asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="debian-depends")
    parser.add_argument("--presets", nargs="*", default=["xr-linear", "parabel"])
    parser.add_argument("--turns", type=int, default=1)
    args = parser.parse_args()
    train, test = shared(args.data), shared(args.data, "test")
    vectorizer = xt.Vectorizer(ngrams=1)
    X, x = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    reached = bandwidth()
    for preset in args.presets:
        turns = [solving(preset, X, train.Y) for _ in range(args.turns)]
        model, spy = min(turns, key=lambda turn: turn[1].seconds)
        found = {
            "solve_seconds": round(spy.seconds, 3), "feature_visits": int(spy.visits),
            "ns_a_visit": round(1e9 * spy.seconds / spy.visits, 2), "bytes": int(spy.n_bytes),
            "gb_a_second": round(spy.n_bytes / spy.seconds / 1e9, 1), "numpy_gb_a_second": round(reached / 1e9, 1),
            "ns_a_look_up": round(looking_up(model, x), 1), "nodes_a_query": round(model.count_nodes(x[:500]), 1),
        }  # fmt: skip
        print(preset, found, flush=True)
        record("roofline", data=args.data, preset=preset, turns=args.turns, **found)


if __name__ == "__main__":
    main()
