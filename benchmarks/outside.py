"""Training from a data folder within a memory limit, beside training in memory: `python benchmarks/outside.py`.

Rows are synthetic (`--rows`, `--labels`, `--features`, `--nonzeros`): ascending columns that lie somewhat further right
for one label than for another, drawn as fast as a disk takes them, and written to a data folder block by block. Each
training is a process of its own, whose largest resident set is the system's own count (VmHWM, Python and libraries
included), beside the bytes that it has read, from the disk or what the system holds of it; the models must be the same
to the byte. With `--texts` the rows are texts of so many words (words and labels by Zipf's law), and a tagger reads and
learns them; with `--defaults` the tree is that of a `LinearTree` of which nothing was said. Appends a line to
benchmarks/results/outside.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import record
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis.data import Writer

BLOCK = 5_000  # rows


def block(rng: np.random.Generator, n: int, args: argparse.Namespace) -> tuple[csr_array, csr_array]:
    """Rows with two labels each."""
    labels = np.sort((args.labels ** rng.random((n, 2)) - 1).astype(np.int64), axis=1)
    most = 2 * args.features // (args.nonzeros + args.nonzeros // 5)
    ids = np.cumsum(rng.integers(1, max(2, most), (n, args.nonzeros), dtype=np.int32), axis=1)
    ids = ids + labels[:, :1] * 37 % (args.features // 20)
    ids = np.minimum(ids, args.features - args.nonzeros + np.arange(args.nonzeros)).astype(np.int32)
    values = rng.random(ids.size, np.float32) + np.float32(0.1)
    X = csr_array((values, ids.ravel(), np.arange(0, ids.size + 1, args.nonzeros)), shape=(n, args.features))
    kept = np.column_stack([np.ones(n, bool), labels[:, 0] != labels[:, 1]])
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    Y = csr_array((np.ones(offsets[-1], np.float32), labels[kept].astype(np.int32), offsets), shape=(n, args.labels))
    return X, Y


def make(args: argparse.Namespace, folder: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(args.features)], object)
    with Writer(folder) as out:
        for first in range(0, args.rows, BLOCK):
            if args.texts:
                n = min(BLOCK, args.rows - first)
                drawn = (args.features ** rng.random((n, args.texts)) - 1).astype(np.int64)
                labels = (args.labels ** rng.random(n) - 1).astype(np.int32)
                out.add_texts([" ".join(row) for row in words[(drawn + 37 * labels[:, None]) % args.features]])
                shape = (n, args.labels)
                out.add_labels(csr_array((np.ones(n, np.float32), labels, np.arange(n + 1)), shape=shape))
                continue
            X, Y = block(rng, min(BLOCK, args.rows - first), args)
            out.add_features(X)
            out.add_labels(Y)


def counted_reads() -> dict[str, int]:
    """Bytes that this process has read so far: all, and those that came from a disk."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {"read": int(told["rchar"]), "from_disk": int(told["read_bytes"])}


def train(folder: str, to: str, limit: str, epochs: str, defaults: str) -> None:
    """In a process of its own."""
    data = xt.open(folder)
    kept = None if limit == "none" else limit
    if kept is None:
        X, texts = None if data.X is None else data.X.copy(), None if data.texts is None else list(data.texts)
        data = xt.Dataset(X, data.Y.copy(), texts=texts)
    model: Any
    if defaults == "True":
        model = xt.LinearTree(seed=1, threads=2, memory_limit=kept)
    else:
        index = xt.BalancedTree(arity=8, max_leaf=8)
        model = xt.LinearTree(index=index, seed=1, threads=2, max_epochs=int(epochs), memory_limit=kept)
    if data.texts is not None:
        model = xt.Tagger(xt.Vectorizer(threads=2), model)
    begun, spent = time.monotonic(), time.process_time()
    before = counted_reads()
    model.fit(data)
    read = {name: count - before[name] for name, count in counted_reads().items()}
    seconds, spent = time.monotonic() - begun, time.process_time() - spent
    model.save(to)
    digest = hashlib.sha256()
    for file in sorted(Path(to).iterdir()):
        digest.update(file.read_bytes())
    lines = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    told = {"seconds": round(seconds, 2), "processor": round(spent, 2), "resident": most, **read}
    print(json.dumps({**told, "model": digest.hexdigest()[:16]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rows", 130_000), ("labels", 64), ("features", 50_000), ("nonzeros", 1000), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--limit", default="200MB")
    parser.add_argument("--texts", type=int, default=0, help="words a row, instead of features")
    parser.add_argument("--defaults", action="store_true")
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
            call = [sys.executable, __file__, "--train", str(folder), f"{place}/{name}", limit, str(args.epochs)]
            call.append(str(args.defaults))
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stderr)
            line[name] = json.loads(done.stdout)
            print(name, line[name], flush=True)
        if not args.skip_memory and line["outside"]["model"] != line["memory"]["model"]:
            sys.exit("the models differ")
        record("outside", seed=0, **line)
        print(json.dumps(line))


if __name__ == "__main__":
    if "--train" in sys.argv:
        train(*sys.argv[2:7])
    else:
        main()
