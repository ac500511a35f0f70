"""How the defaults of `Neighbors` were chosen: how many rows vote, to which power, and what frequency should count.

    python benchmarks/neighbors_choice.py --folder DATA [--data yso-100k stackexchange mdn-seealso debian-depends]

1,500 training rows (a fifth at most) are held out; the neighbours of each are found once, and every combination votes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt

METRICS = ["P@1", "P@5", "R@10", "R@100", "PSP@5"]
NEIGHBORS, POWERS, FREQUENCIES = (30, 50, 100, 200), (1, 2, 3, 4, 6), (0, 0.1, 0.25)


def measure(name: str, folder: Path) -> None:
    train = xt.read(next((folder / name).glob("train.jsonl*")))
    X, Y = sp.csr_array(xt.Vectorizer().fit_transform(train.texts)), sp.csr_array(train.Y)
    order = np.random.default_rng(0).permutation(X.shape[0])
    held = min(1500, X.shape[0] // 5)
    unseen, seen = order[:held], np.sort(order[held:])
    model = xt.Neighbors(neighbors=max(NEIGHBORS)).fit(X[seen], Y[seen])
    near, labels = model.nearest(X[unseen]), Y[seen].astype(np.float64)
    counts = np.maximum(1, np.asarray(labels.sum(axis=0)).ravel())
    for k in NEIGHBORS:
        rows, similar = near.labels[:, :k], near.scores[:, :k].astype(np.float64)
        for power in POWERS:
            votes = np.where(rows >= 0, similar, 0) ** power * (rows >= 0)
            shares = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-30)
            offsets = np.arange(0, shares.size + 1, k)
            voting = sp.csr_array((shares.ravel(), np.maximum(rows, 0).ravel(), offsets), (held, len(seen)))
            scores = sp.csr_array(voting @ labels)
            for frequency in FREQUENCIES:
                weighed = scores.copy()
                weighed.data = (weighed.data * counts[weighed.indices] ** -frequency).astype(np.float32)
                top = xt.TopK.from_csr(weighed, 100)
                report = xt.evaluate(Y[unseen], top, metrics=METRICS, train_labels=Y[seen])
                found = {metric: round(float(report[metric]), 3) for metric in METRICS}
                record("neighbors_choice", data=name, neighbors=k, power=power, frequency=frequency, **found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--data", nargs="+", default=["yso-100k", "stackexchange", "mdn-seealso", "debian-depends"])
    args = parser.parse_args()
    for name in args.data:
        measure(name, args.folder)


if __name__ == "__main__":
    main()
