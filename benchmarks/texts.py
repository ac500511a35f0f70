"""From strings to names: a whole `Tagger` beside scikit-learn's tf-idf and omikuji, as Annif runs them, in one run.

    make bench-peers                                    once: the peers' environment, .venv-peers
    python benchmarks/texts.py [DATA …] [--turns 2] [--rounds 3]

Engines take turns, each turn in a process of its own that trains on the training part (pairs of words that two texts
have), then tags up to 10,000 test texts at once and 500 one by one, ten names each. Bonsai has three trees in omikuji
and in `bonsai*3`. The least of all turns counts. Results go to results/texts.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import record

import xtrellis as xt
from xtrellis.data import shared

HERE = Path(__file__).parent
DATA = ["yso-100k", "stackexchange"]
ENGINES = ["xr-linear", "bonsai*3", "omikuji"]
TIMES = ("train_seconds", "batch_us", "p50_us", "p99_us")


def turn(engine: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    python = args.peers_python if engine == "omikuji" else sys.executable
    command = [python, HERE / "engines" / "run_texts.py", engine, folder, "--rounds", args.rounds]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode:
        raise SystemExit(f"{engine}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        train = shared(name)
        for part, rows in (("train", train), ("test", shared(name, "test", labels=train.label_names))):
            xt.write(rows, folder / f"{part}.jsonl")
        busy, best = os.getloadavg()[0], dict[str, dict[str, Any]]()
        for _ in range(args.turns):
            for engine in ENGINES:
                found = turn(engine, folder, args)
                before = best.get(engine, found)
                best[engine] = {**found, **{field: min(before[field], found[field]) for field in TIMES}}
                print(name, engine, found, flush=True)
    for engine, found in best.items():
        record("texts", data=name, engine=engine, turns=args.turns, busy=round(busy, 1), **found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    args = parser.parse_args()
    if not Path(args.peers_python).exists():
        raise SystemExit(f"no {args.peers_python}: make it with `make bench-peers`, or name one with --peers-python")
    for name in args.data:
        measure(name, args)


if __name__ == "__main__":
    main()
