"""One GLaS training (Guo et al. 2019, algorithm 2): batches, losses, steps.

The dense part of a batch (activations, scores, loss and their gradients) is cut into pieces of rows that torch works on
one thread each; their gradients are added in order. So a step is the same for any number of threads, and no more than
pieces × block scores exist at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Csr, Float32, Int32, Int64, take_rows
from ...core import generator, progress
from ..scoring import exact
from ..training import AdamW, Batch, Batches, Embedding, Scalars, UnitVectors, one_thread, run_pieces, take
from . import prior, regularizers, start
from .losses import LOSSES
from .network import EmbeddingNetwork
from .similarity import Similarity

PIECE = 512  # rows of a batch that are worked on at once
SCALE = 0.1  # steps of the scale of a softmax against those of embeddings: it must be able to double in an epoch
FREE = 0.1  # steps of biases and lengths of labels against those of embeddings: small beside cosines
DENSE = 0.01  # steps of the few dense parameters, which every row moves, against those of embeddings
MEASURED, GLANCE = 1000, 500  # held-out and training rows at most that quality is measured on after each epoch


@dataclass(frozen=True)
class GlasSettings:
    """What `Glas` is asked for, resolved for the data at hand."""

    dim: int
    hidden: str
    loss: str
    margin: float
    n_hard_negatives: int
    regularizer: str | None
    similarity: str
    regularizer_weight: float
    input_dropout: float
    dropout_scale: str
    scale: float
    n_negatives: int
    batch_size: int
    epochs: int
    learning_rate: float
    weight_norm: bool
    init: str
    label_terms: str
    seed: int
    threads: int | None


class GlasTask:
    """What `Loop` runs."""

    def __init__(
        self, X: Csr, Y: Csr, train: Int32, validation: Int32, how: GlasSettings, torch: Any, device: Any
    ) -> None:
        self.X, self.Y, self.how, self.torch, self.device = X, Y, how, torch, device
        self.batches = Batches(
            X, Y, train, size=how.batch_size, dropout=how.input_dropout, further=how.n_negatives, seed=how.seed,
            scale=how.dropout_scale,
        )  # fmt: skip
        rng = generator(how.seed, "measure")
        self.held_out = validation
        self.sample, self.validation = (
            np.sort(rng.permutation(rows)[:most]).astype(np.int32)
            for rows, most in ((self.batches.rows, GLANCE), (validation, MEASURED))
        )
        relu = how.hidden == "relu"
        self.embedding = Embedding(int(X.shape[1]), how.dim, seed=how.seed, threads=how.threads)
        self.labels = UnitVectors(int(Y.shape[1]), how.dim, seed=how.seed, threads=how.threads)
        kinds = {"none": (), "bias": ("bias",), "bias and length": ("bias", "length")}[how.label_terms]
        self.terms = {kind: Scalars(int(Y.shape[1])) for kind in kinds}
        dense: dict[str, Float32] = {
            "bias": np.zeros(how.dim, np.float32),
            "length": np.zeros(1, np.float32),  # logarithm of the shared length
        }
        if how.loss == "softmax":
            dense["scale"] = np.log(np.full(1, how.scale, np.float32))
        if relu:
            dense["mix"] = np.zeros((how.dim, how.dim), np.float32)
        self.dense = AdamW(dense)
        self.relu = relu
        # All that is counted is counted in the rows that are trained on.
        seen = take_rows(Y, self.batches.rows)
        self.frequency: Int64 = np.bincount(seen.indices, minlength=int(Y.shape[1]))
        self.odds = self.batches.odds()
        needs_similarity = how.regularizer in ("glas", "laplacian")
        self.similarity = Similarity(seen, how.similarity, threads=how.threads) if needs_similarity else None
        if how.init == "centroids":
            V = start.centroids(self.network(), X, Y, self.batches.rows, threads=how.threads)
            self.labels.weights[V.any(axis=1)] = V[V.any(axis=1)]

    # One epoch

    def epoch(self, epoch: int) -> Iterator[tuple[int, float, float]]:
        with one_thread(self.torch):
            for i, batch in enumerate(self.batches.epoch(epoch)):
                done = (epoch + i / self.batches.count) / self.how.epochs
                loss, penalty = self._step(batch, self.how.learning_rate * max(1 - done, 0.05))
                yield len(batch), loss, penalty

    def _step(self, batch: Batch, rate: float) -> tuple[float, float]:
        torch = self.torch
        summed = self.embedding.forward(batch.X)
        V = self.labels.take(batch.block)
        terms = {name: scalars.take(batch.block) for name, scalars in self.terms.items()}
        gains = self._gains()
        edges = [*range(0, len(batch), PIECE), len(batch)]
        cuts = np.searchsorted(batch.known_rows, edges)

        def piece(i: int) -> tuple[float, float, list[Any]]:
            at = slice(edges[i], edges[i + 1])
            pairs = slice(cuts[i], cuts[i + 1])
            known = batch.known_rows[pairs] - edges[i], batch.known_positions[pairs]
            return self._piece(summed[at], V, terms, gains, batch, at, known)

        parts = run_pieces(torch, piece, range(len(edges) - 1), threads=self.how.threads)
        by_sum = np.concatenate([part[2][0] for part in parts])
        by_label, *by_dense = (sum(part[2][j] for part in parts) for j in range(1, len(parts[0][2])))
        loss = sum(part[0] for part in parts)
        penalty = sum(part[1] for part in parts)
        if self.how.regularizer not in (None, "gravity"):
            drawn = np.flatnonzero(batch.counts)
            leaf = torch.from_numpy(V[drawn]).to(self.device).requires_grad_()
            value = self._penalty(leaf, batch.block[drawn], batch.counts[drawn])
            penalty = float(value.detach())
            (gradient,) = torch.autograd.grad(float(self.how.regularizer_weight) * value, [leaf])
            by_label[drawn] += gradient.cpu().numpy()
        if np.isfinite(loss) and np.isfinite(penalty):  # otherwise the loop stops here; nothing is spoilt
            self.embedding.step(batch.X, np.ascontiguousarray(by_sum), rate)
            self.labels.step(batch.block, np.ascontiguousarray(by_label), rate)
            by_term, by_dense = by_dense[: len(terms)], by_dense[len(terms) :]
            for scalars, gradient in zip(self.terms.values(), by_term, strict=True):
                scalars.step(batch.block, gradient, FREE * rate)
            gradients = dict(zip(self.dense.values, by_dense, strict=True))
            self.dense.step(gradients, {name: (SCALE if name == "scale" else DENSE) * rate for name in gradients})
        return float(loss), float(penalty)

    def _piece(
        self, summed: Float32, V: Float32, terms: dict[str, Float32], gains: Float32, batch: Batch, at: slice,
        known: tuple[Any, Any],
    ) -> tuple[float, float, list[Array]]:  # fmt: skip
        """Loss and gradients of some rows of a batch."""
        torch, how = self.torch, self.how

        def leaf(array: Array) -> Any:
            return torch.from_numpy(array).to(self.device).requires_grad_()

        def constant(array: Array) -> Any:
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

        s, v = leaf(summed), leaf(V)
        dense = {name: leaf(value) for name, value in self.dense.values.items()}
        free = {name: leaf(value) for name, value in terms.items()}
        hidden = s * constant(gains) * dense["length"].exp() + dense["bias"]
        if how.hidden == "relu-only":
            hidden = hidden.relu()
        if self.relu:
            hidden = hidden + hidden.relu() @ dense["mix"].T
        inputs = hidden / hidden.norm(dim=1, keepdim=True).clamp(min=1e-12)
        scores = inputs @ v.T
        if "length" in free:
            scores = scores * free["length"].exp()
        if "bias" in free:
            scores = scores + free["bias"]
        if "scale" in dense:
            scores = scores * dense["scale"].exp()
        places = constant(known[0]), constant(known[1])
        loss = LOSSES[how.loss](
            scores, constant(batch.positives[at]), places, gap=how.margin, hardest=how.n_hard_negatives,
            odds=constant(self.odds[batch.block]),
        )  # fmt: skip
        loss = loss / len(batch)
        total, penalty = loss, 0.0
        if how.regularizer == "gravity":
            pull = regularizers.gravity(v, inputs, constant(batch.counts.astype(np.float32))) / len(batch)
            total, penalty = loss + how.regularizer_weight * pull, float(pull.detach())
        leaves = [s, v, *free.values(), *dense.values()]
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
        arrays = [
            np.zeros(tuple(x.shape), np.float32) if g is None else g.cpu().numpy()
            for x, g in zip(leaves, gradients, strict=True)
        ]
        return float(loss.detach()), penalty, arrays

    def _penalty(self, V: Any, labels: Int32, drawn: Int64) -> Any:
        counts = self.torch.from_numpy(drawn.astype(np.float32)).to(self.device)
        if self.similarity is None:
            return regularizers.spread_out(V, counts)
        function = regularizers.glas if self.how.regularizer == "glas" else regularizers.laplacian
        return function(V, self.similarity.block(labels, drawn), counts, self.torch, threads=self.how.threads)

    def _gains(self) -> Float32:
        """What each output is multiplied with, apart from the shared length."""
        ones = np.ones(self.how.dim, np.float32)
        return ones / self.embedding.lengths() if self.how.weight_norm else ones

    # What the loop asks

    def network(self) -> EmbeddingNetwork:
        """The model as it is now; arrays are shared where they need not change."""
        length = np.exp(self.dense.values["length"][0])
        W = self.embedding.weights * (length * self._gains())
        values = self.dense.values
        rectified = self.how.hidden == "relu-only"
        V = self.labels.weights
        if "length" in self.terms:
            V = V * np.exp(self.terms["length"].weights)[:, None]
        network = EmbeddingNetwork(W, values["bias"].copy(), values.get("mix"), V, rectified)
        return network.with_offsets(self.terms["bias"].weights) if "bias" in self.terms else network

    def measure(self) -> dict[str, float]:
        network = self.network()
        found = {"train_p1": self._precision(network, self.sample)}
        if len(self.validation):
            found["validation_p1"] = self._precision(network, self.validation)
        return found

    def choose_prior(self) -> float:
        """How much frequencies count, by all held-out rows; 0 if they are too few to tell."""
        if len(self.held_out) < prior.LEAST:
            return 0.0
        network, rows = self.network(), self.held_out
        chosen, gain = prior.choose(network, self.X, self.Y, rows, self.frequency, threads=self.how.threads)
        progress.note(f"prior {chosen:+.2f}: P@1 of held-out rows {gain:+.2f}")
        return chosen

    def _precision(self, network: EmbeddingNetwork, rows: Int32) -> float:
        if not len(rows):
            return 0.0
        inputs = network.queries(take(self.X, rows), threads=self.how.threads)
        best = exact(inputs, network.V, 1, threads=self.how.threads)[0][:, 0]
        hits = sum(int(label in _labels(self.Y, row)) for row, label in zip(rows, best, strict=True))
        return 100 * hits / len(rows)

    def _parts(self) -> dict[str, Any]:
        trained = {"embedding": self.embedding, "labels": self.labels, "dense": self.dense}
        return trained | {f"label_{name}": scalars for name, scalars in self.terms.items()}

    def arrays(self) -> dict[str, Array]:
        parts = {name: part.arrays() for name, part in self._parts().items()}
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        for name, part in self._parts().items():
            inner = {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}
            part.restore(inner)


def _labels(Y: Csr, row: int) -> Int32:
    found: Int32 = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
    return found
