"""Training from a data folder within a memory limit, beside training in memory: `python benchmarks/outside.py`.

Rows are synthetic (`--rows`, `--labels`, `--features`, `--nonzeros`), written to a data folder block by block. Each
training is a process of its own, whose largest resident set is the system's own count; the models must be the same to
the byte. Appends a line to benchmarks/results/outside.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis.data import Writer

RESULTS = Path(__file__).parent / "results" / "outside.jsonl"


def block(rng: np.random.Generator, n: int, args: argparse.Namespace) -> tuple[csr_array, csr_array]:
    """Rows of the words of their labels, and words of everybody; both Zipf."""
    labels = np.minimum((args.labels ** rng.random((n, 3)) - 1).astype(np.int64), args.labels - 1)
    own = (labels[:, :, None] * 7919 + rng.integers(0, args.nonzeros, (n, 3, args.nonzeros // 4))) % args.features
    common = (args.features ** rng.random((n, args.nonzeros // 4)) - 1).astype(np.int64)
    ids = np.concatenate([own.reshape(n, -1), common], axis=1)
    rows = np.repeat(np.arange(n), ids.shape[1])
    X = csr_array((rng.random(ids.size, np.float32) + 0.1, (rows, ids.ravel())), shape=(n, args.features))
    X.sum_duplicates()
    Y = csr_array((np.ones(3 * n, np.float32), (np.repeat(np.arange(n), 3), labels.ravel())), shape=(n, args.labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return X.astype(np.float32), Y


def make(args: argparse.Namespace, folder: Path) -> None:
    rng = np.random.default_rng(0)
    with Writer(folder) as out:
        for first in range(0, args.rows, 50_000):
            X, Y = block(rng, min(50_000, args.rows - first), args)
            out.add_features(X)
            out.add_labels(Y)


def train(folder: str, to: str, limit: str) -> None:
    """In a process of its own."""
    data = xt.open(folder)
    if limit == "none":
        data = xt.Dataset(data.X.copy(), data.Y.copy())
    model = xt.LinearTree(seed=1, memory_limit=None if limit == "none" else limit)
    begun = time.monotonic()
    model.fit(data)
    spent = time.monotonic() - begun
    model.save(to)
    digest = hashlib.sha256()
    for file in sorted(Path(to).iterdir()):
        digest.update(file.read_bytes())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": round(spent, 2), "resident": most, "model": digest.hexdigest()[:16]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 1_000_000), ("labels", 20_000), ("features", 200_000), ("nonzeros", 200)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--limit", default="300MB")
    parser.add_argument("--skip-memory", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data.xt"
        begun = time.monotonic()
        make(args, folder)
        n_bytes = sum(file.stat().st_size for file in folder.iterdir())
        line = {**vars(args), "bytes": n_bytes, "writing": round(time.monotonic() - begun, 1)}
        for name in ("outside",) if args.skip_memory else ("outside", "memory"):
            limit = args.limit if name == "outside" else "none"
            call = [sys.executable, __file__, "--train", str(folder), f"{place}/{name}", limit]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stderr)
            line[name] = json.loads(done.stdout)
            print(name, line[name], flush=True)
        line |= {"machine": platform.processor() or platform.machine(), "version": xt.__version__}
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(json.dumps(line))


if __name__ == "__main__":
    if "--train" in sys.argv:
        train(*sys.argv[2:5])
    else:
        main()
