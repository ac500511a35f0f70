"""What trainings of a classifier on an encoder share: the order of rows, dropout, means of the weights, quality, state.

A batch is cut into pieces of rows. Each is worked on by one thread, torch included, and their gradients are added in
order: a step is the same for any number of threads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from ...arrays import Array, Csr, Float32, Int32
from ...core import generator, run, spans
from ..training import AdamW, ProcessGroup, RowAdamW, take
from .base import Encoder, Inputs

MEASURED = 2000  # rows at most that quality is measured on after each epoch
BIAS = -4.0  # of a label at the beginning: most labels are wrong
AVERAGES = 20  # times an epoch that the running mean of the weights is taken
WARM_UP = 20  # steps until the rate of learning has its full height


class TaskSettings(Protocol):
    """Settings that every such training has."""

    @property
    def batch_size(self) -> int: ...
    @property
    def dropout(self) -> float: ...
    @property
    def swa_start(self) -> float: ...
    @property
    def encoder_learning_rate(self) -> float: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def threads(self) -> int | None: ...


class EncoderTask:
    """The part of `TrainingTask` that does not depend on what stands on the encoder."""

    dense: AdamW
    labels: RowAdamW

    def __init__(
        self, inputs: Inputs, Y: Csr, train: Int32, validation: Int32, encoder: Encoder, how: TaskSettings, torch: Any,
        device: Any,
    ) -> None:  # fmt: skip
        self.inputs, self.Y, self.torch, self.device, self.common = inputs, Y, torch, device, how
        self.rows, self.validation = train, validation[:MEASURED]
        self.sample = np.sort(generator(how.seed, "measure").permutation(train)[:MEASURED]).astype(np.int32)
        self.encoder, self.coder = encoder, encoder.start(inputs, seed=how.seed, threads=how.threads, device=device)
        self.n_labels = int(Y.shape[1])
        self.averaged = np.zeros(1, np.int64)  # how many states the means are of
        self.means: dict[str, Float32] = {}
        self.count = max(1, -(-len(train) // how.batch_size))
        self.processes = ProcessGroup(torch)

    def _first_labels(self, bias: float | Float32 = BIAS) -> Float32:
        out = np.zeros((self.n_labels, self.encoder.width), np.float32)
        out[:, -1] = bias
        return out

    # One epoch

    def _pieces(self, n: int) -> list[tuple[int, int]]:
        """Rows of a batch that are worked on at once; they depend on nothing but the batch."""
        return spans(n, -(-n // self.coder.piece(self.common.batch_size)))

    def _batches(self, epoch: int) -> Iterator[Int32]:
        """All rows once, in nearly equal batches."""
        order = generator(self.common.seed, "epoch", epoch).permutation(self.rows).astype(np.int32, copy=False)
        for i in range(self.count):
            yield order[len(order) * i // self.count : len(order) * (i + 1) // self.count]

    def _slowed(self, done: float, epochs: int) -> float:
        """The rate of learning after a share of some epochs: up within a few steps, then down to nearly 0."""
        return min(1.0, (done * epochs * self.count + 1) / WARM_UP) * max(1 - done, 0.02)

    def _mask(self, n: int, epoch: int, i: int) -> Float32:
        """Dropout of the vectors; the constant stays."""
        keep = 1 - self.common.dropout
        out = np.ones((n, self.encoder.width), np.float32)
        if keep < 1:
            kept = generator(self.common.seed, "mask", epoch, i).random((n, out.shape[1] - 1), dtype=np.float32) < keep
            out[:, :-1] = kept / np.float32(keep)
        return out

    def _step_encoder(
        self, batch: Any, by_leaf: Float32, gradients: Mapping[str, Float32], slowed: float, *, share: float = 1.0
    ) -> None:
        """A step of the encoder, at a share of its rate, and of all dense arrays that have a gradient."""
        how = self.common
        rate = how.encoder_learning_rate * share
        self.coder.step(batch, np.ascontiguousarray(by_leaf), rate * slowed)
        dense = rate * self.coder.dense_share
        rates = {n: slowed * (dense if n.startswith("encoder.") else self._dense_rate(n)) for n in gradients}
        self.dense.step(gradients, rates, threads=how.threads)

    def _dense_rate(self, name: str) -> float:
        """Of a dense array that is not the encoder's."""
        return self.common.learning_rate

    def _dense_leaves(self, *, without: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Dense arrays as tensors that want gradients: all, and the encoder's by its own names."""
        torch = self.torch
        inner = self.coder.leaves(torch)
        rest = {
            name: torch.from_numpy(value).requires_grad_()
            for name, value in self.dense.values.items()
            if not name.startswith("encoder.") and name != without
        }
        return {f"encoder.{name}": leaf for name, leaf in inner.items()} | rest, inner

    # Means of the weights

    @abstractmethod
    def _current(self) -> dict[str, Float32]:
        """The weights as they are trained, by name."""

    def _encoder_current(self) -> dict[str, Float32]:
        return {f"encoder.{name}": value for name, value in self.coder.weights().items()}

    def _average(self, done: float, i: int) -> None:
        """Now and then, late in a stage, move the means towards the weights."""
        if done < self.common.swa_start or (i + 1) % max(1, self.count // AVERAGES):
            return
        self.averaged[0] += 1
        share = np.float32(1 / self.averaged[0])
        for name, value in self._current().items():
            _move(self.means[name], value, share, self.common.threads)

    def final(self) -> dict[str, Float32]:
        """The weights that count: their mean, once there is one."""
        return self.means if self.averaged[0] else self._current()

    # What the loop asks

    def encoder_weights(self) -> dict[str, Array]:
        """Of the model as it is now."""
        return {
            name.removeprefix("encoder."): value for name, value in self.final().items() if name.startswith("encoder.")
        }

    def _encode(self, rows: Int32) -> Float32:
        texts = self.inputs.texts
        chosen = Inputs(
            None if self.inputs.X is None else take(self.inputs.X, rows),
            None if texts is None else [texts[int(row)] for row in rows],
        )
        return self.encoder.encode(self.encoder_weights(), chosen, threads=self.common.threads, device=str(self.device))

    @abstractmethod
    def _predict(self, vectors: Float32, k: int) -> Int32:
        """The k best labels of each row."""

    def measure(self) -> dict[str, float]:
        """P@1 of training rows; P@1 and R@100 of validation rows."""
        out = {"train_p1": self._quality(self.sample, 1)[0]}
        if len(self.validation):
            out["validation_p1"], out["validation_r100"] = self._quality(self.validation, 100)
        return out

    def _quality(self, rows: Int32, k: int) -> tuple[float, float]:
        """P@1 and R@k."""
        own, top = take(self.Y, rows), self._predict(self._encode(rows), k)
        hits, recall = 0, 0.0
        for i, found in enumerate(top):
            wanted = own.indices[own.indptr[i] : own.indptr[i + 1]]
            hits += int(found[0] in wanted)
            recall += len(np.intersect1d(wanted, found)) / max(1, len(wanted))
        return 100 * hits / max(1, len(rows)), 100 * recall / max(1, len(rows))

    def _index_state(self) -> dict[str, Array]:
        """Arrays of this object that belong to the state, by the names of its attributes."""
        return {"averaged": self.averaged}

    def arrays(self) -> dict[str, Array]:
        """The whole state, without copying."""
        parts: dict[str, Mapping[str, Array]] = {
            "coder": self.coder.arrays(),
            "dense": self.dense.arrays(),
            "labels": self.labels.arrays(),
            "mean": self.means,
            "index": self._index_state(),
        }
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from a state."""

        def of(part: str) -> dict[str, Array]:
            return {n.removeprefix(f"{part}."): a for n, a in arrays.items() if n.startswith(f"{part}.")}

        self.coder.restore(of("coder"))
        self.dense.restore(of("dense"))
        self.labels.restore(of("labels"))
        for name, value in of("mean").items():
            self.means[name][...] = value
        for name, value in of("index").items():
            getattr(self, name)[...] = value


def _move(mean: Float32, value: Float32, share: np.float32, threads: int | None) -> None:
    def part(span: tuple[int, int]) -> None:
        at = slice(*span)
        mean[at] += (value[at] - mean[at]) * share

    run(part, spans(len(mean), 16, at_least=256), threads=threads)
