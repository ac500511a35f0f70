"""PECOS XR-Linear: PIFA, 16-way balanced k-means, leaves of 100; predict-only with its fastest layout."""

from __future__ import annotations

import time
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from protocol import Engine, main


class Pecos(Engine):
    def version(self) -> str:
        return version("libpecos")

    def fit(self, data: Path, X: Any, Y: Any, model: Path) -> dict[str, float]:
        times = [time.perf_counter()]
        labels = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=self.threads)
        times.append(time.perf_counter())
        chain = Indexer.gen(
            labels, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=self.threads,
            seed=self.seed,
        )  # fmt: skip
        times.append(time.perf_counter())
        self.model = XLinearModel.train(X, Y, C=chain, threads=self.threads, threshold=0.1)
        times.append(time.perf_counter())
        return dict(zip(("label features", "clustering", "weights"), np.diff(times).tolist(), strict=True))

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        self.model = XLinearModel.load(str(model), is_predict_only=True, weight_matrix_type="HASH_CHUNKED")

    def batch(self, rows: Any) -> Any:
        return self._predict(rows, self.threads)

    def labels(self, found: Any, n: int) -> Any:
        out = np.full((n, self.top), -1)
        for i, (a, z) in enumerate(pairwise(found.indptr.tolist())):
            best = np.argsort(-found.data[a:z], kind="stable")
            out[i, : z - a] = found.indices[a:z][best]
        return out

    def single(self, row: Any) -> Any:
        return self._predict(row, 1)

    def _predict(self, X: Any, threads: int) -> Any:
        return self.model.predict(X, beam_size=self.beam, only_topk=self.top, threads=threads)


if __name__ == "__main__":
    main(Pecos)
