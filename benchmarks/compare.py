"""Ours beside PECOS, omikuji and napkinXC, in one run: the same matrix, two threads, each engine in its own process.

    make bench-peers                                     once: the peers' environment, .venv-peers
    python benchmarks/compare.py [--data debian-depends yso-100k npm-deps] [--synthetic 1000000] [--repeat 3]

Texts are vectorised once (Vectorizer(ngrams=1)) and given to every engine as the same csr matrix (omikuji reads text: a
file of the same numbers; reading it is not counted). Engines take turns, and every turn trains anew with another seed
(omikuji has none): a tree's luck moves P@1 by some tenths, so precision is the median of the turns. Timed: training
from matrices in memory to a model in memory (label features, clustering, weights); loading; prediction of a batch of
test rows and of single rows through the engine's Python interface, beam 10, 10 labels a row. A turn loads and predicts
--rounds times and keeps the least, of single rows the least of each row; of all turns, the least and the median are
kept. Results go to results/compare.jsonl; report.py makes docs/performance.md from them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared

HERE = Path(__file__).parent
DATA = ["debian-depends", "yso-100k", "npm-deps"]
COLUMNS = {
    "train_seconds": ("train s", 1), "peak_mb": ("peak MB", 0), "model_bytes": ("disk MB", 1),
    "load_ms": ("load ms", 2), "batch_ms": ("batch ms", 4), "p50_us": ("p50 µs", 1), "p99_us": ("p99 µs", 1),
    "P@1": ("P@1", 2), "P@3": ("P@3", 2), "P@5": ("P@5", 2),
}  # fmt: skip
PRECISION = {"P@1", "P@3", "P@5"}


class Engine(NamedTuple):
    name: str
    script: str
    config: str
    ours: bool = False


def engines() -> list[Engine]:
    wanted = [name for name in ("xr-linear", "parabel", "bonsai") if name in xt.presets()]
    return [
        *(Engine(f"xtrellis {name}", "run_xtrellis.py", name, ours=True) for name in wanted),
        Engine("pecos", "run_pecos.py", "default"),
        Engine("omikuji", "run_omikuji.py", "default"),
        Engine("omikuji bonsai", "run_omikuji.py", "bonsai"),
        Engine("napkinxc", "run_napkinxc.py", "default"),
    ]


def prepare(name: str, folder: Path, n_synthetic: int) -> dict[str, Any]:
    """The four matrices, and the training rows as text; says what they are."""
    if name == "synthetic":
        world: dict[str, Any] = {"n_labels": n_synthetic, "n_features": max(1000, n_synthetic // 2), "seed": 0}
        train = xt.synthetic(n_rows=n_synthetic, **world)
        test = xt.synthetic(n_rows=20_000, first_row=n_synthetic, **world)
        X, x, Y, y = train.X, test.X, train.Y, test.Y
    else:
        known = shared(name)
        unseen = shared(name, "test", labels=known.label_names)
        vectorizer = xt.Vectorizer(ngrams=1)
        X, Y = vectorizer.fit_transform(known.texts), known.Y
        x, y = vectorizer.transform(unseen.texts), unseen.Y
    for file, matrix in (("X.trn", X), ("Y.trn", Y), ("X.tst", x), ("Y.tst", y)):
        sp.save_npz(folder / f"{file}.npz", sp.csr_matrix(matrix, dtype=np.float32), compressed=False)
    kept = np.flatnonzero(np.diff(X.indptr) > 0)  # omikuji refuses rows without features
    xt.write(xt.Dataset(X=X[kept], Y=Y[kept]), folder / "train.txt", format="xmc")
    return {
        "data": name if name != "synthetic" else f"synthetic {n_synthetic:,}", "train_rows": X.shape[0],
        "test_rows": x.shape[0], "features": X.shape[1], "labels": Y.shape[1], "features_a_row": X.nnz / X.shape[0],
        "labels_a_row": Y.nnz / Y.shape[0], "rows_without_features": int(X.shape[0] - len(kept)),
    }  # fmt: skip


def measure(
    engine: Engine, folder: Path, args: argparse.Namespace, seed: int, more: Sequence[str] = ()
) -> dict[str, Any]:
    """One turn: train in one process, predict in another; an engine that fails says so in `failed`."""
    model = folder / "model"
    shutil.rmtree(model, ignore_errors=True)
    python = sys.executable if engine.ours else args.peers_python
    found: dict[str, Any] = {"busy": os.getloadavg()[0]}
    for phase in ("train", "predict"):
        command = [python, str(HERE / "engines" / engine.script), phase, str(folder), str(model)]
        command += ["--config", engine.config, "--threads", str(args.threads), "--rounds", str(args.rounds)]
        command += ["--seed", str(seed), *more]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"failed": f"{phase}: more than {args.timeout} s"}
        if done.returncode or not done.stdout.strip():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return {"failed": f"{phase}: exit code {done.returncode}: {last[:200]}"}
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def show(engine: str, best: dict[str, Any]) -> None:
    cells = [f"{best[c] / (1e6 if c == 'model_bytes' else 1):>10.{digits}f}" for c, (_, digits) in COLUMNS.items()]
    print(f"{engine:20}{''.join(cells)}", flush=True)


def summarise(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The best and the median of each number over the turns; everything else from the last turn."""
    out = {name: round(value, 4) if isinstance(value, float) else value for name, value in turns[-1].items()}
    out["parts"] = {name: round(value, 4) for name, value in out["parts"].items()}
    out["median"] = {name: round(statistics.median(turn[name] for turn in turns), 4) for name in COLUMNS}
    for name in COLUMNS:  # precision is no race: there the median is the honest number
        out[name] = out["median"][name] if name in PRECISION else round(min(turn[name] for turn in turns), 4)
    out["busy"] = round(max(turn["busy"] for turn in turns), 1)  # load average before the turn, ours included
    out["turns"] = {name: [round(turn[name], 4) for turn in turns] for name in ("train_seconds", *sorted(PRECISION))}
    return out


