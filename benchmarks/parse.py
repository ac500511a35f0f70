"""How fast XMC text is read: xt.read on one and two threads, beside scikit-learn's load_svmlight_file.

    python benchmarks/parse.py [--megabytes 150] [--repeats 5] [--real delicious]

The synthetic file looks like a tf-idf set (six decimals a value). Every engine reads a file that is in the page cache;
scikit-learn gets a shorter slice of the same rows (it is slow, and its speed does not depend on the length). Megabytes
are those of the text. CPU seconds count all threads of the process, so they hold even on a machine that is not idle.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import record
from sklearn.datasets import load_svmlight_file

import xtrellis as xt
from xtrellis.data import find_data_root

SLICE = 20e6


def synthetic(path: Path, megabytes: float, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    per_row, labels_per_row, d, L = 80, 5, 100_000, 50_000
    n = int(megabytes * 1e6 / (per_row * 15 + labels_per_row * 6))
    X_indptr = np.concatenate([[0], np.cumsum(rng.poisson(per_row, n))])
    Y_indptr = np.concatenate([[0], np.cumsum(rng.poisson(labels_per_row, n))])
    values = np.round(rng.beta(1, 12, X_indptr[-1]), 6).astype(np.float32)
    X = sp.csr_array((values, (d * rng.random(len(values)) ** 2).astype(np.int64), X_indptr), shape=(n, d))
    X.sum_duplicates()
    Y = sp.csr_array((np.ones(Y_indptr[-1]), rng.integers(0, L, Y_indptr[-1]), Y_indptr), shape=(n, L))
    xt.write(xt.Dataset(X, Y), path)


def first_rows(source: Path, target: Path, size: float) -> int:
    """Rows of an XMC file without its header: what scikit-learn reads. Rows without labels or features are left out,
    since it would drop or misread them."""
    with source.open("rb") as lines, target.open("wb") as out:
        next(lines)
        while out.tell() < size and (line := lines.readline()):
            if line[:1].isdigit() and b":" in line:
                out.write(line)
    return target.stat().st_size


def measure(engines: dict[str, tuple[float, Callable[[], object]]], repeats: int) -> dict[str, dict[str, float]]:
    """Each engine in turn, `repeats` times over; megabytes per second, best and median, and per CPU second."""
    walls: dict[str, list[float]] = {name: [] for name in engines}
    cpus: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(repeats):
        for name, (_, run) in engines.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    return {
        name: {
            "megabytes": round(size / 1e6, 1),
            "mb_per_s": round(size / 1e6 / min(walls[name]), 1),
            "mb_per_s_median": round(size / 1e6 / statistics.median(walls[name]), 1),
            "mb_per_cpu_s": round(size / 1e6 / min(cpus[name]), 1),
        }
        for name, (size, _) in engines.items()
    }


def compare(title: str, path: Path, folder: Path, n_features: int, repeats: int) -> None:
    rows = folder / "slice.svm"
    slice_size = first_rows(path, rows, SLICE)
    size = path.stat().st_size
    engines: dict[str, tuple[float, Callable[[], object]]] = {
        "xtrellis, 1 thread": (size, lambda: xt.read(path, threads=1)),
        "xtrellis, 2 threads": (size, lambda: xt.read(path, threads=2)),
        "scikit-learn": (
            slice_size,
            lambda: load_svmlight_file(
                str(rows), n_features=n_features, multilabel=True, zero_based=True, dtype=np.float32
            ),
        ),
    }
    results = measure(engines, repeats)
    slow = results["scikit-learn"]
    print(f"\n{title}")
    print(f"{'':22}{'MB':>8}{'MB/s':>9}{'median':>9}{'MB/CPU s':>10}{'× sklearn':>11}")
    for name, r in results.items():
        times = r["mb_per_s"] / slow["mb_per_s"]
        print(
            f"{name:22}{r['megabytes']:8.1f}{r['mb_per_s']:9.1f}{r['mb_per_s_median']:9.1f}"
            f"{r['mb_per_cpu_s']:10.1f}{times:11.1f}"
        )
        record("parse", data=title, engine=name, repeats=repeats, seed=0, times_sklearn=round(times, 1), **r)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=150)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--real", default="delicious", help="an XMC text set of the shared data; '' for none")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "synthetic.txt"
        synthetic(path, args.megabytes)
        compare("synthetic tf-idf", path, folder, 100_000, args.repeats)
        root = find_data_root()
        if args.real and root is not None:
            real = xt.data.shared(args.real, "train")
            whole = folder / "real" / "train.txt"
            xt.write(real, whole)
            compare(args.real, whole, folder, real.n_features, args.repeats)


if __name__ == "__main__":
    main()
