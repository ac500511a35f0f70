"""What a row costs in each kernel: instructions, cache misses, wrong guesses of branches, and bytes against bandwidth.

    python benchmarks/counts.py [--data debian-depends yso-100k] [--turns 3]        needs valgrind and gcc

Two processes do the same work on one thread: one is timed (processor time, the least of --turns), one runs under
callgrind, which counts exactly, on a busy machine as on a quiet one, with caches of this machine's sizes. It knows no
AVX-512: counted are the AVX2 kernels. Counting is on only inside of the kernels' calls. Training counts the first
--rows training rows, queries are test rows asked of a model of all rows. Bytes are 64 for each line that a cache lacks;
beside them stands what NumPy reaches in arrays that fit no first-level cache, and no cache at all. Results go to
results/counts.jsonl; kernels_report.py shows them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis._native import cluster, labels, linear, search
from xtrellis.data import shared

HERE = Path(__file__).parent
TRAINING: dict[str, tuple[Any, str]] = {  # kernel -> (module, function)
    "label vectors": (labels, "pifa"), "clustering": (cluster, "split_balanced"), "solver": (linear, "train"),
    "packing": (search, "pack"),
}  # fmt: skip
LINE = 64
Work = tuple[str, Callable[["Meter"], int]]  # kernel, what does it; gives how many rows it was


class Meter:
    """Time of the processor that is spent in what it wraps; under callgrind, counting is on there and nowhere else."""

    def __init__(self, library: str) -> None:
        self.callgrind, self.seconds = ctypes.CDLL(library), 0.0

    def inside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            self.callgrind.toggle()
            began = time.process_time_ns()
            found = function(*args, **how)
            self.seconds += (time.process_time_ns() - began) / 1e9
            self.callgrind.toggle()
            return found

        return call


def works(folder: Path, n_train: int) -> list[Work]:
    """Every kernel's work on what `prepare` has put down."""
    X, Y, x = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "x"))
    texts = json.loads((folder / "texts.json").read_text())
    model = xt.load(folder / "model").set_params(threads=1)
    tree = model.trees[0]
    lone = [model._rows(x[[i]], tree.n_features) for i in range(min(300, x.shape[0]))]
    answers, scores, anything = np.empty((1, 10), np.int32), np.empty((1, 10), np.float32), np.zeros(0, np.uint8)
    model.predict(x[:10], k=10)

    def batch(meter: Meter) -> int:
        meter.inside(model.predict)(x, k=10)
        return int(x.shape[0])

    def single(meter: Meter) -> int:
        def all_of_them() -> None:
            for row in lone:
                search.single(tree.native, row.indices, row.data, 10, anything, answers, scores)

        meter.inside(all_of_them)()
        return len(lone)

    def vectorise(meter: Meter) -> int:
        meter.inside(xt.Vectorizer(ngrams=2, threads=1).fit_transform)(texts)
        return len(texts)

    def training(module: Any, function: str) -> Callable[[Meter], int]:
        def work(meter: Meter) -> int:
            plain = getattr(module, function)
            setattr(module, function, meter.inside(plain))
            try:
                xt.preset("xr-linear", seed=0, threads=1).fit(X[:n_train], Y[:n_train])
            finally:
                setattr(module, function, plain)
            return n_train

        return work

    trained: list[Work] = [(kernel, training(*where)) for kernel, where in TRAINING.items()]
    return [("batch search", batch), ("single search", single), ("vectoriser", vectorise), *trained]


def prepare(name: str, folder: Path, n_test: int, n_texts: int) -> None:
    train, test = shared(name), shared(name, "test")
    vectorizer = xt.Vectorizer(ngrams=1)
    X, x = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    for file, matrix in (("X", X), ("Y", train.Y), ("x", x[:n_test])):
        sp.save_npz(folder / f"{file}.npz", sp.csr_matrix(matrix))
    (folder / "texts.json").write_text(json.dumps(train.texts[:n_texts]))
    xt.preset("xr-linear", seed=0).fit(X, train.Y).save(folder / "model")


