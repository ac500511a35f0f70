"""One commit against another, in one run: training, batches, single queries, load and import, taking turns.

    make bench-quick BEFORE=../before                     a clone of the other commit, built with `make build` in it
    python benchmarks/quick.py --before ../before [--data debian-depends yso-100k] [--turns 5]

Each turn is a process of its own, with the Python of that clone's .venv, on the same matrices; the least of all turns
counts, since other programs only ever add time. The ratios are after : before, so 1.03 is three percent slower; beside
them the least and the largest ratio of two turns that followed each other, and how many of the turns were faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIMES = ("import_ms", "train_s", "batch_s", "single_us", "load_ms", "overlap_train_s", "softmax_train_s", "vectorize_s")


def worker(folder: Path, threads: int) -> dict[str, Any]:
    """What one turn measures; uses only what both commits have."""
    began = time.perf_counter()
    import xtrellis as xt

    xt.LinearTree, xt.Tagger  # noqa: B018 - what is public loads on first use
    out: dict[str, Any] = {"import_ms": 1e3 * (time.perf_counter() - began)}
    import numpy as np
    import scipy.sparse as sp

    X, Y, x = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "x"))
    texts = json.loads((folder / "texts.json").read_text())

    def timed(name: str, work: Any) -> Any:
        began = time.perf_counter()
        found = work()
        out[name] = time.perf_counter() - began
        return found

    timed("vectorize_s", lambda: xt.Vectorizer(ngrams=2, threads=threads).fit_transform(texts))
    model = xt.preset("xr-linear", seed=0, threads=threads, storage="float32")
    timed("train_s", lambda: model.fit(X, Y))
    timed("overlap_train_s", lambda: xt.preset("overlap", seed=0, threads=threads, storage="float32").fit(X, Y))
    timed("softmax_train_s", lambda: xt.SoftmaxTree(seed=0, threads=threads, epochs=2).fit(X, Y))
    model.predict(x, k=10)
    out["batch_s"] = min(_seconds(lambda: model.predict(x, k=10)) for _ in range(5))
    rows = [x[[i]] for i in np.linspace(0, x.shape[0] - 1, 300).astype(int)]
    times = np.full(len(rows), np.inf)
    for _ in range(7):
        for i, row in enumerate(rows):
            times[i] = min(times[i], _seconds(lambda row=row: model.predict(row, k=10)))
    out["single_us"] = 1e6 * float(np.median(times))
    model.save(folder / "model")
    out["load_ms"] = 1e3 * min(_seconds(lambda: xt.load(folder / "model")) for _ in range(20))
    found = xt.load(folder / "model").predict(x, k=5)
    out["labels"] = int(found.labels.astype(np.int64).sum())
    return out


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def prepare(name: str, folder: Path) -> None:
    import scipy.sparse as sp

    import xtrellis as xt
    from xtrellis.data import shared

    train, test = shared(name), shared(name, "test")
    vectorizer = xt.Vectorizer(ngrams=1)
    sp.save_npz(folder / "X.npz", vectorizer.fit_transform(train.texts))
    sp.save_npz(folder / "Y.npz", train.Y)
    sp.save_npz(folder / "x.npz", vectorizer.transform(test.texts))
    (folder / "texts.json").write_text(json.dumps(train.texts[:20_000]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a clone of the other commit, built")
    parser.add_argument("--data", nargs="*", default=["debian-depends"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        print(json.dumps(worker(args.worker, args.threads)))
        return
    if args.before is None:
        raise SystemExit("--before must name a clone of the other commit, in which `make build` was run")
    from common import record

    pythons = {"before": args.before.resolve() / ".venv/bin/python", "after": Path(sys.executable)}
    for name in args.data:
        turns: dict[str, list[dict[str, float]]] = {side: [] for side in pythons}
        with tempfile.TemporaryDirectory() as work:
            prepare(name, Path(work))
            for _ in range(args.turns):
                for side, python in pythons.items():
                    command = [str(python), str(HERE / "quick.py"), "--worker", work, "--threads", str(args.threads)]
                    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=work)
                    found = json.loads(done.stdout.splitlines()[-1])
                    turns[side].append({t: found[t] for t in TIMES})
        best = {side: {t: min(turn[t] for turn in found) for t in TIMES} for side, found in turns.items()}
        spread: dict[str, list[float]] = {}
        print(f"{name:18}{'before':>10}{'after':>10}{'ratio':>8}{'from':>8}{'to':>8}{'faster':>8}")
        for t in TIMES:
            before, after = best["before"][t], best["after"][t]
            pairs = [b[t] / a[t] for a, b in zip(turns["before"], turns["after"], strict=True)]
            spread[t] = [round(min(pairs), 3), round(max(pairs), 3)]
            faster = f"{sum(r < 1 for r in pairs)}/{len(pairs)}"
            told = f"{before:10.3f}{after:10.3f}{after / before:8.3f}{min(pairs):8.3f}{max(pairs):8.3f}{faster:>8}"
            print(f"{t:18}{told}", flush=True)
        record(
            "quick", data=name, turns=args.turns, threads=args.threads, before=best["before"], after=best["after"],
            spread=spread,
        )  # fmt: skip


if __name__ == "__main__":
    main()
