"""xtrellis; the configuration is the name of a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clock import Clock
from protocol import Engine, main

import xtrellis as xt
import xtrellis.linear  # modules load on first use: loading a model shall not include that
import xtrellis.store
from xtrellis.core import progress


class Xtrellis(Engine):
    def version(self) -> str:
        return xt.__version__

    def fit(self, data: Path, X: Any, Y: Any, model: Path) -> dict[str, float]:
        clock = Clock()
        with progress.listen(clock):
            self.model = xt.preset(self.config, threads=self.threads, seed=self.seed).fit(X, Y)
        return clock.steps

    def save(self, model: Path) -> None:
        self.model.save(model)

    def load(self, model: Path) -> None:
        self.model = xt.load(model).set_params(beam=self.beam, threads=self.threads)

    def batch(self, rows: Any) -> Any:
        return self.model.predict(rows, k=self.top)

    def labels(self, found: Any, n: int) -> Any:
        return found.labels

    def single(self, row: Any) -> Any:
        return self.model.predict(row, k=self.top)


if __name__ == "__main__":
    main(Xtrellis)
