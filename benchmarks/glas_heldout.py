"""What a setting of `Glas` is worth beside `xr-linear` on held-out training rows: for choosing, never for reporting.

    python benchmarks/glas_heldout.py DATA [--set name=value …] [--keep FOLDER | --model FOLDER] [--seed 0]

A tenth of the training rows is held out (5,000 are asked at most), `xr-linear` and `Glas` are trained on the others and
asked about it. Measured: the model as it answers; comparing with every label, and by the codes of the index, for beams
of 64 to 1,024; and what every prior would have given (`score − prior · ln rows`, among the 100 best by score). A kept
model (`--keep`) can be measured again (`--model`). One line a run goes to docs/experiments/glas-heldout.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import xtrellis as xt
from xtrellis.arrays import TopK, as_features
from xtrellis.experiments.data import Prepared, prepare
from xtrellis.experiments.measure import quality
from xtrellis.experiments.results import stamp
from xtrellis.labels import label_frequency
from xtrellis.neural.glas.search import LabelIndex
from xtrellis.neural.scoring import exact

LINES = Path(__file__).parent.parent / "docs" / "experiments" / "glas-heldout.jsonl"
METRICS, K, MOST, CANDIDATES = ("P@1", "P@5", "PSP@1", "PSP@5"), 5, 5000, 100
PRIORS = (-0.1, -0.08, -0.06, -0.05, -0.04, -0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.04)
BEAMS = (64, 256, 1024)


def held_out(name: str, seed: int) -> Prepared:
    """Nine tenths of the training rows, and some of the rest to ask about."""
    data = prepare(name).held_out(seed)
    return Prepared(data.name, data.train, data.test.select(range(min(data.test.n_rows, MOST))))


def by_prior(data: Prepared, model: xt.Glas, queries: Any) -> dict[str, dict[str, float]]:
    """Quality with every prior, from scores in which frequencies count for nothing."""
    V = np.ascontiguousarray(model.network.label_vectors)
    labels, scores = exact(np.ascontiguousarray(queries[:, : V.shape[1]]), V, CANDIDATES)
    logs = np.log(np.maximum(label_frequency(data.train.Y), 1)).astype(np.float32)[labels]
    found = {}
    for prior in PRIORS:
        moved = scores - np.float32(prior) * logs
        order = np.argsort(-moved, axis=1, kind="stable")[:, :K]
        top = TopK(np.take_along_axis(labels, order, 1), np.take_along_axis(moved, order, 1), len(V))
        found[f"{prior:g}"] = quality(data, top, ("P@1", "PSP@1"))
    return found


def by_search(data: Prepared, model: xt.Glas, queries: Any) -> dict[str, dict[str, float]]:
    """Quality by comparing with every label, and by the codes."""
    V = model.network.V
    searches = {"exact": lambda: exact(queries, V, K)}
    index = LabelIndex.build(V)
    for beam in BEAMS:
        searches[f"codes, beam {beam}"] = lambda beam=beam: index.search(queries, V, K, beam=beam)
    best = searches["exact"]()[0]
    found = {}
    for name, search in searches.items():
        labels, scores = search()
        found[name] = quality(data, TopK(labels, scores, len(V)), METRICS)
        found[name]["first answer as exact"] = round(100 * float((labels[:, 0] == best[:, 0]).mean()), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--set", action="append", default=[], help="name=value, the value as JSON")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    params = {name: json.loads(value) for name, _, value in (pair.partition("=") for pair in args.set)}
    data = held_out(args.data, args.seed)
    tree = xt.preset("xr-linear", seed=args.seed, threads=args.threads).fit(data.train.X, data.train.Y)
    trees = quality(data, tree.predict(data.test.X, k=K), METRICS)
    began = time.process_time()
    if args.model:
        model = xt.load(args.model)
    else:
        model = xt.preset("glas", seed=args.seed, threads=args.threads)
        model.set_params(**params)
        model.fit(data.train.X, data.train.Y)
    seconds = time.process_time() - began
    if args.keep:
        model.save(args.keep)
    queries = model.network.queries(as_features(data.test.X), threads=args.threads)
    line: dict[str, Any] = {
        **stamp(),
        "measured": "a held-out tenth of the training rows, 5,000 at most",
        "data": args.data,
        "params": params,
        "seed": args.seed,
        **quality(data, model.predict(data.test.X, k=K), METRICS),
        "by search": by_search(data, model, queries),
        "by prior": by_prior(data, model, queries),
        "xr-linear": trees,
    }
    if not args.model:
        line["processor seconds"] = round(seconds)
        line["curves"] = [[round(c["train_p1"], 1), round(c.get("validation_p1", 0), 1)] for c in model.curves]
    text = json.dumps(line)
    with LINES.open("a", encoding="utf-8") as file:
        file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
