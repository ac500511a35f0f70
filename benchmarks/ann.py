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

QUERIES, REPEAT, THREADS = 500, 3, 2
LONGEST = 240  # seconds for a setting


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
Built = tuple[Callable[[int], Search], float, float]  # search by effort; bytes on disk; seconds to load


def exact_numpy(V: Any, path: Path) -> Built:
    def search(q: Any, k: int) -> Any:
        scores = V @ q[0]
        best = np.argpartition(-scores, k)[:k]
        return best[None, np.argsort(-scores[best])]

    return lambda effort: search, V.nbytes, 0.0


def exact_ours(V: Any, path: Path) -> Built:
    from xtrellis.neural.scoring import exact

    return lambda effort: lambda q, k: exact(q, V, k, threads=1)[0], V.nbytes, 0.0


def faiss_index(kind: str, V: Any, path: Path) -> Built:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    dim, lists = V.shape[1], int(4 * np.sqrt(len(V)))
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dim, 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 100
    elif kind == "ivf":
        index = faiss.index_factory(dim, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
    elif kind == "codes":  # 4-bit codes of all labels, then exact products of the best: as ours
        index = faiss.index_factory(dim, f"PQ{dim // 2}x4fs,RFlat", faiss.METRIC_INNER_PRODUCT)
    else:  # 4-bit codes in inverted lists, then exact products of the best
        index = faiss.index_factory(dim, f"IVF{lists},PQ{dim // 2}x4fs,RFlat", faiss.METRIC_INNER_PRODUCT)
    index.train(V)
    index.add(V)
    faiss.write_index(index, str(path))
    del index
    start = time.perf_counter()
    index = faiss.read_index(str(path))
    loading = time.perf_counter() - start
    faiss.omp_set_num_threads(1)

    def by_effort(effort: int) -> Search:
        if kind == "codes":
            factor = faiss.IndexRefineSearchParameters
            return lambda q, k: index.search(q, k, params=factor(k_factor=max(8, effort / k)))[1]
        if kind == "hnsw":
            params: Any = faiss.SearchParametersHNSW(efSearch=effort)
        else:
            params = faiss.SearchParametersIVF(nprobe=effort)
        if kind == "pq":
            params = faiss.IndexRefineSearchParameters(k_factor=10, base_index_params=params)
        return lambda q, k: index.search(q, k, params=params)[1]

    return by_effort, path.stat().st_size, loading


def usearch_index(dtype: str, V: Any, path: Path) -> Built:
    from usearch.index import Index

    index = Index(ndim=V.shape[1], metric="ip", dtype=dtype, connectivity=32, expansion_add=100)
    index.add(np.arange(len(V)), V, threads=THREADS)
    index.save(str(path))
    del index
    start = time.perf_counter()
    index = Index.restore(str(path), view=True)
    loading = time.perf_counter() - start

    def by_effort(effort: int) -> Search:
        index.expansion_search = effort
        return lambda q, k: index.search(q[0], k, threads=1).keys[None]

    return by_effort, path.stat().st_size, loading


def our_index(_: str, V: Any, path: Path) -> Built:
    """Codes kept in our store; the vectors are the model's own."""
    from xtrellis import store
    from xtrellis.neural import LabelIndex

    store.save(LabelIndex.build(V), path)
    start = time.perf_counter()
    index = store.load(path)
    loading = time.perf_counter() - start
    size = V.nbytes + sum(file.stat().st_size for file in path.iterdir())  # the others keep the vectors too
    return lambda effort: lambda q, k: index.search(q, V, k, beam=effort, threads=1)[0], size, loading


def scann_index(_: str, V: Any, path: Path) -> Built:
    import scann

    builder = scann.scann_ops_pybind.builder(V, 100, "dot_product").tree(
        num_leaves=int(2 * np.sqrt(len(V))), num_leaves_to_search=100, training_sample_size=min(len(V), 250_000)
    )
    index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(200).build()
    path.mkdir()
    index.serialize(str(path))
    del index
    start = time.perf_counter()
    index = scann.scann_ops_pybind.load_searcher(str(path))
    loading = time.perf_counter() - start
    size = sum(file.stat().st_size for file in path.iterdir())

    def by_effort(effort: int) -> Search:
        return lambda q, k: index.search(q[0], k, leaves_to_search=effort, pre_reorder_num_neighbors=max(200, 2 * k))[
            0
        ][None]

    return by_effort, size, loading


# library:kind -> how hard to look: labels under way (graphs) or compared exactly (codes), lists or leaves opened
SETTINGS = {
    "exact:numpy": [0], "exact:ours": [0],
    "faiss:hnsw": [64, 128, 256], "faiss:ivf": [16, 64, 256], "faiss:pq": [16, 64, 256],
    "usearch:f32": [64, 128, 256], "usearch:f16": [128], "usearch:i8": [128],
    "faiss:codes": [64, 256, 1024], "scann:ah": [16, 64, 256], "ours:codes": [64, 256, 1024],
}  # fmt: skip


def memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def _recall(V: Any, query: Any, found: Any, truth: Any, k: int) -> float:
    """Share of the k that are as good as the k-th best: labels with the same rows share a vector, so ids may differ."""
    found = found[found >= 0] if found.dtype.kind == "i" else found
    return float((V[found] @ query >= V[truth[k - 1]] @ query - 1e-5).sum() / k)


def one(data: str, setting: str) -> None:
    """Build one index in this process and measure it at every effort."""
    found = np.load(data)
    V, Q, truth = found["V"], found["Q"][:QUERIES], np.load(data + ".truth.npy")[:QUERIES]
    lone = [np.ascontiguousarray(q[None]) for q in Q]
    library, _, kind = setting.partition(":")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path, start = Path(folder) / "index", time.perf_counter()
        if library == "exact":
            by_effort, size, loading = (exact_numpy if kind == "numpy" else exact_ours)(V, path)
        else:
            libraries = {"faiss": faiss_index, "usearch": usearch_index, "scann": scann_index, "ours": our_index}
            by_effort, size, loading = libraries[library](kind, V, path)
        building = time.perf_counter() - start - loading
        for effort in SETTINGS[setting]:
            search = by_effort(effort)
            recall = {
                k: np.mean([_recall(V, q[0], search(q, k)[0], t, k) for q, t in zip(lone, truth, strict=True)])
                for k in (10, 100)
            }
            times = np.full(len(lone), np.inf)
            for _ in range(REPEAT):
                for i, q in enumerate(lone):
                    begin = time.perf_counter_ns()
                    search(q, 10)
                    times[i] = min(times[i], (time.perf_counter_ns() - begin) / 1e3)
            print(json.dumps({
                "setting": setting, "effort": effort, "labels": len(V), "dim": V.shape[1],
                "source": str(found["source"]), "recall@10": round(float(recall[10]), 4),
                "recall@100": round(float(recall[100]), 4), "us_median": round(float(np.median(times)), 1),
                "us_p99": round(float(np.quantile(times, 0.99)), 1), "build_seconds": round(building, 2),
                "load_ms": round(1000 * loading, 2), "index_mb": round(size / 1e6, 1),
                "process_mb": round(memory(), 1),
            }), flush=True)  # fmt: skip


def run(data: str, settings: list[str]) -> None:
    if not Path(data + ".truth.npy").exists():
        found = np.load(data)
        V, Q = found["V"], found["Q"][:QUERIES]
        parts = np.array_split(Q, max(1, len(V) // 10_000))
        np.save(data + ".truth.npy", np.concatenate([np.argsort(-(q @ V.T), axis=1)[:, :100] for q in parts]))
    for setting in settings or SETTINGS:
        command = [sys.executable, __file__, "one", data, setting]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            print(setting, f"left out: more than {LONGEST} s")
            continue
        if done.returncode:
            print(setting, "failed:", done.stderr.strip().splitlines()[-1:])
        with (Path(__file__).parent / "results" / "ann.jsonl").open("a") as file:
            for text in done.stdout.splitlines():
                if not text.startswith("{"):
                    continue
                print(text, flush=True)
                stamp = {"date": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "threads": 1}
                file.write(json.dumps({**stamp, **json.loads(text)}) + "\n")


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
