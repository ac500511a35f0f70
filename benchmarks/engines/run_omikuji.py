"""omikuji, one tree: `default` (balanced, binary) or `bonsai` (100-way, unbalanced, depth 3).

It trains from a text file and refuses one with a row without features, so those rows are left out of train.txt. Its
Python interface takes one row at a time, as a list of pairs. `batch` calls it by turns in a plain loop and from as many
threads as it may use, since Python's lock decides which is faster; the least time counts.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import omikuji
from omikuji import Model, _ThreadPoolHandle, ffi, lib
from protocol import Engine, main


class Omikuji(Engine):
    needs_matrices = False
    turn = 0

    def version(self) -> str:
        return omikuji.__version__

    def fit(self, data: Path, X: Any, Y: Any, model: Path) -> dict[str, float]:
        settings = Model.default_hyper_param()
        settings.n_trees = 1
        if self.config == "bonsai":
            settings.cluster_k, settings.cluster_balanced, settings.max_depth = 100, False, 3
        # Model.train_on_data in its two halves, so that reading the text can be told from training.
        pool = _ThreadPoolHandle(self.threads)
        start = time.perf_counter()
        rows = lib.load_omikuji_data_set(ffi.new("char[]", str(data / "train.txt").encode()), pool.ptr)
        if rows == ffi.NULL:
            raise RuntimeError("omikuji cannot read the data")
        read = time.perf_counter()
        made = lib.train_omikuji_model(ffi.gc(rows, lib.free_omikuji_data_set), settings, pool.ptr)
        if made == ffi.NULL:
            raise RuntimeError("omikuji failed to train")
        self.model = Model(made)
        return {"reading": read - start, "all": time.perf_counter() - read}

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        self.model = Model.load(str(model))
        self.model.init_prediction_thread_pool(self.threads)

    def prepare(self) -> None:
        self.model.densify_weights(0.1)

    def answers(self, row: Any) -> bool:
        return row.nnz > 0

    def native(self, X: Any) -> Any:
        pairs = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
        rows = [pairs[a:z] for a, z in pairwise(X.indptr.tolist())]
        return rows[0] if len(rows) == 1 else rows

    def single(self, row: Any) -> Any:
        return self.model.predict(row, beam_size=self.beam, top_k=self.top)

    def batch(self, rows: Any) -> Any:
        def part(span: tuple[int, int]) -> list[Any]:
            return [self.single(row) if row else [] for row in rows[span[0] : span[1]]]

        self.turn += 1
        if self.turn % 2:
            return part((0, len(rows)))
        edges = np.linspace(0, len(rows), self.threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(self.threads) as pool:
            return [found for piece in pool.map(part, pairwise(edges)) for found in piece]

    def labels(self, found: Any, n: int) -> Any:
        out = np.full((n, self.top), -1)
        for i, pairs in enumerate(found):
            out[i, : len(pairs)] = [label for label, _ in pairs]
        return out


if __name__ == "__main__":
    main(Omikuji)
