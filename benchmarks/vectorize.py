"""Vectorizer beside scikit-learn's TfidfVectorizer: unigrams + bigrams on real text, in one run.

    python benchmarks/vectorize.py [--data mdn-seealso stackexchange …] [--repeat 3]

Engines take turns; each number is the best of all turns (other work on the machine only ever makes one slower), the
median is kept in the results beside it. `cpu` is processor time, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from common import record
from sklearn.feature_extraction.text import TfidfVectorizer

from xtrellis.data import shared
from xtrellis.text import Vectorizer


def timed(work: Callable[[list[str]], object], rows: list[str]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work(rows)
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["mdn-seealso", "stackexchange", "yso-100k"])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(f"{'data':<15}{'work':<15}{'engine':<12}{'threads':>7}{'s':>8}{'MB/s':>8}{'cpu MB/s':>10}{'x sklearn':>11}")
    for name in args.data:
        rows = shared(name).texts
        size = sum(len(text.encode()) for text in rows) / 1e6
        engines = {
            ("sklearn", 1): TfidfVectorizer(ngram_range=(1, 2)),
            ("xtrellis", 1): Vectorizer(ngrams=2, threads=1),
            ("xtrellis", 2): Vectorizer(ngrams=2, threads=2),
        }
        taken: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
        for _ in range(args.repeat):
            for (engine, threads), vectorizer in engines.items():
                for work in ("fit_transform", "transform"):
                    taken.setdefault((work, engine, threads), []).append(timed(getattr(vectorizer, work), rows))
        for (work, engine, threads), times in sorted(taken.items()):
            wall, cpu = min(t[0] for t in times), min(t[1] for t in times)
            base = min(t[0] for t in taken[(work, "sklearn", 1)])
            print(
                f"{name:<15}{work:<15}{engine:<12}{threads:>7}{wall:>8.2f}{size / wall:>8.1f}{size / cpu:>10.1f}"
                f"{base / wall:>11.1f}"
            )
            record(
                "vectorize",
                data=name,
                megabytes=round(size, 2),
                texts=len(rows),
                work=work,
                engine=engine,
                threads=threads,
                seconds_best=round(wall, 4),
                seconds_median=round(statistics.median(t[0] for t in times), 4),
                cpu_seconds_best=round(cpu, 4),
                times_sklearn=round(base / wall, 2),
            )


if __name__ == "__main__":
    main()
