"""Why models with an encoder answer as they do: their products taken apart by feature, and what search made of them.

Ranks and scores are what `predict` computes; margins are the sums of their parts, equal to its products up to rounding.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from ..linear import Explanation, Path, Step
from ..linear.explain import TYPICAL, log_score
from ..types import Array, Float32, Int64
from .elias_network import EliasNetwork
from .given import sigmoid
from .network import exact
from .reading import Float64, Parts, Reading

PATHS = 5  # clusters that lead to a label are many, and most of them do not matter


def explain_all(W: Float32, reading: Reading, label: int) -> Explanation:
    """Of a model that asks the classifiers W of all labels."""
    with np.errstate(all="ignore"):  # a damaged model may hold anything
        found, logits = exact(reading.vector[None], W, len(W), threads=1)
        rank, logit = _place(found[0], logits[0], label)
        n_found = int((found >= 0).sum())
        step = _label_step(label, reading.parts(W[[label]])[0], 0.0, None, (rank, n_found), kept=rank is not None)
        score = float(sigmoid(np.array([logit], np.float32))[0]) if rank is not None else 0.0
    return Explanation(
        label=label, n_labels=len(W), n_trees=1, beam=None, search="exact", score=score, rank=rank, n_found=n_found,
        paths=(Path(0, (step,)),),
    )  # fmt: skip


def explain_elias(
    network: EliasNetwork, reading: Reading, label: int, label_counts: Int64 | None, *, beam: int, shortlist: int
) -> Explanation:
    """A path for each of the best clusters that lead to the label: the one that counts, then a few others."""
    with np.errstate(all="ignore"):
        return _explain_elias(network, reading, label, label_counts, beam, shortlist)


def _explain_elias(
    network: EliasNetwork, reading: Reading, label: int, label_counts: Int64 | None, beam: int, shortlist: int
) -> Explanation:
    n_clusters, vector = len(network.clusters), reading.vector[None]
    order, in_order = (column[0] for column in network.best_clusters(vector, n_clusters))
    ranks, logs = np.empty(n_clusters, np.int64), np.empty(n_clusters)
    ranks[order], logs[order] = np.arange(1, n_clusters + 1), in_order
    width = min(shortlist, network.n_labels)
    found, scores = network.predict(vector, width, beam=beam, shortlist=shortlist, threads=1)
    rank, score = _place(found[0], scores[0], label)
    n_found = int((found >= 0).sum())

    mine = reading.parts(network.labels[[label]])[0]
    clusters, places = np.nonzero(network.edge_ids == label)
    edges = network.edge_logs[clusters, places].astype(np.float64)
    worth = logs[clusters] + edges  # log ŷ by each of them
    reached = (ranks[clusters] <= beam) & (rank is not None)
    chosen = np.lexsort((ranks[clusters], -worth, ~reached))[:PATHS]
    best = np.lexsort((ranks[clusters], -worth))[:1]
    if not np.isin(best, chosen).all():  # a cluster beyond the beam may lead there by a better edge
        chosen = np.concatenate([chosen[:-1], best])
    place: tuple[int | None, int] = (rank, n_found)
    if rank is None:
        place = _place_before(network, order[:beam], in_order[:beam], label)

    def path(at: int, parts: Parts) -> Path:
        cluster, looked = int(clusters[at]), bool(ranks[clusters[at]] <= beam)
        below = network.edge_ids[cluster] >= 0
        first = Step(
            node=cluster, labels=_typical(network, cluster, label_counts), n_labels=int(below.sum()), bias=parts.bias,
            pushes=parts.pushes, margin=parts.total, log_score=float(logs[cluster]),
            path_log_score=float(logs[cluster]), kept=looked, rank=int(ranks[cluster]), rivals=n_clusters,
            vector=parts.vector,
        )  # fmt: skip
        kept = looked and rank is not None
        last = _label_step(label, mine, first.log_score, float(edges[at]), place if looked else (None, 0), kept=kept)
        return Path(0, (first, last))

    parts = reading.parts(network.clusters[clusters[chosen]])
    return Explanation(
        label=label, n_labels=network.n_labels, n_trees=1, beam=beam, search="shortlist", score=score, rank=rank,
        n_found=n_found, paths=tuple(map(path, chosen.tolist(), parts)), shortlist=shortlist,
        more_paths=len(clusters) - len(chosen),
    )  # fmt: skip


def _label_step(
    label: int, parts: Parts, so_far: float, edge: float | None, place: tuple[int | None, int], *, kept: bool
) -> Step:
    margin = parts.total
    alone = float(log_score("sigmoid", cast(Float64, np.float64(margin))))
    return Step(
        node=None, labels=(label,), n_labels=1, bias=parts.bias, pushes=parts.pushes, margin=margin, log_score=alone,
        path_log_score=so_far + (edge or 0.0) + alone, kept=kept, rank=place[0], rivals=place[1],
        edge_log_score=edge, vector=parts.vector,
    )  # fmt: skip


def _place(found: Array, scores: Array, label: int) -> tuple[int | None, float]:
    """Rank (from 1) and score of a label in the answer for one row."""
    at = np.flatnonzero(found == label)
    return (int(at[0]) + 1, float(scores[at[0]])) if len(at) else (None, 0.0)


def _place_before(network: EliasNetwork, clusters: Array, logs: Array, label: int) -> tuple[int | None, int]:
    """(rank, how many are ranked) of a label among all that some clusters lead to, by which the shortlist is made."""
    ids = network.edge_ids[clusters]
    best = np.full(network.n_labels, -np.inf, np.float32)
    np.maximum.at(best, ids[ids >= 0], (logs[:, None] + network.edge_logs[clusters])[ids >= 0])
    better = (best > best[label]) | ((best == best[label]) & (np.arange(len(best)) < label))
    led_to = int(np.isfinite(best).sum())
    return (1 + int(better.sum()), led_to) if np.isfinite(best[label]) else (None, 0)


def _typical(network: EliasNetwork, cluster: int, label_counts: Int64 | None) -> tuple[int, ...]:
    """The labels with the best edges; of those with equal ones the most frequent, if that is known."""
    ids, logs = network.edge_ids[cluster], network.edge_logs[cluster]
    logs, ids = logs[ids >= 0], ids[ids >= 0]
    counts = np.zeros(len(ids)) if label_counts is None else label_counts[ids]
    return tuple(ids[np.lexsort((ids, -counts, -logs))[:TYPICAL]].tolist())
