"""Why an ELIAS answers as it does: its products taken apart by feature, and what search made of them.

Ranks and scores are what `predict` computes; margins are the sums of their parts, equal to its products up to rounding.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Float32, Int64
from ...explain import TYPICAL, Explanation, Path, Step, log_score, rank_of
from ..encoders import EncodedRow, Parts
from .network import EliasNetwork

PATHS = 5  # clusters that lead to a label are many, and most of them do not matter


def explain_elias(
    network: EliasNetwork, row: EncodedRow, label: int, label_counts: Int64 | None, *, beam: int, shortlist_size: int,
    by: str,
) -> Explanation:  # fmt: skip
    """A path for each of the best clusters that lead to the label: the one that counts, then a few others."""
    with np.errstate(all="ignore"):
        return _explain_elias(network, row, label, label_counts, beam, shortlist_size, by)


def _explain_elias(
    network: EliasNetwork, row: EncodedRow, label: int, label_counts: Int64 | None, beam: int, shortlist_size: int,
    by: str,
) -> Explanation:  # fmt: skip
    n_clusters, vector = len(network.clusters), row.vector[None]
    order, in_order = (column[0] for column in network.best_clusters(vector, n_clusters))
    ranks, logs = np.empty(n_clusters, np.int64), np.empty(n_clusters)
    ranks[order], logs[order] = np.arange(1, n_clusters + 1), in_order
    width = min(shortlist_size, network.n_labels)
    found, scores = network.predict(vector, width, beam=beam, shortlist_size=shortlist_size, by=by, threads=1)
    rank, score = rank_of(found[0], scores[0], label)
    n_found = int((found >= 0).sum())

    mine = row.parts(network.labels[[label]])[0]
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
        place = _place_before(network, vector, beam, by, label)

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

    parts = row.parts(network.clusters[clusters[chosen]])
    return Explanation(
        label=label, n_labels=network.n_labels, n_trees=1, beam=beam, search="shortlist", score=score, rank=rank,
        n_found=n_found, paths=tuple(map(path, chosen.tolist(), parts)), shortlist=shortlist_size,
        more_paths=len(clusters) - len(chosen),
    )  # fmt: skip


def _label_step(
    label: int, parts: Parts, so_far: float, edge: float | None, place: tuple[int | None, int], *, kept: bool
) -> Step:
    margin = parts.total
    alone = float(log_score("sigmoid", np.float64(margin)))
    return Step(
        node=None, labels=(label,), n_labels=1, bias=parts.bias, pushes=parts.pushes, margin=margin, log_score=alone,
        path_log_score=so_far + (edge or 0.0) + alone, kept=kept, rank=place[0], rivals=place[1],
        edge_log_score=edge, vector=parts.vector,
    )  # fmt: skip


def _place_before(network: EliasNetwork, vector: Float32, beam: int, by: str, label: int) -> tuple[int | None, int]:
    """(rank, how many are ranked) of a label among all that the beam leads to, by which the shortlist is made."""
    (clusters,), (logs,), (shares,) = network.looked_at(vector, beam)
    ids = network.edge_ids[clusters]
    worth = np.full(network.n_labels, -np.inf, np.float32)
    if by == "sum":
        worth[ids[ids >= 0]] = 0
        np.add.at(worth, ids[ids >= 0], (shares[:, None] * network.edge_scores[clusters])[ids >= 0])
    else:
        np.maximum.at(worth, ids[ids >= 0], (logs[:, None] + network.edge_logs[clusters])[ids >= 0])
    better = (worth > worth[label]) | ((worth == worth[label]) & (np.arange(len(worth)) < label))
    led_to = int(np.isfinite(worth).sum())
    return (1 + int(better.sum()), led_to) if np.isfinite(worth[label]) else (None, 0)


def _typical(network: EliasNetwork, cluster: int, label_counts: Int64 | None) -> tuple[int, ...]:
    """The labels with the best edges; of those with equal ones the most frequent, if that is known."""
    ids, logs = network.edge_ids[cluster], network.edge_logs[cluster]
    logs, ids = logs[ids >= 0], ids[ids >= 0]
    counts = np.zeros(len(ids)) if label_counts is None else label_counts[ids]
    return tuple(ids[np.lexsort((ids, -counts, -logs))[:TYPICAL]].tolist())