def inside(folder: Path, library: str, n_train: int, turns: int) -> dict[str, dict[str, float]]:
    """Runs in a process of its own: kernel -> rows and seconds a row; one dump a kernel under callgrind."""
    out = {}
    for kernel, work in works(folder, n_train):
        least, rows = np.inf, 1
        for _ in range(turns):
            meter = Meter(library)
            meter.callgrind.start()
            rows = work(meter)
            meter.callgrind.dump(kernel.encode())
            meter.callgrind.stop()
            least = min(least, meter.seconds)
        out[kernel] = {"rows": rows, "us": 1e6 * least / rows}
    return out


def counts(text: str) -> tuple[str, dict[str, int]]:
    """Of one file of callgrind: what the dump was called, and its sums by event."""
    name, events, sums = "", [], []
    for line in text.splitlines():
        if line.startswith("desc: Trigger: Client Request: "):
            name = line.removeprefix("desc: Trigger: Client Request: ")
        elif line.startswith("events: "):
            events = line.split()[1:]
        elif line.startswith("totals: "):
            sums = [int(word) for word in line.split()[1:]]
    return name, dict(zip(events, [*sums, *[0] * (len(events) - len(sums))], strict=True))


def summary(found: dict[str, int], rows: int) -> dict[str, float]:
    """A row's share of callgrind's sums."""
    events = {
        "instructions": ("Ir",), "l1_misses": ("D1mr", "D1mw"), "last_misses": ("DLmr", "DLmw"),
        "branches": ("Bc", "Bi"), "branch_misses": ("Bcm", "Bim"),
    }  # fmt: skip
    return {key: round(sum(found.get(e, 0) for e in parts) / rows, 2) for key, parts in events.items()}


def bandwidth(n_bytes: int) -> float:
    """Bytes a second that NumPy reads and writes again, in place, in an array of this size."""
    array, best = np.zeros(n_bytes // 4, np.float32), np.inf
    for _ in range(8):
        began = time.process_time_ns()
        for _ in range(max(1, (1 << 26) // n_bytes)):
            np.add(array, 1, out=array)
        best = min(best, (time.process_time_ns() - began) / max(1, (1 << 26) // n_bytes))
    return 2e9 * n_bytes / best


def run(name: str, args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as work:
        folder, library = Path(work), f"{work}/counted.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, str(HERE / "counted.c")], check=True)
        prepare(name, folder, args.queries, args.rows)
        again = [sys.executable, str(HERE / "counts.py"), "--inside", work, "--rows", str(args.rows)]
        caught = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--instr-atstart=no"]
        caught += ["--collect-atstart=no", f"--callgrind-out-file={work}/callgrind.out"]
        timed = _answer([*again, "--turns", str(args.turns)])
        _answer([*caught, *again, "--turns", "1"])
        dumps = [file.read_text() for file in sorted(folder.glob("callgrind.out*"))]
        counted = dict(counts(text) for text in dumps)
        caches = sorted({line for text in dumps for line in text.splitlines() if " cache: " in line})
    near, far = bandwidth(1 << 19), bandwidth(1 << 28)
    for kernel, found in timed.items():
        line = {"us_a_row": round(found["us"], 3), **summary(counted[kernel], found["rows"])}
        print(f"{name:16} {kernel:14} {line}", flush=True)
        record(
            "counts", data=name, kernel=kernel, preset="xr-linear", rows=found["rows"], turns=args.turns, **line,
            near_gb=round(near / 1e9, 1), far_gb=round(far / 1e9, 1), caches=caches,
        )  # fmt: skip


def _answer(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["debian-depends", "yso-100k"])
    parser.add_argument("--rows", type=int, default=5_000, help="training rows, and texts")
    parser.add_argument("--queries", type=int, default=4_000, help="test rows in the batch")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        print(json.dumps(inside(args.inside, f"{args.inside}/counted.so", args.rows, args.turns)))
        return
    for name in args.data:
        run(name, args)


if __name__ == "__main__":
    main()
