"""What neighbours cost: batches and single queries, how that grows with the rows, the index, adding and removing.

    python benchmarks/neighbors.py --data npm-deps                  # all training rows; queries are test rows
    python benchmarks/neighbors.py --data yso --rows 65000 130000 260000 520000
    python benchmarks/neighbors.py --data synthetic --rows 125000 250000 500000 1000000

Sizes take turns, the least of --repeat turns counts. Times are of the processor, over all threads: on a busy machine
they say more than the clock's, though caches and cores are shared with others all the same. Beside them the same rows
by SciPy: a sparse product with all training rows, and the best 50 of it.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared

QUERIES, SINGLES, BY_SCIPY = 1_000, 500, 50


def rows_of(name: str) -> tuple[Any, Any, Any]:
    """Training rows, their labels, and queries."""
    if name == "synthetic":
        world = {"n_labels": 100_000, "n_features": 100_000, "seed": 0}
        train = xt.synthetic(n_rows=1_000_000, **world)
        return train.X, train.Y, xt.synthetic(n_rows=QUERIES, first_row=1_000_000, **world).X
    train, test = shared(name), shared(name, "test")
    words = xt.Vectorizer().fit(train.texts)
    picked = np.random.default_rng(0).permutation(len(test.texts))[:QUERIES]
    return words.transform(train.texts), train.Y, words.transform([test.texts[i] for i in picked])


def timed(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def by_scipy(X: Any, Q: Any) -> None:
    for i in range(BY_SCIPY):
        scores = np.asarray((X @ Q[[i]].T).todense()).ravel()
        best = np.argpartition(-scores, 50)[:50]
        best[np.argsort(-scores[best], kind="stable")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="npm-deps")
    parser.add_argument("--rows", type=int, nargs="+", help="training rows, drawn at random; all if not given")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    sizes = "".join(f" {n}" for n in args.rows or [])
    command = f"python benchmarks/neighbors.py --data {args.data}" + (f" --rows{sizes}" if sizes else "")
    X, Y, Q = rows_of(args.data)
    X, Y, Q = (sp.csr_array(matrix) for matrix in (X, Y, Q))
    order = np.random.default_rng(1).permutation(X.shape[0])
    found: list[dict[str, Any]] = []
    models, matrices = [], []
    lone = [Q[[i]] for i in range(SINGLES)]
    for n in args.rows or [X.shape[0]]:
        some = np.sort(order[:n])
        model = xt.Neighbors(threads=2)
        seconds = timed(lambda m=model, rows=some: m.fit(X[rows], Y[rows]))
        ratio = model.index.n_bytes / (8 * X[some].nnz)
        found.append({"rows": n, "features_a_row": X[some].nnz / n, "fit_seconds": seconds, "index_ratio": ratio})
        models.append(model)
        matrices.append(X[some])
    for _ in range(args.repeat):
        for line, model, rows in zip(found, models, matrices, strict=True):
            each = line.setdefault("each", np.full(SINGLES, np.inf))
            for i, row in enumerate(lone):
                each[i] = min(each[i], timed(lambda x=row, m=model: m.predict(x, 10)))
            batch = timed(lambda m=model: m.predict(Q, 10)) / Q.shape[0]
            line["batch_us"] = min(line.get("batch_us", np.inf), 1e6 * batch)
            line["scipy_us"] = min(line.get("scipy_us", np.inf), 1e6 * timed(lambda r=rows: by_scipy(r, Q)) / BY_SCIPY)
            line["add_ms"] = min(line.get("add_ms", np.inf), 1e3 * timed(lambda m=model: m.add(X[:1], Y[:1])))
            last = model.index.n_rows - 1
            removing = 1e3 * timed(lambda m=model, row=last: m.remove([row]))
            line["remove_ms"] = min(line.get("remove_ms", np.inf), removing)
    for line, model in zip(found, models, strict=True):
        each = 1e6 * line.pop("each")
        work = np.zeros((Q.shape[0], 2), np.int64)
        model.index.nearest(model._rows(Q, Q.shape[1]), 50, work=work, threads=1)
        line |= {"p50_us": float(np.percentile(each, 50)), "p99_us": float(np.percentile(each, 99))}
        line |= {"postings": float(work[:, 0].mean()), "compared": float(work[:, 1].mean())}
        line = {name: round(value, 3) for name, value in line.items()}
        print(line, flush=True)
        record("neighbors", run=run, command=command, data=args.data, neighbors=50, repeats=args.repeat, **line)


if __name__ == "__main__":
    sys.exit(main())
