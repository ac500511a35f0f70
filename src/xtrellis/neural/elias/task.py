"""One ELIAS training: both stages in one run of epochs, so that a checkpoint anywhere goes on to the same model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse as sp

from ..._native import neural as native
from ...arrays import Array, Csr, Float32, Int32
from ...core import generator, progress, spans
from ..encoders import ClusterGraph, Encoder, EncoderTask, Inputs, homes
from ..training import AdamW, RowAdamW, one_thread, take
from .graph import connect, counted_values, first_values
from .losses import shortlist_loss
from .network import NEVER, EliasNetwork, edge_logs
from .shortlist import best_paths, find, gather_dot

REFRESH = 50  # steps between two looks at which edge of a label is the strongest


@dataclass(frozen=True)
class EliasSettings:
    """What `Elias` is asked for, resolved for the data at hand."""

    edges_per_cluster: int
    beam: int
    shortlist_size: int
    cluster_scale: float
    edge_scale: float
    shortlist_weight: float
    dropout: float
    batch_size: int
    epochs: int
    stage1_epochs: int
    learning_rate: float
    edge_learning_rate: float
    edge_start: str
    first_cluster_rows: float
    folds: int
    encoder_learning_rate: float
    weight_decay: float
    accumulate_steps: int
    swa_start: float
    reset_classifiers: bool
    stage2_encoder_factor: float
    seed: int
    threads: int | None


@dataclass
class Pending:
    """Gradients that wait to be applied to the label vectors."""

    ids: list[Int32]
    gradients: list[Float32]
    vectors: list[Float32]


class EliasTask(EncoderTask):
    """What the loop runs."""

    def __init__(
        self, inputs: Inputs, Y: Csr, train: Int32, validation: Int32, graph: ClusterGraph, encoder: Encoder,
        how: EliasSettings, torch: Any, device: Any,
    ) -> None:  # fmt: skip
        super().__init__(inputs, Y, train, validation, encoder, how, torch, device)
        self.how = how
        self.stage = np.ones(1, np.int64)
        self.ids = np.full((graph.n_clusters, max(how.edges_per_cluster, graph.ids.shape[1])), -1, np.int32)
        self.ids[:, : graph.ids.shape[1]] = graph.ids
        values: dict[str, Float32] = {f"encoder.{name}": value for name, value in self.coder.dense.items()}
        values["clusters"] = np.zeros((graph.n_clusters, encoder.width), np.float32)
        values["edges"] = np.zeros(self.ids.shape, np.float32)
        decay = {name: how.weight_decay for name, value in values.items() if value.ndim > 1 and name != "edges"}
        self.dense = AdamW(values, decay=decay, biased=("clusters",))
        self.labels = RowAdamW(self._first_labels(), decay=how.weight_decay, threads=how.threads)
        self.means = {name: np.zeros_like(value) for name, value in self._current().items()}

    # One epoch

    def epoch(self, epoch: int) -> Iterator[tuple[int, float, float]]:
        how = self.how
        if epoch == how.stage1_epochs and self.stage[0] == 1:
            self._second_stage()
        first, last = (0, how.stage1_epochs) if self.stage[0] == 1 else (how.stage1_epochs, how.epochs)
        pending = Pending([], [], [])
        with one_thread(self.torch):
            for i, rows in enumerate(self._batches(epoch)):
                if i % REFRESH == 0:
                    self.home = homes(self._graph(), self._edge_logs_now(clamped=False))
                done = (epoch - first + i / self.count) / (last - first)
                slowed = self._slowed(done, last - first)
                loss, short = self._step(rows, epoch, i, slowed, pending)
                if (i + 1) % how.accumulate_steps == 0 or i + 1 == self.count:
                    self._apply(pending, how.learning_rate * slowed)
                self._average(done, i)
                yield len(rows), loss, short

    def _step(self, rows: Int32, epoch: int, i: int, slowed: float, pending: Pending) -> tuple[float, float]:
        torch, how = self.torch, self.how
        batch, own = self.coder.batch(rows, epoch), take(self.Y, rows)
        leaf = self.coder.leaf(batch)
        mask = self._mask(len(rows), epoch, i)
        learned = int(self.stage[0]) == 2
        values = torch.from_numpy(self.dense.values["edges"]).requires_grad_(learned)
        edges = edge_logs(values, torch.from_numpy(self.ids), how.edge_scale) if learned else self._fixed_edges()
        logs = edges.detach().numpy()
        pieces = self._pieces(len(rows))

        def piece(span: tuple[int, int]) -> tuple[list[Array], list[Float32]]:
            return self._piece(batch, leaf, own, mask, logs, span, len(rows))

        mine = self.processes.run(piece, pieces, threads=how.threads)
        parts = self.processes.gather([part[0] for part in mine], len(pieces))
        loss, short = (float(sum(part[0][j] for part in parts)) for j in (0, 1))
        if not (np.isfinite(loss) and np.isfinite(short)):  # the loop stops here; nothing is spoilt
            return loss, short
        names = [name for name in self.dense.values if name != "edges"]
        like = [logs, *(self.dense.values[name] for name in names)]
        by_edge, *by_dense = self.processes.add([part[1] for part in mine], like, len(pieces))
        gradients = dict(zip(names, by_dense, strict=True))
        if learned:
            (by_value,) = torch.autograd.grad(edges, [values], torch.from_numpy(by_edge))
            gradients["edges"] = by_value.numpy()
        share = how.stage2_encoder_factor if learned else 1.0
        self._step_encoder(batch, np.concatenate([part[1] for part in parts]), gradients, slowed, share=share)
        for part in parts:
            pending.ids.append(part[2])
            pending.gradients.append(part[3])
            pending.vectors.append(part[4])
        return loss, short

    def _piece(
        self, batch: Any, leaf: Float32, own: Any, mask: Float32, edges: Float32, span: tuple[int, int], n: int
    ) -> tuple[list[Array], list[Float32]]:
        """Of some rows of a batch of n: both losses and gradients of their own; gradients of what all rows share."""
        torch, how, at = self.torch, self.how, slice(*span)
        start = torch.from_numpy(leaf[at]).requires_grad_()
        edge = torch.from_numpy(edges).requires_grad_()
        dense, inner = self._dense_leaves(without="edges")
        vectors = self.coder.forward(torch, batch, span, start, inner).cpu() * torch.from_numpy(mask[at])
        logits = vectors @ dense["clusters"].T
        logs = (logits.log_softmax(1) + float(np.log(how.cluster_scale))).clamp(max=0)
        offsets = own.indptr[span[0] : span[1] + 1]
        ids, offsets = own.indices[offsets[0] : offsets[-1]], offsets - offsets[0]
        clusters = self._clusters(logits.detach().numpy(), offsets, ids)
        chosen = logs.gather(1, torch.from_numpy(clusters.astype(np.int64)).clamp(min=0))
        k = min(max(how.shortlist_size, int(np.diff(offsets).max(initial=0))), self.n_labels)
        found = find(
            clusters, chosen.detach().contiguous().numpy(), self.ids, edges, k,
            n_labels=self.n_labels, wanted=(offsets, ids),
        )  # fmt: skip
        reached = best_paths(torch, chosen, edge, found)
        labels = torch.from_numpy(self.labels.weights)
        scores = gather_dot(torch, vectors, labels, torch.from_numpy(found.labels))
        positive = torch.from_numpy(np.arange(k) < np.diff(offsets)[:, None])
        loss = shortlist_loss(torch, scores, reached, positive, how.shortlist_weight) / n
        short = -float(found.log_scores[positive.numpy()].sum(dtype=np.float64)) / n
        leaves = [start, scores, edge, *dense.values()]
        found_gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        by_start, by_score, by_edge, *by_dense = (
            np.zeros(tuple(x.shape), np.float32) if g is None else g.cpu().numpy()
            for x, g in zip(leaves, found_gradients, strict=True)
        )
        losses = np.array([float(loss.detach()), short])
        return [losses, by_start, found.labels, by_score, vectors.detach().numpy()], [by_edge, *by_dense]

    def _clusters(self, logits: Float32, offsets: Any, ids: Int32) -> Int32:
        """The best clusters of each row, and the strongest one of each label that it has; -1 pads."""
        best = np.empty((len(logits), min(self.how.beam, logits.shape[1])), np.int32)
        native.beam(logits, best)
        counts = np.diff(offsets)
        parents = np.full((len(logits), int(counts.max(initial=0))), -1, np.int32)
        rows = np.repeat(np.arange(len(counts)), counts)
        parents[rows, np.arange(len(ids)) - np.repeat(offsets[:-1], counts)] = self.home[ids]
        parents[(parents[:, :, None] == best[:, None, :]).any(2)] = -1
        return np.ascontiguousarray(np.concatenate([best, parents], axis=1))

    def _apply(self, pending: Pending, rate: float) -> None:
        if not pending.ids:
            return
        width = max(ids.shape[1] for ids in pending.ids)

        def join(arrays: list[Any], fill: float) -> Any:
            if all(a.shape[1] == width for a in arrays):
                return np.concatenate(arrays)
            return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=fill) for a in arrays])

        self.labels.step(join(pending.ids, -1), join(pending.gradients, 0), np.concatenate(pending.vectors), rate)
        pending.ids, pending.gradients, pending.vectors = [], [], []

    def _dense_rate(self, name: str) -> float:
        return self.how.edge_learning_rate if name == "edges" else self.how.learning_rate

    # The index

    def _graph(self) -> ClusterGraph:
        return ClusterGraph(self.ids, self.n_labels)

    def _fixed_edges(self) -> Any:
        return self.torch.from_numpy(np.where(self.ids < 0, NEVER, np.float32(0)))

    def _edge_logs_now(self, values: Float32 | None = None, *, clamped: bool = True) -> Float32:
        """Without clamping, edges of full score still differ: who is the strongest can be told."""
        if self.stage[0] == 1:
            fixed: Float32 = self._fixed_edges().numpy()
            return fixed
        torch = self.torch
        values = self.dense.values["edges"] if values is None else values
        with one_thread(torch):
            ids = torch.from_numpy(self.ids)
            out: Float32 = edge_logs(torch.from_numpy(values), ids, self.how.edge_scale, clamped=clamped).numpy()
        return out

    def _second_stage(self) -> None:
        """Edges from where the first stage sends rows; label vectors begin anew, as the authors' program does."""
        how = self.how
        if self.averaged[0]:
            for name, value in self._current().items():
                value[...] = self.means[name]
        best, scores = self._out_of_fold() if how.folds > 1 else self._best_clusters(self.rows)
        own = take(self.Y, self.rows)
        Y = sp.csr_array((own.data, own.indices, own.indptr), shape=own.shape)
        graph, counts = connect(
            best, scores, Y, len(self.ids), self.ids.shape[1], first=self._graph(), first_rows=how.first_cluster_rows
        )
        self.ids[...] = graph.ids
        values = first_values(graph, how.seed)
        if how.edge_start == "counts":
            label_counts = np.bincount(own.indices, minlength=self.n_labels).astype(np.float64)
            label_counts += how.first_cluster_rows
            values = counted_values(graph, counts, label_counts)
        self.dense.values["edges"][...] = values
        self.dense.forget("edges")
        if how.reset_classifiers:
            self.labels.begin(self._first_labels())
        self.stage[0], self.averaged[0] = 2, 0

    def _best_clusters(self, rows: Int32) -> tuple[Int32, Float32]:
        """M (eq. 9): the best clusters of rows, and their scores."""
        network = self.network()
        best = np.empty((len(rows), min(self.how.beam, len(self.ids))), np.int32)
        scores = np.empty(best.shape, np.float32)
        with progress.step("connecting clusters", total=len(rows), unit="rows") as advance:
            for first, last in spans(len(rows), -(-len(rows) // 4096)):
                best[first:last], logs = network.best_clusters(self._encode(rows[first:last]), self.how.beam)
                scores[first:last] = np.exp(logs)
                advance(last - first)
        return best, scores

    def _out_of_fold(self) -> tuple[Int32, Float32]:
        """M by first stages that were trained without the row: rows that a model has learned by heart all come to the
        clusters of their own labels, and say nothing of where new rows will come."""
        how = self.how
        fold = generator(how.seed, "folds").permutation(len(self.rows)) % how.folds
        best = np.empty((len(self.rows), min(how.beam, len(self.ids))), np.int32)
        scores = np.empty(best.shape, np.float32)
        none, graph = self.rows[:0], ClusterGraph(self.ids.copy(), self.n_labels)
        for i in range(how.folds):
            rest = EliasTask(
                self.inputs, self.Y, self.rows[fold != i], none, graph, self.encoder, how, self.torch, self.device
            )
            for epoch in range(how.stage1_epochs):
                with progress.step(f"fold {i + 1}, epoch {epoch + 1}", total=len(rest.rows), unit="rows") as advance:
                    for n, *_ in rest.epoch(epoch):
                        advance(n)
            best[fold == i], scores[fold == i] = rest._best_clusters(self.rows[fold == i])
        return best, scores

    # What the loop asks

    def _current(self) -> dict[str, Float32]:
        dense = {name: self.dense.values[name] for name in ("clusters", "edges")}
        return {**self._encoder_current(), **dense, "labels": self.labels.weights}

    def network(self) -> EliasNetwork:
        """The model as it is now; arrays are shared."""
        final = self.final()
        logs = self._edge_logs_now(final["edges"])
        return EliasNetwork(final["clusters"], self.ids, logs, final["labels"], self.how.cluster_scale)

    def _predict(self, vectors: Float32, k: int) -> Int32:
        how = self.how
        return self.network().predict(
            vectors, k, beam=how.beam, shortlist_size=how.shortlist_size, threads=how.threads
        )[0]

    def measure(self) -> dict[str, float]:
        return {**super().measure(), "stage": float(self.stage[0])}

    def _index_state(self) -> dict[str, Array]:
        return {**super()._index_state(), "stage": self.stage, "ids": self.ids}
