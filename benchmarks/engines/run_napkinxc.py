"""napkinXC: a probabilistic label tree with its default settings (binary k-means tree, logistic loss, exact search)."""

from __future__ import annotations

import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import PLT
from protocol import Engine, main


class Napkin(Engine):
    def version(self) -> str:
        return version("napkinxc")

    def fit(self, data: Path, X: Any, Y: Any, model: Path) -> dict[str, float]:
        start = time.perf_counter()
        self.model = PLT(str(model), seed=self.seed + 1, threads=self.threads)
        self.model.fit(X, Y)  # writes the model as it goes
        return {"all": time.perf_counter() - start}

    def save(self, model: Path) -> None:
        self.model.unload()

    def load(self, model: Path) -> None:
        self.model = PLT(str(model), threads=self.threads)
        self.model.load()

    def batch(self, rows: Any) -> Any:
        return self.model.predict(rows, top_k=self.top)

    def labels(self, found: Any, n: int) -> Any:
        out = np.full((n, self.top), -1)
        for i, labels in enumerate(found):
            out[i, : len(labels)] = labels
        return out

    def single(self, row: Any) -> Any:
        return self.model.predict(row, top_k=self.top)


if __name__ == "__main__":
    main(Napkin)
