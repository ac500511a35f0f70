"""What composites cost beside one tree, in one run: `python benchmarks/composites.py [DATA …] [--turns 3]`.

Trained in turns: `xr-linear`, `best`, `xr-linear++`; and asked for a batch of test rows, ten labels each: one tree, and
the mean of three. All on the same data (`Vectorizer(ngrams=1)`), two threads; the least of all turns counts. The
ratios are to `xr-linear`. Results go to results/composites.jsonl.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from common import record

import xtrellis as xt
from xtrellis.data import shared

DATA = ["stackexchange", "debian-depends", "yso-100k"]
TRAINED = ["xr-linear", "best", "xr-linear++"]
THREADS, SEED, K = 2, 0, 10


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """By the clock, and of the processor over all threads: what counts if others use the machine, too."""
    began, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - busy


def ratios(least: dict[str, float]) -> dict[str, float]:
    found = {preset: least[f"train {preset}"] / least["train xr-linear"] for preset in TRAINED[1:]}
    return {**found, "three trees": least["batch three trees"] / least["batch one tree"]}


def measure(name: str, turns: int, rounds: int) -> dict[str, Any]:
    known = shared(name)
    unseen = shared(name, "test", labels=known.label_names)
    vectorizer = xt.Vectorizer(ngrams=1, threads=THREADS)
    data = xt.TrainingData.of(
        vectorizer.fit_transform(known.texts), known.Y, texts=known.texts, label_names=known.label_names
    )
    x = vectorizer.transform(unseen.texts)
    one = xt.preset("xr-linear", seed=SEED, threads=THREADS).fit(data)
    others = [xt.preset("xr-linear", seed=SEED + i, threads=THREADS).fit(data) for i in (1, 2)]
    three = xt.Ensemble.of([one, *others], threads=THREADS)
    least: dict[str, float] = {}
    processor: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> None:
        for times, taken in zip((least, processor), seconds(work), strict=True):
            times[what] = min(times.get(what, float("inf")), taken)

    for _ in range(turns):
        for preset in TRAINED:
            model = xt.preset(preset, seed=SEED, threads=THREADS)
            timed(f"train {preset}", lambda model=model: model.fit(data))
        for _ in range(rounds):
            timed("batch one tree", lambda: one.predict(x, k=K))
            timed("batch three trees", lambda: three.predict(x, k=K))
    return {
        "train_rows": data.n_rows, "test_rows": int(x.shape[0]), "labels": data.n_labels,
        "seconds": {what: round(value, 4) for what, value in least.items()},
        "processor": {what: round(value, 4) for what, value in processor.items()},
        "ratios": {what: round(value, 2) for what, value in ratios(least).items()},
        "processor_ratios": {what: round(value, 2) for what, value in ratios(processor).items()},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3, help="batches in a turn")
    args = parser.parse_args()
    print(f"{'data':16} {'best':>8} {'++':>8} {'three':>8}   times xr-linear")
    for name in args.data:
        busy = os.getloadavg()[0]
        found = measure(name, args.turns, args.rounds)
        for by in ("ratios", "processor_ratios"):
            best, again, three = (found[by][what] for what in (*TRAINED[1:], "three trees"))
            print(f"{name:16} {best:8.2f} {again:8.2f} {three:8.2f}   {by.replace('_', ' ')}", flush=True)
        record("composites", data=name, threads=THREADS, seed=SEED, k=K, turns=args.turns, busy=round(busy, 1), **found)


if __name__ == "__main__":
    main()
