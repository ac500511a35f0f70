"""How fast 100,000 names are looked for in real text, on one core.

    python benchmarks/names.py [--data mdn-seealso stackexchange …] [--names 100000] [--rows 10000]

Names are real ones (the authors of acl-authors, who are hardly named in other texts) or word n-grams drawn from the
texts themselves, which are found all the time. `whole` looks for whole names of the same words only, `half` also
for halves of names and inflected words, `usual` is the default: smaller parts too. Numbers are processor time, the
best of all turns; what is timed is `predict` with k=10, from Python strings to scores.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared

WAYS: dict[str, dict[str, float]] = {"whole": {"partial": 1.0, "likeness": 1.0}, "half": {"partial": 0.5}, "usual": {}}


def drawn_names(texts: list[str], count: int) -> list[str]:
    """Distinct runs of one to three words of the texts, one of them longer than four characters."""
    rng = np.random.default_rng(0)
    found: dict[str, None] = {}
    while len(found) < count:
        words = texts[int(rng.integers(len(texts)))].split()
        length = int(rng.integers(1, 4))
        at = int(rng.integers(max(1, len(words) - length)))
        run = words[at : at + length]
        if any(len(word) > 4 for word in run):
            found[" ".join(run)] = None
    return list(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["mdn-seealso", "stackexchange", "yso-100k"])
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--kinds", nargs="+", choices=["authors", "drawn"], default=["authors", "drawn"])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    authors = list(shared("acl-authors").label_names)[: args.names]
    print(f"{'data':<15}{'names':<10}{'way':<8}{'of 10':>8}{'fit s':>8}{'MB/s':>8}{'µs a text':>11}{'model MB':>10}")
    for data in args.data:
        texts = list(shared(data).texts)[: args.rows]
        size = sum(len(text.encode()) for text in texts) / 1e6
        for kind in args.kinds:
            names = authors if kind == "authors" else drawn_names(texts, args.names)
            at = np.arange(len(texts))
            Y = sp.csr_array((np.ones(len(at), np.float32), (at, at % len(names))), shape=(len(at), len(names)))
            for way, params in WAYS.items():
                model = xt.NameMatcher(threads=1, **params)
                begun = time.process_time()
                model.fit(None, Y, texts=texts, label_names=names)
                fit = time.process_time() - begun
                taken = []
                for _ in range(args.repeat):
                    begun = time.process_time()
                    top = model.predict(None, k=10, texts=texts)
                    taken.append(time.process_time() - begun)
                found = float((top.labels >= 0).sum() / len(texts))
                seconds, megabytes = min(taken), model.index.n_bytes / 1e6
                print(
                    f"{data:<15}{kind:<10}{way:<8}{found:>8.1f}{fit:>8.1f}{size / seconds:>8.1f}"
                    f"{1e6 * seconds / len(texts):>11.1f}{megabytes:>10.1f}",
                    flush=True,
                )
                record(
                    "names", data=data, megabytes=round(size, 2), texts=len(texts), names=len(names), kind=kind,
                    way=way, params=params,
                    fit_cpu=round(fit, 2), cpu=round(seconds, 4), megabytes_per_cpu_second=round(size / seconds, 2),
                    model_bytes=model.index.n_bytes, found_of_10=round(found, 2),
                )  # fmt: skip


if __name__ == "__main__":
    main()
