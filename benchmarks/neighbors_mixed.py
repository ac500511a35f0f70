"""Neighbours where values are below 0: sparse words, dense signed vectors, both; one by one and laid out.

    python benchmarks/neighbors_mixed.py [--data stackexchange] [--rows 20000] [--dim 128] [--repeat 5]

The vectors are random projections of the words (as cosines go, a weak encoder). Processor time of one thread a query,
in a batch and one after another; the least of --repeat turns, which alternate. "one by one" is how rows with values
below 0 were compared before (`native/neighbors/signed.hpp`). Lines go to results/neighbors_mixed.jsonl.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared
from xtrellis.neighbors import index

QUERIES = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="stackexchange")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    data = shared(args.data)
    words = xt.Vectorizer().fit_transform(data.texts)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(words.shape[0])[: args.rows + QUERIES]
    words = sp.csr_array(words)[chosen]
    vectors = words @ rng.normal(size=(words.shape[1], args.dim)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    dense = sp.csr_array(vectors, dtype=np.float32)
    kinds = {"words": words, "vectors": dense, "both": sp.csr_array(sp.hstack([words, dense], format="csr"))}
    times: dict[tuple[str, str], float] = {}
    answers: dict[str, bytes] = {}
    for kind, X in kinds.items():
        model = xt.Neighbors(threads=1).fit(X[: args.rows], data.Y[chosen[: args.rows]])
        Q = X[args.rows :]
        for _ in range(args.repeat):
            for way, few in (("one by one", 2**31), ("laid out", 0)):
                if kind == "words" and way == "one by one":
                    continue  # they have bounds
                index.FEW = few
                model.index._table = None
                model.nearest(Q, 50)  # what is laid out is kept
                found: Any = None
                for how in ("batch", "single"):
                    start = time.process_time()
                    if how == "batch":
                        found = model.nearest(Q, 50)
                    else:
                        for i in range(QUERIES):
                            model.nearest(Q[[i]], 50)
                    spent = 1e6 * (time.process_time() - start) / QUERIES
                    times[kind, f"{way}, {how}"] = min(spent, times.get((kind, f"{way}, {how}"), np.inf))
                same = found.labels.tobytes() + found.scores.tobytes()
                if answers.setdefault(kind, same) != same:
                    raise SystemExit(f"{kind}: both ways must answer alike")
    for kind in kinds:
        mine = {f"{way} µs": round(spent, 1) for (of, way), spent in times.items() if of == kind}
        print(kind, mine, flush=True)
        record(
            "neighbors_mixed", command=f"python benchmarks/neighbors_mixed.py --data {args.data} --rows {args.rows}",
            data=args.data, rows=args.rows, dim=args.dim, features=kind, k=50, threads=1, **mine,
        )  # fmt: skip


if __name__ == "__main__":
    main()
