"""Which tree serves `best`, on held-out rows, and its seconds of training: `python benchmarks/best_choice.py [DATA …]`.

A tenth of the training rows is held out; the test part plays no part. The other witnesses are the same for every tree;
a blend is learned twice, from two samples of what is said of faint candidates. A label has three places in the tree of
`best`; two, and `xr-linear`, are what it could have instead; "not refitted" answers with the trees that the blend was
learned with.
Results go to results/best_choice.jsonl.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from common import record

import xtrellis as xt
from xtrellis.data import TrainingData
from xtrellis.experiments.data import prepare
from xtrellis.rank import Blend, Ensemble
from xtrellis.store import Stages

DATA = ["cooking", "mdn-seealso", "bibtex", "delicious", "stackexchange", "debian-depends", "yso-100k"]
METRICS = ["P@1", "P@5", "R@100", "PSP@5"]
TREES = {"two places": ("overlap", 2), "three places": ("overlap", 3), "xr-linear": ("xr-linear", None)}
WIDE, SEEDS = 100, (0, 1)

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and seconds of the processor."""
    began = time.process_time()
    return work(), time.process_time() - began


def measure(name: str, threads: int) -> list[dict[str, Any]]:
    data = prepare(name, threads).held_out()
    part = data.train
    train = TrainingData.of(part.X, part.Y, texts=part.texts, label_names=part.label_names)
    others = ["neighbors"] + (["names", "title"] if train.texts and train.label_names else [])
    models = [xt.preset(one, threads=threads).fit(train) for one in others]
    out = []
    for called, (tree, copies) in TREES.items():
        ensemble = cast(Ensemble, xt.preset("+".join([tree, *others]), threads=threads))
        if copies:
            ensemble.set_params(models__0__overlap__copies=copies)
        model, fit = timed(lambda e=ensemble: e.models[0].clone().set_params(threads=threads).fit(train))
        with Stages(None, {}) as stages:
            trials, trial = timed(lambda e=ensemble, m=model, s=stages: list(e.trials(train, [m, *models], s)))
        answers: dict[str, list[Any]] = {called: [model, *models]}
        if called == "two places":
            answers["two places, not refitted"] = [trials[0].models[0], *models]
        blends = [
            Blend.learn(trials, train.label_counts, wide=WIDE, ask=False, seed=seed, threads=threads) for seed in SEEDS
        ]
        for who, members in answers.items():
            found = [
                one.predict(data.test.X, WIDE, texts=data.test.texts if one.reads_texts else None) for one in members
            ]
            each = [
                xt.evaluate(data.test.Y, blend.together(found, WIDE, threads=threads), METRICS, weights=data.weights())
                for blend in blends
            ]
            line: dict[str, Any] = {metric: round(float(np.mean([e[metric] for e in each])), 3) for metric in METRICS}
            line |= {"data": name, "tree": who, "rows": data.test.n_rows, "tree s": round(fit, 2)}
            out.append({**line, "trials s": round(trial, 2), "turns": len(trials)})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    for name in args.data:
        for line in measure(name, args.threads):
            record("best_choice", **line)
            print(line)


if __name__ == "__main__":
    main()
