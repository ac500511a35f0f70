"""What `xt.tune` gains on real data: a preset as it is beside the parameters that it finds, on rows neither has seen.

    python benchmarks/tuned.py --data bibtex [--preset xr-linear] [--trials 30] [--seeds 3]

Parameters are chosen on held-out rows of the training part (as `xtrellis tune` does); then both are trained on all of
it and judged on the test part, the difference with its bootstrap interval over test rows, and the seed of the search is
varied. The parts must number labels alike, as those of XMC data do. Appends a line to results/tuned.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from common import record

import xtrellis as xt
from xtrellis.data import Dataset, shared


def features(data: str) -> tuple[Dataset, Dataset]:
    """Rows of features; texts become such once for all candidates."""
    train, test = shared(data, "train"), shared(data, "test")
    if train.X is not None:
        return train, test
    vectorizer = xt.Vectorizer()
    made = xt.Dataset(vectorizer.fit_transform(train.texts), train.Y)
    return made, xt.Dataset(vectorizer.transform(test.texts), test.Y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bibtex")
    parser.add_argument("--preset", default="xr-linear")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--metric", default="nDCG@5")
    args = parser.parse_args()
    train, test = features(args.data)
    usual = xt.preset(args.preset).set_params(threads=1).fit(train.X, train.Y)
    before = xt.metrics.per_row(test.Y, usual.predict(test.X, k=5), args.metric)
    told = []
    for seed in range(args.seeds):
        begun = time.process_time()
        found = xt.tune(
            xt.preset(args.preset).set_params(threads=1), train, trials=args.trials, metric=args.metric, seed=seed
        )
        spent = time.process_time() - begun
        tuned = xt.preset(args.preset).set_params(threads=1, **found.params).fit(train.X, train.Y)
        after = xt.metrics.per_row(test.Y, tuned.predict(test.X, k=5), args.metric)
        gain, low, high = xt.metrics.bootstrap(after - before)
        line = {"seed": seed, "params": found.params, "held_out": round(found.best.score, 2)}
        line |= {"test": round(float(after.mean()), 2), "gain": round(gain, 2)}
        told.append(line | {"interval": [round(low, 2), round(high, 2)], "processor": round(spent, 1)})
        print(told[-1], flush=True)
    record(
        "tuned", data=args.data, preset=args.preset, trials=args.trials, metric=args.metric,
        usual=round(float(np.mean(before)), 2), tuned=told,
    )  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main()
