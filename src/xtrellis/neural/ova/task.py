"""One training of an encoder with a full linear layer: every label is scored for every row.

A step works on blocks of labels: scores of the whole batch, the loss's gradient, the encoder's share of it and a step
of the block's weights, before the next block. So rows × labels never exist at once, and the gradient is exact.
Several processes share the encoder's work; each steps all label weights by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Csr, Float32, Int32, row_numbers
from ...core import spans
from ..encoders import Encoder, EncoderTask, Inputs
from ..scoring import exact
from ..training import AdamW, RowAdamW, one_thread, run_pieces, take

LABELS = 1024  # of a block


def _logistic(torch: Any, scores: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Binary cross-entropy of every score, summed, and its gradient; (rows, columns) are what is true."""
    total = torch.nn.functional.softplus(scores).sum(dtype=torch.float64) - scores[rows, columns].sum()
    g = scores.sigmoid_()
    g[rows, columns] -= 1
    return total, g


def _squared_hinge(torch: Any, scores: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """max(0, 1 - yz)² of every score z, y = ±1, as X-Transformer has it (Chang et al. 2020)."""
    side = torch.full_like(scores, -1.0)
    side[rows, columns] = 1
    short = (1 - side * scores).clamp_(min=0)
    return (short * short).sum(dtype=torch.float64), short.mul_(side).mul_(-2)


LOSSES: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, Any]]] = {
    "logistic": _logistic,
    "squared-hinge": _squared_hinge,
}
HINGE_BIAS = -1.0  # of a label at the beginning: most labels are wrong


@dataclass(frozen=True)
class OvASettings:
    """What `EncoderOvA` is asked for, resolved for the data at hand."""

    dropout: float
    batch_size: int
    epochs: int
    learning_rate: float
    encoder_learning_rate: float
    weight_decay: float
    swa_start: float
    seed: int
    threads: int | None
    loss: str = "logistic"


class OvATask(EncoderTask):
    """What the loop runs."""

    def __init__(
        self, inputs: Inputs, Y: Csr, train: Int32, validation: Int32, encoder: Encoder, how: OvASettings, torch: Any,
        device: Any,
    ) -> None:  # fmt: skip
        super().__init__(inputs, Y, train, validation, encoder, how, torch, device)
        self.how = how
        values = {f"encoder.{name}": value for name, value in self.coder.dense.items()}
        self.dense = AdamW(values, decay={name: how.weight_decay for name, value in values.items() if value.ndim > 1})
        self.labels = RowAdamW(self._first_labels(self._biases()), decay=how.weight_decay, threads=how.threads)
        self.means = {name: np.zeros_like(value) for name, value in self._current().items()}

    def _biases(self) -> float | Float32:
        """With the logistic loss those that a model without features would learn, log(rows with / rows without).

        From one constant all labels would first have to unlearn what is wrong about it, tens of thousands together:
        4 points of P@1 and R@100 less on held-out rows of debian-depends.
        """
        if self.how.loss != "logistic":
            return HINGE_BIAS
        own = take(self.Y, self.rows)
        counts = np.bincount(own.indices, minlength=self.n_labels)
        biases: Float32 = np.log((counts + 0.5) / (len(self.rows) - counts + 0.5)).astype(np.float32)
        return biases

    def epoch(self, epoch: int) -> Iterator[tuple[int, float, float]]:
        """One pass over the rows."""
        with one_thread(self.torch):
            for i, rows in enumerate(self._batches(epoch)):
                done = (epoch + i / self.count) / self.how.epochs
                loss = self._step(rows, epoch, i, self._slowed(done, self.how.epochs))
                self._average(done, i)
                yield len(rows), loss, 0.0

    def _step(self, rows: Int32, epoch: int, i: int, slowed: float) -> float:
        torch, how = self.torch, self.how
        batch, own = self.coder.batch(rows, epoch), take(self.Y, rows)
        leaf, mask = self.coder.leaf(batch), self._mask(len(rows), epoch, i)
        pieces = self._pieces(len(rows))

        def forward(span: tuple[int, int]) -> tuple[Any, list[Any]]:
            at, (dense, inner) = slice(*span), self._dense_leaves()
            start = torch.from_numpy(leaf[at]).requires_grad_()
            vectors = self.coder.forward(torch, batch, span, start, inner).cpu() * torch.from_numpy(mask[at])
            return vectors, [start, *dense.values()]

        processes, mine = self.processes, self.processes.share(range(len(pieces)))
        ahead = processes.run(forward, pieces, threads=how.threads)
        found = processes.gather([[part[0].detach().numpy()] for part in ahead], len(pieces))
        vectors = torch.from_numpy(np.concatenate([part[0] for part in found]))
        loss, by_vector = self._labels(vectors, own, how.learning_rate * slowed)
        if not np.isfinite(loss):
            return loss

        def backward(j: int) -> list[Any]:
            (first, last), (out, leaves) = pieces[mine[j]], ahead[j]
            return [g.cpu().numpy() for g in torch.autograd.grad(out, leaves, by_vector[first:last])]

        parts = run_pieces(torch, backward, range(len(ahead)), threads=how.threads)
        by_leaf = np.concatenate([part[0] for part in processes.gather([part[:1] for part in parts], len(pieces))])
        by_dense = processes.add([part[1:] for part in parts], list(self.dense.values.values()), len(pieces))
        self._step_encoder(batch, by_leaf, dict(zip(self.dense.values, by_dense, strict=True)), slowed)
        return loss

    def _labels(self, vectors: Any, own: Any, rate: float) -> tuple[float, Any]:
        """Loss, its gradient by the vectors; and a step of all label weights."""
        torch, n, labels = self.torch, len(vectors), self.labels
        labels.steps += 1
        places = row_numbers(own)
        order = np.argsort(own.indices, kind="stable")
        ids, places = own.indices[order], places[order]

        def block(span: tuple[int, int]) -> tuple[float, Any]:
            first, last = span
            W = torch.from_numpy(labels.weights[first:last])
            scores = vectors @ W.T
            begin, end = np.searchsorted(ids, span)
            rows = torch.from_numpy(places[begin:end])
            columns = torch.from_numpy(ids[begin:end].astype(np.int64) - first)
            total, g = LOSSES[self.how.loss](torch, scores, rows, columns)
            g /= n
            by_vector, by_label = g @ W, g.T @ vectors
            value = float(total) / n
            if np.isfinite(value):
                labels.step_block(first, by_label.numpy(), rate)
            return value, by_vector

        blocks = spans(self.n_labels, -(-self.n_labels // LABELS))
        parts = run_pieces(torch, block, blocks, threads=self.how.threads)
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _current(self) -> dict[str, Float32]:
        return {**self._encoder_current(), "labels": self.labels.weights}

    def _predict(self, vectors: Float32, k: int) -> Int32:
        return exact(vectors, self.final()["labels"], min(k, self.n_labels), threads=self.how.threads)[0]
