"""Answers with labels that have no rows, by what is known of the labels themselves (their names, as features or texts).

The encoder reads a label's name as it reads a row. A row near the name, in directions in which rows differ little, is
likely to have the label: w_l = a·S⁻¹(φ(name_l) − mean), with the rows' covariance S, shrunk. How much such a margin is
worth, a and a bias b, is learned from names of labels that have rows, in the shortlists of rows; so scores can be
compared with those of trained classifiers. A label is found through the clusters that its name itself would come to.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Csr, Float32, Float64, Int32
from ...core import spans
from .network import NEVER, EliasNetwork

ROWS = 2000  # that say how vectors vary and what a margin is worth
SHRUNK = 1.0  # mean variances that are added to every direction's
CLUSTERS = 3  # that lead to a label without rows
STEPS = 25  # of Newton's method
LEAST = 10  # labels with rows and names, to learn from


def answer_unseen(
    network: EliasNetwork, names: Float32, unseen: Int32, known: Int32, vectors: Float32, Y: Csr, *, beam: int,
    shortlist_size: int, by: str,
) -> EliasNetwork:  # fmt: skip
    """The network with classifiers and edges for the labels `unseen`.

    `names` are the encoder's vectors of all labels, `known` the labels to learn from; `vectors` and `Y` belong to some
    training rows.
    """
    if not len(unseen) or len(known) < LEAST or len(vectors) < 2:
        return network
    guesses = _directions(names, known, vectors)
    scale, shift = _worth(network, guesses, known, vectors, Y, beam, shortlist_size, by)
    labels = network.labels.copy()
    labels[unseen] = scale * guesses[unseen]
    labels[unseen, -1] = shift
    ids, logs = _with_edges(network, names, unseen)
    return EliasNetwork(network.clusters, ids, logs, labels, network.scale)


def _directions(names: Float32, known: Int32, vectors: Float32) -> Float64:
    """S⁻¹(φ(name) − mean) of every label, about as long as 1; the entry that meets the constant is 0."""
    inner = names[:, :-1].astype(np.float64)
    inner -= inner[known].mean(axis=0)
    inner /= np.maximum(np.linalg.norm(inner, axis=1, keepdims=True), 1e-12)
    S = np.atleast_2d(np.cov(vectors[:, :-1].astype(np.float64).T))
    S[np.diag_indices(len(S))] += SHRUNK * np.trace(S) / len(S) + 1e-12
    out = np.zeros(names.shape)
    out[:, :-1] = np.linalg.solve(S, inner.T).T
    return out / max(float(np.linalg.norm(out[known], axis=1).mean()), 1e-12)


def _worth(
    network: EliasNetwork,
    guesses: Float64,
    known: Int32,
    vectors: Float32,
    Y: Csr,
    beam: int,
    shortlist_size: int,
    by: str,
) -> tuple[float, float]:
    """a and b by which σ(a·margin + b) is most likely right about known labels in rows' shortlists."""
    usable = np.zeros(network.n_labels, bool)
    usable[known] = True
    margins, truth = [], []
    for first, last in spans(len(vectors), -(-len(vectors) // 64)):
        ids = network.shortlist(vectors[first:last], beam=beam, size=shortlist_size, by=by).labels
        rows, places = np.nonzero((ids >= 0) & usable[np.maximum(ids, 0)])
        found = ids[rows, places]
        margins.append(np.einsum("ij,ij->i", vectors[first + rows], guesses[found]))
        counts = np.diff(Y.indptr[first : last + 1])
        own = Y.indices[Y.indptr[first] : Y.indptr[last]]
        pairs = np.repeat(np.arange(last - first), counts) * network.n_labels + own
        truth.append(np.isin(rows * network.n_labels + found, pairs))
    z, y = np.concatenate(margins), np.concatenate(truth).astype(np.float64)
    if not 0 < y.sum() < len(y):
        return 1.0, 0.0
    A = np.stack([z, np.ones_like(z)], axis=1)
    at = np.array([0.0, np.log(y.mean() / (1 - y.mean()))])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(A @ at, -30, 30)))
        curve = (A * (p * (1 - p) + 1e-9)[:, None]).T @ A
        at += np.clip(np.linalg.solve(curve + 1e-6 * np.eye(2), A.T @ (y - p)), -2, 2)
    return float(max(at[0], 0.0)), float(at[1])


def _with_edges(network: EliasNetwork, names: Float32, unseen: Int32) -> tuple[Int32, Float32]:
    """Edges of the labels from the best clusters of their names: the best one of full score."""
    best, logs = network.best_clusters(np.ascontiguousarray(names[unseen]), CLUSTERS)
    clusters, labels = best.reshape(-1), np.repeat(unseen, best.shape[1])
    values = (logs - logs[:, :1]).reshape(-1)
    order = np.lexsort((labels, -values, clusters))
    place = np.arange(len(order)) - np.searchsorted(clusters[order], clusters[order])
    more = np.full((len(network.edge_ids), int(place.max()) + 1), -1, np.int32)
    more_logs = np.full(more.shape, NEVER, np.float32)
    more[clusters[order], place] = labels[order]
    more_logs[clusters[order], place] = values[order]
    # A partition may have put labels without rows anywhere: those edges go.
    old = np.where(np.isin(network.edge_ids, unseen), np.int32(-1), network.edge_ids)
    old_logs = np.where(old < 0, NEVER, network.edge_logs)
    return np.concatenate([old, more], axis=1), np.concatenate([old_logs, more_logs], axis=1)