def run_one(name: str, chosen: list[Engine], args: argparse.Namespace, run: str) -> None:
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        folder = Path(work)
        about = prepare(name, folder, args.synthetic or 0)
        print("\n" + ", ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in about.items()))
        print(f"{'':20}" + "".join(f"{title:>10}" for title, _ in COLUMNS.values()), flush=True)
        turns: dict[Engine, list[dict[str, Any]]] = {engine: [] for engine in chosen}
        failed: dict[Engine, str] = {}
        for turn in range(args.repeat):
            for engine in chosen:
                if engine in failed:
                    continue
                found = measure(engine, folder, args, turn)
                if "failed" in found:
                    failed[engine] = found["failed"]
                    print(f"{engine.name:20}failed: {found['failed']}", flush=True)
                else:
                    turns[engine].append(found)
                    show(engine.name, found)
        if args.repeat > 1:
            print(f"best of {args.repeat}:")
        common = {"run": run, "command": command_line(), "threads": args.threads, "beam": 10, "k": 10}
        for engine in chosen:
            if engine in failed:
                record("compare", **common, engine=engine.name, failed=failed[engine], **about)
                continue
            best = summarise(turns[engine])
            if args.repeat > 1:
                show(engine.name, best)
            best["engine_version"] = best.pop("version")
            record("compare", **common, engine=engine.name, repeats=len(turns[engine]), **about, **best)


def command_line() -> str:
    """How this run was started, without where things lie on this machine."""
    words, skip = ["python", "benchmarks/compare.py"], False
    for word in sys.argv[1:]:
        if skip or word in ("--peers-python", "--folder"):
            skip = not skip
            continue
        words.append(word)
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=None, help=f"sets of the shared data; {' '.join(DATA)}")
    parser.add_argument(
        "--synthetic", type=int, metavar="LABELS", help="also a synthetic set of as many labels and rows"
    )
    parser.add_argument("--engines", nargs="*", help="only engines whose name contains one of these")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3, help="how often a turn loads and predicts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one phase of one engine")
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    parser.add_argument("--folder", type=Path, help="where the matrices and models are put meanwhile")
    args = parser.parse_args()
    names = {e.name for e in engines()}  # a whole name means that engine only: "omikuji" is not "omikuji bonsai"
    chosen = [
        e
        for e in engines()
        if not args.engines or any(p == e.name if p in names else p in e.name for p in args.engines)
    ]
    if any(not e.ours for e in chosen) and not Path(args.peers_python).exists():
        raise SystemExit(f"no {args.peers_python}: make it with `make bench-peers`, or name one with --peers-python")
    names = args.data if args.data is not None else ([] if args.synthetic else DATA)
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    for name in [*names, *(["synthetic"] if args.synthetic else [])]:
        run_one(name, chosen, args, run)


if __name__ == "__main__":
    main()
