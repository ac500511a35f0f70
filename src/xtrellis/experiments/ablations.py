"""Variants that only experiments need: to see what a part is worth, it is left out or left to chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Csr
from ..core import generator
from ..index import Matches, Overlap, Placing
from ..softmax import Descent, SoftmaxTree


class RandomOverlap(Overlap):
    """Every label stays and gets further clusters by chance, all different (Liu et al. 2021, A.8)."""

    def place(
        self, Y: Csr, matches: Matches, now: Placing, *, seed: int, threads: int | None = None
    ) -> tuple[Placing, float]:
        """Distinct and never home."""
        n_labels, n_clusters = len(now.offsets) - 1, now.n_clusters
        more = min(self.copies, n_clusters) - 1
        home = now.clusters[now.offsets[:-1]].astype(np.int64)
        dice = generator(seed, "random copies")
        # A random start and random steps around the ring of clusters would clump, so draw ranks.
        extra = [np.empty(0, np.int64)]
        for label in range(n_labels if more else 0):
            others = dice.choice(n_clusters - 1, size=more, replace=False)
            extra.append(others + (others >= home[label]))
        labels = np.concatenate([np.arange(n_labels), np.repeat(np.arange(n_labels), more)])
        return Placing.of_pairs(labels, np.concatenate([home, *extra]), n_labels, n_clusters), 0.0


class AsynchronousSoftmaxTree(SoftmaxTree):
    """Threads share rows and write without waiting, as fastText's do: other results every time. It cannot be saved."""

    def _descent(self, Y: Csr) -> Descent:
        return replace(super()._descent(Y), asynchronous=True)
