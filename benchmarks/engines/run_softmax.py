"""SoftmaxTree, from the same words: vectoriser, tree and training are timed apart; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.experiments import AsynchronousSoftmaxTree


class Watch:
    """Notes when each step of a training began and ended."""

    def __init__(self) -> None:
        self.spans: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []

    def begin(self, title: str, total: float | None, unit: str) -> int:
        self._open.append((title, time.perf_counter()))
        return len(self._open) - 1

    def advance(self, step: int, amount: float) -> None:
        pass

    def end(self, step: int) -> None:
        title, start = self._open[step]
        self.spans[title] = self.spans.get(title, 0.0) + time.perf_counter() - start

    def note(self, message: str) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settings", type=json.loads)
    args = parser.parse_args()
    settings: dict[str, Any] = args.settings
    train = (args.folder / "train.words").read_text(encoding="utf-8").split("\n")[:-1]
    test = (args.folder / "test.txt").read_text(encoding="utf-8").split("\n")[:-1]
    Y = sp.load_npz(args.folder / "Y.trn.npz")
    index = {"huffman": xt.HuffmanTree, "balanced": lambda: xt.BalancedTree(arity=2, max_leaf=1)}
    index["interpolated"] = lambda: xt.InterpolatedTree(tradeoff=settings["tradeoff"], arity=4, max_leaf=1)
    vectorizer = xt.Vectorizer(ngrams=settings["ngrams"], threads=settings["threads"], **settings["vectorizer"])
    kind = AsynchronousSoftmaxTree if settings.get("asynchronous") else xt.SoftmaxTree
    model = kind(
        index=index[settings["tree"]](), dim=settings["dim"], epochs=settings["epochs"], learning_rate=settings["rate"],
        seed=settings["seed"], threads=settings["threads"], **settings["model"],
    )  # fmt: skip
    watch = Watch()
    start, cpu = time.perf_counter(), time.process_time()
    X = vectorizer.fit_transform(train)
    vectorised = time.perf_counter()
    with progress.listen(watch):
        model.fit(X, Y)
    fitted, cpu_seconds = time.perf_counter(), time.process_time() - cpu
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    tagger_start = time.perf_counter()
    top = model.predict(vectorizer.transform(test), k=5)
    predict_seconds = time.perf_counter() - tagger_start
    np.save(args.folder / "found.npy", top.labels)
    parts = {"vectorising": vectorised - start, "fit": fitted - vectorised, "descent": watch.spans.get("training", 0.0)}
    times = {"train_seconds": fitted - start, "train_cpu_seconds": cpu_seconds, "predict_seconds": predict_seconds}
    print(json.dumps({**times, "peak_mb": peak_mb, "parts": {name: round(value, 3) for name, value in parts.items()}}))


if __name__ == "__main__":
    main()
