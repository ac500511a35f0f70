"""How cost grows with threads, rows, labels, features and non-zeros a row: ours beside PECOS and omikuji, in one run.

    make bench-peers                                     once: the peers' environment, .venv-peers
    python benchmarks/growth.py [--turns 1] [--minutes 35] [--sweeps rows labels features nonzeros threads]

Data is `xt.synthetic` (three labels a row, frequencies ∝ rank^-0.5, so that most labels have rows). From one middle
size each sweep changes one number alone over two decades. Of every size all engines take their turn one after another,
each phase in a process of its own: what else the machine does hits them alike. Sizes come from the outside in: a
run that `--minutes` ends still spans the decades. Kept are the least of the turns: processor and clock seconds of
training, the same a row of a batch, microseconds of a single query by the clock (the least of each row, then the
median), memory that training added at most. One thread, but for the sweep of threads. Results go to
results/growth.jsonl; growth_report.py fits exponents and draws the curves.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import record
from compare import Engine, engines, measure

import xtrellis as xt

HERE = Path(__file__).parent
ENGINES = ("xtrellis xr-linear", "pecos", "xtrellis parabel", "omikuji")
TEST_ROWS, SINGLES = 4_000, 400
KEPT = ("train_seconds", "train_cpu_seconds", "batch_ms", "batch_cpu_ms", "p50_us", "p99_us", "added_mb", "model_bytes")


class Size(NamedTuple):
    """What one point of a curve is; `nonzeros` are draws, of which repeats leave fewer."""

    rows: int = 10_000
    labels: int = 2_000
    features: int = 20_000
    nonzeros: int = 30
    threads: int = 1


MIDDLE = Size()
SWEEPS: dict[str, list[int]] = {
    "threads": [1, 2],
    "rows": [1_000, 100_000, 3_000, 30_000],
    "labels": [200, 20_000, 600, 6_000],
    "features": [2_000, 200_000, 6_000, 60_000],
    "nonzeros": [3, 500, 10, 100],
}


def sizes(sweeps: list[str]) -> list[Size]:
    """The middle, then the sweeps' sizes by turns, each once."""
    lists = [[MIDDLE._replace(**{name: value}) for value in SWEEPS[name]] for name in sweeps]
    turns = [found[i] for i in range(max(map(len, lists))) for found in lists if i < len(found)]
    return list(dict.fromkeys([MIDDLE, *turns]))


def prepare(size: Size, folder: Path) -> dict[str, Any]:
    """The four matrices and the training rows as text; says what they hold."""
    world: dict[str, Any] = {
        "n_labels": size.labels, "n_features": size.features, "features_per_row": size.nonzeros, "zipf": 0.5, "seed": 0,
    }  # fmt: skip
    train = xt.synthetic(n_rows=size.rows, **world)
    test = xt.synthetic(n_rows=TEST_ROWS, first_row=size.rows, **world)
    named = {"X.trn": train.X, "Y.trn": train.Y, "X.tst": test.X, "Y.tst": test.Y}
    for file, matrix in named.items():
        sp.save_npz(folder / f"{file}.npz", sp.csr_matrix(matrix, dtype=np.float32), compressed=False)
    xt.write(train, folder / "train.txt", format="xmc")
    return {
        "labels_with_rows": int(np.count_nonzero(np.diff(sp.csc_matrix(train.Y).indptr))),
        "nonzeros_a_row": round(train.X.nnz / size.rows, 2), "labels_a_row": round(train.Y.nnz / size.rows, 2),
    }  # fmt: skip


def turns_of(size: Size, chosen: list[Engine], args: argparse.Namespace) -> dict[str, Any]:
    """engine -> the least of its turns, or how it failed."""
    best: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        about = prepare(size, Path(work))
        args.threads = size.threads
        for turn in range(args.turns):
            for engine in chosen:
                found = measure(engine, Path(work), args, turn, ["--singles", str(SINGLES)])
                if "failed" in found:
                    best[engine.name] = {**about, "failed": found["failed"]}
                    continue
                found["added_mb"] = found["peak_mb"] - found["before_mb"]
                before = best.get(engine.name, found)
                least = {name: round(min(before[name], found[name]), 5) for name in KEPT}
                busy = round(max(before["busy"], found["busy"]), 1)
                best[engine.name] = {**about, **least, "busy": busy, "P@1": found["P@1"], "version": found["version"]}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", nargs="+", choices=list(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="how often a turn loads and predicts")
    parser.add_argument("--minutes", type=float, default=35, help="no further size is begun after as many")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one phase of one engine")
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    parser.add_argument("--folder", type=Path, help="where the matrices and models are put meanwhile")
    args = parser.parse_args()
    if not Path(args.peers_python).exists():
        raise SystemExit(f"no {args.peers_python}: make it with `make bench-peers`, or name one with --peers-python")
    chosen = sorted((e for e in engines() if e.name in ENGINES), key=lambda e: ENGINES.index(e.name))
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    began = time.monotonic()
    wanted = sizes(args.sweeps)
    for done, size in enumerate(wanted):
        if time.monotonic() - began > 60 * args.minutes:
            print(f"{args.minutes:g} minutes are over: {done} of {len(wanted)} sizes were measured", file=sys.stderr)
            break
        print(f"{size}, load {os.getloadavg()[0]:.1f}", flush=True)
        for engine, found in turns_of(size, chosen, args).items():
            print(f"  {engine:20}{found}", flush=True)
            record("growth", run=run, turns=args.turns, engine=engine, **size._asdict(), **found)


if __name__ == "__main__":
    main()
