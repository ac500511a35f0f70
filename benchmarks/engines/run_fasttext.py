"""fastText with hierarchical softmax, from a file of words; runs in the peers' environment, prints one JSON line."""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import fasttext
import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settings", type=json.loads)
    args = parser.parse_args()
    settings = args.settings
    start, cpu = time.perf_counter(), time.process_time()
    model = fasttext.train_supervised(
        str(args.folder / "train.txt"), loss="hs", dim=settings["dim"], epoch=settings["epochs"], lr=settings["rate"],
        wordNgrams=settings["ngrams"], thread=settings["threads"], seed=settings["seed"], minCount=1, verbose=0,
    )  # fmt: skip
    train_seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    lines = (args.folder / "test.txt").read_text(encoding="utf-8").split("\n")[:-1]
    start = time.perf_counter()
    found, _ = model.predict(lines, k=5)
    predict_seconds = time.perf_counter() - start
    labels = np.full((len(lines), 5), -1, np.int32)
    for i, names in enumerate(found):
        labels[i, : len(names)] = [int(name.removeprefix("__label__")) for name in names]
    np.save(args.folder / "found.npy", labels)
    print(json.dumps({
        "train_seconds": train_seconds, "train_cpu_seconds": cpu_seconds, "predict_seconds": predict_seconds,
        "peak_mb": peak_mb,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
