"""What `best` costs to ask, member by member: rows of a batch, and single queries, beside xr-linear in the same turns.

    python benchmarks/witnesses.py --data npm-deps --folder DATA     # where the data sets lie
    python benchmarks/witnesses.py ... --keep FOLDER                 # models are kept there, and taken from there

Models are trained on the training rows; test rows are asked, as tf-idf of words with their texts. A batch is timed on
two threads by the clock and by the processor, over all threads. Models take turns, the least of --repeat turns counts.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt

QUERIES, SINGLES = 2_000, 300
K, CANDIDATES = 10, 100  # labels that are asked for; that a member is asked for


def trained(name: str, data: str, train: Any, X: Any, keep: Path | None) -> Any:
    """A model of the preset, or the one that was kept."""
    at = None if keep is None else keep / f"{data}-{name}"
    if at is not None and at.exists():
        return xt.load(at)
    model = xt.preset(name, threads=2).fit(X, train.Y, texts=train.texts, label_names=train.label_names)
    if at is not None:
        model.save(at)
    return model


def least(found: dict[str, Any], name: str, work: Callable[[], object]) -> None:
    """The time of the clock and of the processor, if less than before."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    for kind, seconds in (("clock", time.perf_counter() - clock), ("processor", time.process_time() - processor)):
        found[f"{name} {kind}"] = min(found.get(f"{name} {kind}", np.inf), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="npm-deps")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    train, test = (xt.read(next((args.folder / args.data).glob(f"{part}.jsonl*"))) for part in ("train", "test"))
    words = xt.Vectorizer().fit(train.texts)
    picked = np.random.default_rng(0).permutation(len(test.texts))[:QUERIES]
    texts = [test.texts[i] for i in picked]
    X, Q = words.transform(train.texts), sp.csr_array(words.transform(texts))
    models = {name: trained(name, args.data, train, X, args.keep) for name in ("xr-linear", "best")}
    asked = {name: (model, K) for name, model in models.items()}
    asked |= {type(member).__name__: (member, CANDIDATES) for member in models["best"].members}
    lone = [(Q[[i]], texts[i : i + 1]) for i in range(SINGLES)]
    found: dict[str, dict[str, Any]] = {name: {} for name in asked}
    for _ in range(args.repeat):
        for name, (model, k) in asked.items():
            model.set_params(threads=2)
            least(found[name], "batch", lambda m=model, n=k: m.predict(Q, n, texts=texts))
            each = found[name].setdefault("each", np.full(SINGLES, np.inf))
            for i, (row, text) in enumerate(lone):
                start = time.perf_counter()
                model.predict(row, k, texts=text)
                each[i] = min(each[i], time.perf_counter() - start)
    for name, line in found.items():
        each = 1e6 * line["each"]
        line = {
            "batch_clock_us": 1e6 * line["batch clock"] / len(texts),
            "batch_processor_us": 1e6 * line["batch processor"] / len(texts),
            "p50_us": float(np.percentile(each, 50)),
            "p99_us": float(np.percentile(each, 99)),
        }
        line = {kind: round(value, 2) for kind, value in line.items()}
        print(name, line, flush=True)
        command = f"python benchmarks/witnesses.py --data {args.data}"
        record(
            "witnesses", run=run, command=command, data=args.data, model=name, k=asked[name][1], threads=2,
            rows=X.shape[0], queries=len(texts), repeats=args.repeat, **line,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
