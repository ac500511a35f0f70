"""AdamW (Loshchilov & Hutter 2019): for dense arrays, and for the rows of a large one that a few batches have touched.

Moments of untouched rows wait: a label that no shortlist held has no opinion about where to go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..._native import neural as native
from ...arrays import Array, Float32, Int32, Int64, Rows
from ...core import run, spans

BETAS = 0.9, 0.999
EPSILON = 1e-8
_PARTS = 16


def _corrections(steps: int) -> tuple[float, float]:
    return 1 / (1 - BETAS[0] ** steps), 1 / (1 - BETAS[1] ** steps)


class AdamW:
    """Steps of some arrays in place."""

    def __init__(
        self, values: Mapping[str, Float32], *, decay: Mapping[str, float] | None = None, biased: Sequence[str] = ()
    ) -> None:
        """The last column of arrays that are `biased` is a bias, which does not decay."""
        self.values = dict(values)
        self.decay, self.biased = dict(decay or {}), frozenset(biased)
        self.first = {name: np.zeros_like(value) for name, value in values.items()}
        self.second = {name: np.zeros_like(value) for name, value in values.items()}
        self.steps = dict.fromkeys(values, 0)  # of each: one that begins anew begins with the corrections, too

    def step(self, gradients: Mapping[str, Float32], rates: Mapping[str, float], *, threads: int | None = None) -> None:
        """One step of those that have a gradient; each at its own rate."""
        for name, gradient in gradients.items():
            self.steps[name] += 1
            scale, decay = _corrections(self.steps[name]), self.decay.get(name, 0.0)
            bias = self.values[name][:, -1].copy() if name in self.biased else None
            flat = [a.reshape(-1) for a in (gradient, self.values[name], self.first[name], self.second[name])]
            rest = (rates[name], *BETAS, *scale, EPSILON, decay)

            def part(span: tuple[int, int], flat: list[Float32] = flat, rest: tuple[float, ...] = rest) -> None:
                g, w, first, second = (array[slice(*span)] for array in flat)
                native.adam(g, w, first, second, *rest)

            run(part, spans(len(flat[0]), _PARTS, at_least=1 << 16), threads=threads)
            if bias is not None:
                self.values[name][:, -1] += np.float32(rates[name] * decay) * bias

    def forget(self, name: str) -> None:
        """Moments and steps of an array that begins anew."""
        self.first[name][...] = 0
        self.second[name][...] = 0
        self.steps[name] = 0

    def arrays(self) -> dict[str, Array]:
        """All that a training needs to go on."""
        out: dict[str, Array] = {"steps": np.array([self.steps[name] for name in self.values], np.int64)}
        for name, value in self.values.items():
            out |= {name: value, f"{name}.first": self.first[name], f"{name}.second": self.second[name]}
        return out

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from there."""
        self.steps = dict(zip(self.values, arrays["steps"].tolist(), strict=True))
        for name, value in self.values.items():
            value[...] = arrays[name]
            self.first[name][...] = arrays[f"{name}.first"]
            self.second[name][...] = arrays[f"{name}.second"]


class RowAdamW:
    """Label vectors, n × dim, the last entry of each a bias that does not decay."""

    def __init__(self, weights: Float32, *, decay: float, threads: int | None = None) -> None:
        self.weights, self.decay, self.threads = weights, decay, threads
        self.first, self.second = np.zeros_like(weights), np.zeros_like(weights)
        self.steps = 0

    def step(self, ids: Int32, gradient: Float32, inputs: Float32, rate: float) -> None:
        """One step, given gradients by the products of inputs[r] with the rows ids[r]; -1 for none."""
        self.steps += 1
        labels, offsets, rows, values = by_label(ids, gradient, len(self.weights))
        cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], _PARTS + 1)).clip(0, len(labels))
        cuts[0], cuts[-1] = 0, len(labels)
        rest = (rate, *BETAS, *_corrections(self.steps), EPSILON, self.decay)

        def part(i: int) -> None:
            native.update_rows(
                labels, offsets, rows, values, int(cuts[i]), int(cuts[i + 1]), inputs,
                self.weights, self.first, self.second, *rest,
            )  # fmt: skip

        run(part, range(_PARTS), threads=self.threads)

    def step_block(self, first: int, gradient: Float32, rate: float) -> None:
        """A step of neighbouring rows from `first` on; who steps all blocks counts `steps` once before."""
        at = slice(first, first + len(gradient))
        weights = self.weights[at]
        bias = weights[:, -1].copy()
        g, w, m, v = (a.reshape(-1) for a in (np.ascontiguousarray(gradient), weights, self.first[at], self.second[at]))
        native.adam(g, w, m, v, rate, *BETAS, *_corrections(self.steps), EPSILON, self.decay)
        weights[:, -1] += np.float32(rate * self.decay) * bias

    def begin(self, weights: Float32) -> None:
        """Anew."""
        self.weights[...] = weights
        self.first[...] = 0
        self.second[...] = 0
        self.steps = 0

    def arrays(self) -> dict[str, Array]:
        """All that a training needs to go on."""
        steps = np.array([self.steps], np.int64)
        return {"weights": self.weights, "first": self.first, "second": self.second, "steps": steps}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from there."""
        self.steps = int(arrays["steps"][0])
        for name in ("weights", "first", "second"):
            getattr(self, name)[...] = arrays[name]


def by_label(ids: Int32, values: Float32, n_labels: int) -> tuple[Int32, Int64, Int32, Float32]:
    """Entries of rows × shortlist by label: the labels that occur, where their entries begin, rows, values."""
    k = ids.shape[1]
    flat, amounts = ids.reshape(-1), values.reshape(-1)
    offsets = np.arange(0, len(flat) + 1, k, dtype=np.int64) if k else np.zeros(len(ids) + 1, np.int64)
    there = flat >= 0
    if not there.all():
        offsets = np.concatenate([[0], np.cumsum(there)])[offsets]
        flat, amounts = flat[there], amounts[there]
    entries = Rows(np.ascontiguousarray(amounts), np.ascontiguousarray(flat), offsets, (len(ids), n_labels))
    return native.by_column(entries.indptr, entries.indices, entries.data, n_labels)
