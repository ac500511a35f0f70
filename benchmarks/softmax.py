"""SoftmaxTree beside fastText's hierarchical softmax, in one run: the same words, dimension, epochs, rate and threads.

    make bench-peers                                     once: the peers' environment, .venv-peers
    python benchmarks/softmax.py [--data stackexchange yso-100k debian-depends] [--repeat 3]

Both get the words of the same texts, split once; each engine runs in a process of its own, engines take turns, and
every turn has another seed (fastText with several threads gives another model every time anyway). Training is timed
from the words to a model in memory: fastText reads a file of lines, ours vectorises a list of strings, builds the tree
and trains. `counts` is fastText's own setting: a row is the mean of its words' vectors, each as often as it occurs.
Of times the least is kept, of precision the median.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared

HERE = Path(__file__).parent
DATA = ["stackexchange", "yso-100k", "debian-depends"]
TIMES = ("train_seconds", "train_cpu_seconds", "predict_seconds", "peak_mb")
COUNTS = {"vectorizer": {"idf": False, "normalize": False}, "model": {"weighting": "weighted"}}
DEFAULT: dict[str, Any] = {"vectorizer": {}, "model": {}}


class Engine(NamedTuple):
    name: str
    script: str
    settings: dict[str, Any]
    ours: bool = True


def engines(tradeoff: float) -> list[Engine]:
    out = [Engine("fasttext hs", "run_fasttext.py", {}, ours=False)]
    out.append(Engine("huffman, counts", "run_softmax.py", {"tree": "huffman", **COUNTS}))
    asynchronous = {"tree": "huffman", **COUNTS, "asynchronous": True}
    out.append(Engine("huffman, counts, asynchronous", "run_softmax.py", asynchronous))
    out.append(Engine("huffman", "run_softmax.py", {"tree": "huffman", **DEFAULT}))
    interpolated = {"tree": "interpolated", "tradeoff": tradeoff}
    out.append(Engine("interpolated, counts", "run_softmax.py", {**interpolated, **COUNTS}))
    out.append(Engine("interpolated", "run_softmax.py", {**interpolated, **DEFAULT}))
    out.append(Engine("balanced", "run_softmax.py", {"tree": "balanced", **DEFAULT}))
    return out


def words(text: str) -> str:
    return " ".join(re.findall(r"\w\w+", text.lower()))


def prepare(name: str, folder: Path) -> tuple[dict[str, Any], Any]:
    known = shared(name)
    unseen = shared(name, "test", labels=known.label_names)
    train, test = [words(t) for t in known.texts], [words(t) for t in unseen.texts]
    Y = sp.csr_matrix(known.Y)
    with (folder / "train.txt").open("w", encoding="utf-8") as file:
        for i, text in enumerate(train):
            labels = " ".join(f"__label__{label}" for label in Y.indices[Y.indptr[i] : Y.indptr[i + 1]])
            if labels:
                file.write(f"{labels} {text}\n")
    (folder / "train.words").write_text("\n".join(train) + "\n", encoding="utf-8")
    (folder / "test.txt").write_text("\n".join(test) + "\n", encoding="utf-8")
    sp.save_npz(folder / "Y.trn.npz", Y)
    about = {"data": name, "train_rows": len(train), "test_rows": len(test), "labels": int(Y.shape[1])}
    return about, unseen.Y


def measure(engine: Engine, folder: Path, settings: dict[str, Any], Y: Any, args: argparse.Namespace) -> dict[str, Any]:
    python = sys.executable if engine.ours else args.peers_python
    command = [python, str(HERE / "engines" / engine.script), str(folder)]
    command += ["--settings", json.dumps({**settings, **engine.settings})]
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, check=False)
    if done.returncode:
        raise SystemExit(f"{engine.name}: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    labels = np.load(folder / "found.npy")
    scores = np.tile(np.arange(labels.shape[1], 0, -1, dtype=np.float32), (len(labels), 1))
    report = xt.evaluate(Y, xt.TopK(labels, scores, int(Y.shape[1])), metrics=["P@1", "P@3", "P@5"])
    return {**found, **{name: round(float(value), 2) for name, value in dict(report).items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--engines", nargs="*", help="only engines whose name contains one of these")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--ngrams", type=int, default=1)
    parser.add_argument("--tradeoff", type=float, default=1.0)
    parser.add_argument("--timeout", type=float, default=1800)
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    args = parser.parse_args()
    chosen = [e for e in engines(args.tradeoff) if not args.engines or any(part in e.name for part in args.engines)]
    shape = {name: getattr(args, name) for name in ("threads", "dim", "epochs", "rate", "ngrams", "tradeoff")}
    for name in args.data:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            about, Y = prepare(name, folder)
            print(f"\n{about} {shape}", flush=True)
            turns: dict[str, list[dict[str, Any]]] = {engine.name: [] for engine in chosen}
            for seed in range(args.repeat):
                for engine in chosen:
                    found = measure(engine, folder, {**shape, "seed": seed}, Y, args)
                    turns[engine.name].append(found)
                    print(f"{engine.name:32}", json.dumps(found), flush=True)
            for engine in chosen:
                mine = turns[engine.name]
                least = {m: round(min(t[m] for t in mine), 3) for m in TIMES}
                middle = {m: round(statistics.median(t[m] for t in mine), 2) for m in ("P@1", "P@3", "P@5")}
                extra = {"parts": mine[-1].get("parts"), "P@1 of each": [t["P@1"] for t in mine]}
                busy = round(os.getloadavg()[0], 1)
                record(
                    "softmax",
                    engine=engine.name,
                    repeats=len(mine),
                    busy=busy,
                    **about,
                    **shape,
                    **least,
                    **middle,
                    **extra,
                )
                print(f"{engine.name:32} {least} {middle}", flush=True)


if __name__ == "__main__":
    main()
