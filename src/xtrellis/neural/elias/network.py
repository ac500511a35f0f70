"""A trained ELIAS without its encoder: vector → best clusters → shortlist → labels. No torch here.

    s_c  = min(1, α softmax(W_C φ)_c)            clusters, of which the best b are looked at
    e_cl = min(1, β softmax(a_c)_l)              edges
    ŷ_l  = max over those clusters of s_c e_cl   the K labels of the largest Σ softmax_c e_cl are the shortlist
    p_l  = σ(w_l·φ) ŷ_l                          the answer

All are kept as logarithms: a cluster that is far off still has a gradient, and nothing underflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._native import neural as native
from ...arrays import Csr, Float32, Int32, Int64, ranges
from ...core import run, spans, thread_count
from .shortlist import Shortlist, find

NEVER = np.float32(-1e30)  # of an empty place


@dataclass(frozen=True)
class EliasNetwork:
    """clusters: C × dim, edge_ids and edge_logs: C × κ, labels: L × dim, scale: α."""

    clusters: Float32
    edge_ids: Int32
    edge_logs: Float32
    labels: Float32
    scale: float

    @property
    def n_labels(self) -> int:
        """Rows of `labels`."""
        return len(self.labels)

    @cached_property
    def edge_scores(self) -> Float32:
        """e; 0 in empty places."""
        return np.exp(self.edge_logs)

    def best_clusters(self, vectors: Float32, beam: int) -> tuple[Int32, Float32]:
        """The best clusters of each row and the logarithms of their scores, best first."""
        found, logs, _ = self.looked_at(vectors, beam)
        return found, logs

    def looked_at(self, vectors: Float32, beam: int) -> tuple[Int32, Float32, Float32]:
        """The same, and the clusters' shares of the row (softmax), which unlike scores are not cut off."""
        logits = np.empty((len(vectors), len(self.clusters)), np.float32)
        native.products(vectors, self.clusters, logits)
        found = np.empty((len(vectors), min(beam, len(self.clusters))), np.int32)
        native.beam(logits, found)
        top = logits.max(axis=1, initial=NEVER, keepdims=True)
        total = np.log(np.exp(logits - top).sum(axis=1, keepdims=True, dtype=np.float64)) + top
        chosen = np.take_along_axis(logits, found, axis=1)
        logs = np.minimum(np.log(self.scale) + chosen - total, 0).astype(np.float32)
        return found, logs, np.exp(chosen - total).astype(np.float32)

    def predict(
        self, vectors: Float32, k: int, *, beam: int, shortlist_size: int, by: str = "sum", threads: int | None = None
    ) -> tuple[Int32, Float32]:
        """The k best labels of each row and their scores p; -1 and 0 pad."""
        n, k = len(vectors), min(k, self.n_labels)
        labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

        def part(span: tuple[int, int]) -> None:
            at = slice(*span)
            found = self.shortlist(vectors[at], beam=beam, size=shortlist_size, by=by)
            native.rank(vectors[at], self.labels, found.labels, found.log_scores, labels[at], scores[at])

        run(part, spans(n, max(thread_count(threads), n // 64), at_least=4), threads=threads)
        return labels, np.exp(scores, out=scores)

    def n_asked(self, vectors: Float32, *, beam: int, shortlist_size: int, by: str = "sum") -> Int64:
        """How many labels' classifiers each row asks: what an answer costs."""
        parts = [
            (self.shortlist(vectors[first:last], beam=beam, size=shortlist_size, by=by).labels >= 0).sum(axis=1)
            for first, last in spans(len(vectors), -(-len(vectors) // 64))
        ]
        return np.concatenate(parts)

    def shortlist(self, vectors: Float32, *, beam: int, size: int, by: str = "sum") -> Shortlist:
        """The labels whose classifiers rows ask: the best by the sum of their paths, or by their best one."""
        clusters, logs, shares = self.looked_at(vectors, beam)
        sums = (shares, self.edge_scores) if by == "sum" else None
        width = min(size, self.n_labels, clusters.shape[1] * self.edge_ids.shape[1])
        return find(clusters, logs, self.edge_ids, self.edge_logs, width, n_labels=self.n_labels, sums=sums)

    def pruned(self, *, least: float = 0.0, top: int | None = None) -> EliasNetwork:
        """The same with fewer edges: those with at least this score, and of each cluster the best so many."""
        logs = self.edge_logs
        order = np.argsort(-logs, axis=1, kind="stable")[:, :top]
        ids, logs = np.take_along_axis(self.edge_ids, order, axis=1), np.take_along_axis(logs, order, axis=1)
        gone = logs < np.log(max(least, 1e-38))
        ids, logs = np.where(gone, np.int32(-1), ids), np.where(gone, NEVER, logs)
        width = max(1, int((ids >= 0).sum(axis=1).max()))
        return EliasNetwork(
            self.clusters, np.ascontiguousarray(ids[:, :width]), np.ascontiguousarray(logs[:, :width]), self.labels,
            self.scale,
        )  # fmt: skip

    @property
    def n_edges(self) -> int:
        """Places that are not empty."""
        return int((self.edge_ids >= 0).sum())


def path_logs(network: EliasNetwork, vectors: Float32, wanted: Csr) -> Float32:
    """log ŷ of every pair by its best path through any cluster, without a beam; NEVER where no cluster leads."""
    here = network.edge_ids >= 0
    order = np.argsort(network.edge_ids[here], kind="stable")
    clusters = np.nonzero(here)[0][order]
    logs = network.edge_logs[here][order]
    begins = np.searchsorted(network.edge_ids[here][order], np.arange(network.n_labels + 1))
    out = np.full(len(wanted.indices), NEVER, np.float32)
    step = max(1, (1 << 22) // len(network.clusters))  # rows whose cluster scores are held at once
    for first in range(0, len(vectors), step):
        last = min(first + step, len(vectors))
        found, scores = network.best_clusters(vectors[first:last], len(network.clusters))
        by_cluster = np.empty_like(scores)
        np.put_along_axis(by_cluster, found, scores, axis=1)
        pairs = slice(int(wanted.indptr[first]), int(wanted.indptr[last]))
        labels = wanted.indices[pairs]
        rows = np.repeat(np.arange(last - first), np.diff(wanted.indptr[first : last + 1]))
        counts = begins[labels + 1] - begins[labels]
        starts = np.cumsum(counts) - counts
        edge = ranges(begins[labels], counts)
        values = by_cluster[np.repeat(rows, counts), clusters[edge]] + logs[edge]
        some = counts > 0
        if some.any():
            out[pairs][some] = np.maximum.reduceat(values, starts[some])
    return out


def edge_logs(values: Any, ids: Any, scale: float, *, clamped: bool = True) -> Any:
    """log e of trainable values, by torch; e is at most 1."""
    empty = ids < 0
    found = values.masked_fill(empty, -1e9).log_softmax(1) + float(np.log(scale))
    return (found.clamp(max=0) if clamped else found).masked_fill(empty, float(NEVER))
