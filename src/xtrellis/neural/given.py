"""Scores of labels that somebody else proposes: products of pairs, a piece at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import assemble, for_scipy
from ..parallel import run, spans, thread_count
from ..types import Csr, Float32
from .elias_network import NEVER, EliasNetwork

PIECE = 1 << 14  # pairs at once: their vectors lie side by side for a moment


def products(vectors: Float32, V: Float32, wanted: Csr, *, threads: int | None = None) -> Float32:
    """The product of row and label for every pair, in their order."""
    rows = np.repeat(np.arange(len(vectors)), np.diff(wanted.indptr))
    out = np.empty(len(rows), np.float32)

    def part(span: tuple[int, int]) -> None:
        at = slice(*span)
        out[at] = np.einsum("ij,ij->i", vectors[rows[at]], V[wanted.indices[at]])

    run(part, spans(len(rows), max(thread_count(threads), len(rows) // PIECE), at_least=64), threads=threads)
    return out


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
        edge = np.arange(int(counts.sum())) - np.repeat(starts - begins[labels], counts)
        values = by_cluster[np.repeat(rows, counts), clusters[edge]] + logs[edge]
        some = counts > 0
        if some.any():
            out[pairs][some] = np.maximum.reduceat(values, starts[some])
    return out


def as_scores(values: Any, wanted: Csr) -> Csr:
    """The pairs with these scores."""
    return for_scipy(assemble(np.asarray(values, np.float32), wanted.indices, wanted.indptr, wanted.shape))


def sigmoid(logits: Float32) -> Float32:
    """1 / (1 + e^-x), without a warning for large ones."""
    with np.errstate(over="ignore"):
        out: Float32 = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return out
