"""What is trained row by row: embeddings of features, summed over sparse rows, and unit vectors of labels.

Only the rows that a batch uses are read and written, with one Adagrad accumulator each, so a step costs the same
whatever the number of features and labels. On the CPU by our kernels; elsewhere by torch, with the same steps.

Weight normalisation (Salimans & Kingma 2016; GLaS §3.1): output j is length · (x·w_j)/‖w_j‖ with one trainable length.
Its gradient has a part along w_j, which would touch every feature; but that part only rescales w_j, which the
normalisation undoes. So it is left out: lengths ‖w_j‖ count as constants within a step, and are kept up to date by what
each step changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._native import neural as native
from ...arrays import Array, Float32, Int32, Rows
from ...core import generator, run, spans

EPSILON = 1e-8
_PARTS = 16  # pieces of a step; fixed, so that sums do not depend on the number of threads


class Embedding:
    """W, n×dim: a sparse row x becomes x·W."""

    def __init__(self, n: int, dim: int, *, seed: int, threads: int | None = None) -> None:
        rng = generator(seed, "embedding")
        self.weights: Float32 = rng.standard_normal((n, dim), dtype=np.float32) * np.float32(1 / np.sqrt(dim))
        self.sums: Float32 = np.zeros(n, np.float32)
        self.squares: NDArray[np.float64] = np.einsum("fj,fj->j", self.weights, self.weights, dtype=np.float64)
        self.threads = threads

    def lengths(self) -> Float32:
        """Of W's columns, ‖w_j‖."""
        return np.sqrt(np.maximum(self.squares, 1e-12)).astype(np.float32)

    def forward(self, X: Rows) -> Float32:
        """X·W."""
        return bag(X, self.weights, self.threads)

    def step(self, X: Rows, gradient: Float32, rate: float) -> None:
        """One Adagrad step, given the loss's gradient by `forward(X)`."""
        ids, offsets, rows, values = native.by_column(X.indptr, X.indices, X.data, int(X.shape[1]))
        cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], _PARTS + 1)).clip(0, len(ids))
        cuts[0], cuts[-1] = 0, len(ids)

        def part(i: int) -> NDArray[np.float64]:
            squares = np.zeros(self.weights.shape[1])
            native.update_bag(
                ids, offsets, rows, values, int(cuts[i]), int(cuts[i + 1]), gradient,
                self.weights, self.sums, rate, EPSILON, squares,
            )  # fmt: skip
            return squares

        for change in run(part, range(_PARTS), threads=self.threads):
            self.squares += change

    def arrays(self) -> dict[str, Array]:
        """All that a training needs to go on."""
        return {"weights": self.weights, "sums": self.sums, "squares": self.squares}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from there."""
        for name in ("weights", "sums", "squares"):
            getattr(self, name)[...] = arrays[name]


class UnitVectors:
    """V, n×dim: rows of unit length, moved along the sphere."""

    def __init__(self, n: int, dim: int, *, seed: int, threads: int | None = None) -> None:
        rng = generator(seed, "labels")
        self.weights: Float32 = rng.standard_normal((n, dim), dtype=np.float32)
        self.weights /= np.linalg.norm(self.weights, axis=1, keepdims=True)
        self.sums: Float32 = np.zeros(n, np.float32)
        self.threads = threads

    def take(self, ids: Int32) -> Float32:
        """Some rows."""
        return self.weights[ids]

    def step(self, ids: Int32, gradient: Float32, rate: float) -> None:
        """One Adagrad step of rows `ids`, which are all different."""
        run(
            lambda span: native.update_unit(
                ids[slice(*span)], gradient[slice(*span)], self.weights, self.sums, rate, EPSILON
            ),
            spans(len(ids), _PARTS, at_least=64),
            threads=self.threads,
        )

    def arrays(self) -> dict[str, Array]:
        """All that a training needs to go on."""
        return {"weights": self.weights, "sums": self.sums}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from there."""
        for name in ("weights", "sums"):
            getattr(self, name)[...] = arrays[name]


class Scalars:
    """One number for each of n labels, 0 at first."""

    def __init__(self, n: int) -> None:
        self.weights: Float32 = np.zeros(n, np.float32)
        self.sums: Float32 = np.zeros(n, np.float32)

    def take(self, ids: Int32) -> Float32:
        """Some of them."""
        return self.weights[ids]

    def step(self, ids: Int32, gradient: Float32, rate: float) -> None:
        """One Adagrad step of numbers `ids`, which are all different."""
        self.sums[ids] += gradient * gradient
        self.weights[ids] -= np.float32(rate) * gradient / (np.sqrt(self.sums[ids]) + np.float32(EPSILON))

    def arrays(self) -> dict[str, Array]:
        """All that a training needs to go on."""
        return {"weights": self.weights, "sums": self.sums}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from there."""
        for name in ("weights", "sums"):
            getattr(self, name)[...] = arrays[name]


def bag(X: Rows, weights: Float32, threads: int | None) -> Float32:
    """X·W of a sparse X; each row is added up in one order, whatever rows come with it."""
    n = int(X.shape[0])
    out = np.empty((n, weights.shape[1]), np.float32)

    def part(span: tuple[int, int]) -> None:
        native.bag(X.indptr, X.indices, X.data, weights, *span, out)

    run(part, spans(n, 8 * (threads or 8), at_least=64), threads=threads)
    return out
