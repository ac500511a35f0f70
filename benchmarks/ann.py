"""Libraries for approximate inner-product search on label vectors, side by side.

    python benchmarks/ann.py make learned.npz acl-authors    # trains a Glas: label vectors and queries of test rows
    python benchmarks/ann.py random random.npz 2000000 128   # unit vectors; queries near some of them
    python benchmarks/ann.py run learned.npz                 # every library that is installed; JSON lines in results/

Run it in an environment that has faiss-cpu, usearch and scann beside NumPy; `make` needs xtrellis with torch. Every
setting is measured in a process of its own, on one thread but for building.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

QUERIES, REPEAT, THREADS = 1000, 3, 2


def make(to: str, name: str) -> None:
    import xtrellis as xt
    from xtrellis.experiments.data import prepare

    data = prepare(name)
    model = xt.Glas(epochs=5, holdout=0, search="exact", seed=0).fit(data.train.X, data.train.Y)
    np.savez(to, V=model.label_vectors, Q=model.embed(data.test.X)[: 2 * QUERIES], source=f"learned on {name}")


def random(to: str, n: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    V = rng.standard_normal((n, dim), dtype=np.float32)
    # In clusters, as labels are: each vector half its cluster's, half its own; a query is a label and some noise.
    V += rng.standard_normal((n // 100, dim), dtype=np.float32)[rng.integers(0, n // 100, n)]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    Q = V[rng.integers(0, n, 2 * QUERIES)] + 0.7 / np.sqrt(dim) * rng.standard_normal(
        (2 * QUERIES, dim), dtype=np.float32
    )
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    np.savez(to, V=V, Q=Q.astype(np.float32), source=f"random, {n} × {dim}")


Search = Callable[[Any, int], Any]


def exact_numpy(V: Any, path: Path) -> tuple[Search, float, float]:
    def search(q: Any, k: int) -> Any:
        scores = V @ q[0]
        best = np.argpartition(-scores, k)[:k]
        return best[None, np.argsort(-scores[best])]

    return search, V.nbytes, 0.0


def exact_ours(V: Any, path: Path) -> tuple[Search, float, float]:
    from xtrellis.neural.network import exact

    return lambda q, k: exact(q, V, k, threads=1)[0], V.nbytes, 0.0


def faiss_index(kind: str, V: Any, path: Path) -> tuple[Search, float, float]:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    what, *numbers = kind.split(":")
    dim = V.shape[1]
    params: Any = None
    if what == "hnsw":
        index = faiss.IndexHNSWFlat(dim, 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 100
        params = faiss.SearchParametersHNSW(efSearch=int(numbers[0]))
    elif what == "ivf":
        lists = int(4 * np.sqrt(len(V)))
        index = faiss.index_factory(dim, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
        params = faiss.SearchParametersIVF(nprobe=int(numbers[0]))
    else:  # ivf with 4-bit codes, then exact
        lists = int(4 * np.sqrt(len(V)))
        index = faiss.index_factory(dim, f"IVF{lists},PQ{dim // 2}x4fs,RFlat", faiss.METRIC_INNER_PRODUCT)
        params = faiss.IndexRefineSearchParameters(
            k_factor=10, base_index_params=faiss.SearchParametersIVF(nprobe=int(numbers[0]))
        )
    index.train(V)
    index.add(V)
    faiss.write_index(index, str(path))
    del index
    start = time.perf_counter()
    index = faiss.read_index(str(path))
    loading = time.perf_counter() - start
    faiss.omp_set_num_threads(1)
    return lambda q, k: index.search(q, k, params=params)[1], path.stat().st_size, loading


def usearch_index(kind: str, V: Any, path: Path) -> tuple[Search, float, float]:
    from usearch.index import Index

    dtype, expansion = kind.split(":")
    index = Index(ndim=V.shape[1], metric="ip", dtype=dtype, connectivity=32, expansion_add=100)
    index.add(np.arange(len(V)), V, threads=THREADS)
    index.save(str(path))
    del index
    start = time.perf_counter()
    index = Index.restore(str(path), view=True)
    loading = time.perf_counter() - start
    index.expansion_search = int(expansion)
    return lambda q, k: index.search(q[0], k, threads=1).keys[None], path.stat().st_size, loading


def our_index(kind: str, V: Any, path: Path) -> tuple[Search, float, float]:
    """A graph built by faiss, kept in our store and walked by our kernel."""
    from xtrellis import store
    from xtrellis.neural.ann import LabelIndex

    store.save(LabelIndex.build(V), path)
    start = time.perf_counter()
    index = store.load(path)
    loading = time.perf_counter() - start
    size = sum(file.stat().st_size for file in path.iterdir())
    return lambda q, k: index.search(q, V, k, beam=max(int(kind), k), threads=1)[0], size, loading


def scann_index(kind: str, V: Any, path: Path) -> tuple[Search, float, float]:
    import scann

    leaves, reorder = (int(number) for number in kind.split(":"))
    builder = scann.scann_ops_pybind.builder(V, 100, "dot_product").tree(
        num_leaves=int(2 * np.sqrt(len(V))), num_leaves_to_search=leaves, training_sample_size=min(len(V), 250_000)
    )
    index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(reorder).build()
    path.mkdir()
    index.serialize(str(path))
    del index
    start = time.perf_counter()
    index = scann.scann_ops_pybind.load_searcher(str(path))
    loading = time.perf_counter() - start
    size = sum(file.stat().st_size for file in path.iterdir())
    return lambda q, k: index.search(q[0], k)[0][None], size, loading


SETTINGS = [
    "exact:numpy", "exact:ours",
    "faiss:hnsw:64", "faiss:hnsw:128", "faiss:hnsw:256", "faiss:ivf:32", "faiss:ivf:128", "faiss:pq:32", "faiss:pq:128",
    "usearch:f32:64", "usearch:f32:128", "usearch:f32:256", "usearch:f16:128", "usearch:i8:128",
    "ours:64", "ours:128", "ours:256",
    "scann:32:200", "scann:128:200", "scann:256:400",
]  # fmt: skip


def memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def one(data: str, setting: str) -> None:
    """Measure one setting, in this process."""
    found = np.load(data)
    V, Q, truth = found["V"], found["Q"][:QUERIES], np.load(data + ".truth.npy")[:QUERIES]
    library, _, kind = setting.partition(":")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder) / "index"
        start = time.perf_counter()
        if library == "exact":
            search, size, loading = (exact_numpy if kind == "numpy" else exact_ours)(V, path)
        else:
            build = {"faiss": faiss_index, "usearch": usearch_index, "scann": scann_index, "ours": our_index}[library]
            search, size, loading = build(kind, V, path)
        building = time.perf_counter() - start - loading
        lone = [np.ascontiguousarray(q[None]) for q in Q]
        recall = {
            k: np.mean(
                [len(set(search(q, k)[0].tolist()) & set(t[:k].tolist())) / k for q, t in zip(lone, truth, strict=True)]
            )
            for k in (10, 100)
        }
        times = np.full(len(lone), np.inf)
        for _ in range(REPEAT):
            for i, q in enumerate(lone):
                begin = time.perf_counter_ns()
                search(q, 10)
                times[i] = min(times[i], (time.perf_counter_ns() - begin) / 1e3)
    print(json.dumps({
        "setting": setting, "labels": len(V), "dim": V.shape[1], "source": str(found["source"]),
        "recall@10": round(float(recall[10]), 4), "recall@100": round(float(recall[100]), 4),
        "us_median": round(float(np.median(times)), 1), "us_p99": round(float(np.quantile(times, 0.99)), 1),
        "build_seconds": round(building, 2), "load_ms": round(1000 * loading, 2),
        "index_mb": round(size / 1e6, 1), "process_mb": round(memory(), 1),
    }))  # fmt: skip


def run(data: str, settings: list[str]) -> None:
    found = np.load(data)
    V, Q = found["V"], found["Q"][:QUERIES]
    truth = np.concatenate(
        [np.argsort(-(q @ V.T), axis=1)[:, :100] for q in np.array_split(Q, max(1, len(V) // 10_000))]
    )
    np.save(data + ".truth.npy", truth)
    for setting in settings or SETTINGS:
        done = subprocess.run(
            [sys.executable, __file__, "one", data, setting], capture_output=True, text=True, timeout=1800
        )
        if done.returncode:
            print(setting, "failed:", done.stderr.strip().splitlines()[-1:])
            continue
        line = json.loads(done.stdout.strip().splitlines()[-1])
        print(line, flush=True)
        with (Path(__file__).parent / "results" / "ann.jsonl").open("a") as file:
            file.write(json.dumps({"date": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), **line}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "random", "run", "one"])
    parser.add_argument("data")
    parser.add_argument("rest", nargs="*")
    args = parser.parse_args()
    if args.what == "make":
        make(args.data, *args.rest)
    elif args.what == "random":
        random(args.data, *map(int, args.rest))
    elif args.what == "one":
        one(args.data, *args.rest)
    else:
        run(args.data, args.rest)


if __name__ == "__main__":
    main()
