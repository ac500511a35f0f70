"""Making synthetic data: `python benchmarks/synthetic.py`. Seconds, rows a second and size in memory."""

from __future__ import annotations

import time

from common import record

import xtrellis as xt

SIZES = [(100_000, 10_000), (1_000_000, 1_000_000), (100_000, 10_000_000)]


def main() -> None:
    print("      rows       labels   seconds     rows/s  features/row  labels/row     MB")
    for n_rows, n_labels in SIZES:
        start = time.perf_counter()
        data = xt.synthetic(n_rows=n_rows, n_labels=n_labels, n_features=500_000, seed=0)
        seconds = time.perf_counter() - start
        megabytes = sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in (data.X, data.Y)) / 1e6
        per_row = data.X.nnz / n_rows, data.Y.nnz / n_rows
        print(
            f"{n_rows:10,} {n_labels:12,} {seconds:9.2f} {n_rows / seconds:10,.0f} {per_row[0]:13.1f}"
            f" {per_row[1]:11.2f} {megabytes:6.0f}"
        )
        record("synthetic", rows=n_rows, labels=n_labels, features=500_000, seed=0, seconds=seconds, nnz=data.X.nnz)


if __name__ == "__main__":
    main()
