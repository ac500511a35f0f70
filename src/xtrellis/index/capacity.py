"""Placing labels in clusters of limited size: Σ counts over chosen pairs as large as possible (the paper's A.4).

Every label gets one to λ of the clusters it wishes for; a cluster takes `limit` labels; a label whose wishes are all
full goes where there is room. A transport problem: small ones are solved exactly as a linear program (its corners are
whole numbers); large ones with prices. A full cluster has a price, labels wish for count − price, and prices follow
demand (subgradient steps of the Lagrangian dual). Any prices give a bound from above, and clusters that take the best
offers give an answer from below: what lies between is the gap, known without knowing the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from .._native import cluster as native
from ..arrays import Int32, Int64
from ..core import ParameterError

EXACT = 20_000  # pairs up to which the linear program is solved
STEPS = 40  # of the prices
CHECK = 8  # steps between two looks at what the prices would give
ENOUGH = 1e-3  # a gap that is not worth more steps


@dataclass(frozen=True)
class Wishes:
    """Clusters that labels would like to sit in: `clusters[offsets[l] : offsets[l + 1]]`, with what each is worth."""

    offsets: Int64
    clusters: Int32
    counts: Int32
    n_clusters: int

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.offsets) - 1

    @property
    def labels(self) -> Int64:
        """The label of every pair."""
        return np.repeat(np.arange(self.n_labels), np.diff(self.offsets))

    def worth(self, least: int) -> Wishes:
        """Those that are worth at least so much."""
        kept = np.flatnonzero(self.counts >= least)
        offsets = np.searchsorted(self.labels[kept], np.arange(self.n_labels + 1)).astype(np.int64)
        return Wishes(offsets, self.clusters[kept], self.counts[kept], self.n_clusters)


def fit_in(wishes: Wishes, homes: Int32, *, copies: int, limit: int) -> tuple[tuple[Int64, Int64], float]:
    """Pairs (labels, clusters) within the limit, and the gap to the best as a share of it (0: it is the best)."""
    if limit * wishes.n_clusters < wishes.n_labels:
        least = -(-wishes.n_labels // wishes.n_clusters)
        raise ParameterError(
            f"max_cluster_size must be at least {least}: {wishes.n_labels} labels do not fit into {wishes.n_clusters} "
            f"clusters of {limit}"
        )
    if len(wishes.clusters) <= EXACT:
        taken = exact(wishes, copies, limit)
        bound = float(wishes.counts[taken].sum())
    else:
        taken, bound = priced(wishes, copies, limit)
    labels, clusters, worth = _with_the_rest(wishes, taken, homes, limit)
    return (labels, clusters), max(0.0, 1 - worth / bound) if bound > 0 else 0.0


def give_more(wishes: Wishes, room: Int64) -> tuple[Int64, Int64]:
    """Pairs (labels, clusters), one a label at most, within what is left in each cluster."""
    taken, _ = priced(wishes, 1, room)
    return wishes.labels[taken], wishes.clusters[taken].astype(np.int64)


def exact(wishes: Wishes, copies: int, limit: int) -> Int64:
    """The best pairs, as positions in `wishes`, by linear programming."""
    from scipy.optimize import linprog  # late: it takes a fifth of a second, and few trainings need it

    n, n_labels, K = len(wishes.clusters), wishes.n_labels, wishes.n_clusters
    pairs, labels = np.arange(n), wishes.labels
    # One more unknown a label: it sits "anywhere", worth nothing, so that every label has a place and they all fit.
    anywhere = n + np.arange(n_labels)
    by_label = sp.csr_array((np.ones(n), (labels, pairs)), shape=(n_labels, n + n_labels))
    a_place = sp.csr_array(
        (np.ones(n + n_labels), (np.concatenate([labels, np.arange(n_labels)]), np.concatenate([pairs, anywhere]))),
        shape=(n_labels, n + n_labels),
    )
    by_cluster = sp.csr_array((np.ones(n), (wishes.clusters, pairs)), shape=(K, n + n_labels))
    together = sp.csr_array(np.ones((1, n + n_labels)))
    solved = linprog(
        -np.concatenate([wishes.counts, np.zeros(n_labels)]),
        A_ub=sp.vstack([by_label, -a_place, by_cluster, together]),
        b_ub=np.concatenate([np.full(n_labels, copies), -np.ones(n_labels), np.full(K, limit), [limit * K]]),
        bounds=(0, 1),
        method="highs-ds",  # a corner of the polytope, hence whole numbers
    )
    return np.flatnonzero(solved.x[:n] > 0.5)


def priced(wishes: Wishes, copies: int, limit: int | Int64, steps: int = STEPS) -> tuple[Int64, float]:
    """Good pairs, as positions in `wishes`, and what no pairs are worth more than; `limit` of all clusters or each."""
    room = np.broadcast_to(np.asarray(limit, np.int64), wishes.n_clusters).copy()
    clusters, counts = wishes.clusters, wishes.counts.astype(np.float64)
    prices = np.zeros(wishes.n_clusters)
    best: Int64 = np.empty(0, np.int64)
    best_worth, bound, scale = -1.0, np.inf, 1.0
    for step in range(steps):
        worth = counts - prices[clusters]
        wanted = native.wanted_pairs(wishes.offsets, worth, copies)
        dual = float(worth[wanted].sum() + (room * prices).sum())
        if bound == np.inf or dual < bound * (1 - 1e-9):
            bound = dual
        else:
            scale *= 0.7
        if step % CHECK == 0 or step == steps - 1:
            taken = native.take_pairs(wishes.offsets, clusters, worth, copies, room)
            if counts[taken].sum() > best_worth:
                best, best_worth = taken, float(counts[taken].sum())
        if best_worth >= bound * (1 - ENOUGH):
            break
        excess = np.bincount(clusters[wanted], minlength=wishes.n_clusters) - room
        slope = np.where((prices == 0) & (excess < 0), 0.0, excess).astype(np.float64)
        length = float((slope**2).sum())
        if length == 0:
            break
        prices = np.maximum(0.0, prices + scale * (bound - best_worth + 1e-9) / length * slope)
    return best, max(bound, best_worth)


def _ranks(groups: Int64) -> Int64:
    """How many of the same group come before each."""
    order = np.argsort(groups, kind="stable")
    in_order = groups[order]
    out = np.empty(len(groups), np.int64)
    out[order] = np.arange(len(groups)) - np.searchsorted(in_order, in_order, side="left")
    return out


def _with_the_rest(wishes: Wishes, taken: Int64, homes: Int32, limit: int) -> tuple[Int64, Int64, float]:
    """Labels that got nothing stay at home or go where there is room; second places give way if there is none."""
    labels, clusters = wishes.labels[taken], wishes.clusters[taken].astype(np.int64)
    worth = float(wishes.counts[taken].sum())
    lost = np.setdiff1d(np.arange(wishes.n_labels), labels)
    short = len(lost) - (limit * wishes.n_clusters - len(labels))
    if short > 0:  # the least useful pairs of labels that have more than one
        extra = np.flatnonzero(_ranks_by_worth(labels, wishes.counts[taken]) > 0)
        goes = extra[np.argsort(wishes.counts[taken][extra], kind="stable")[:short]]
        worth -= float(wishes.counts[taken][goes].sum())
        labels, clusters = np.delete(labels, goes), np.delete(clusters, goes)
    room = limit - np.bincount(clusters, minlength=wishes.n_clusters)
    home = homes[lost].astype(np.int64)
    stays = _ranks(home) < room[home]
    room -= np.bincount(home[stays], minlength=wishes.n_clusters)
    # The first places that are free, cluster by cluster; only as many are written down as labels need.
    free = np.cumsum(np.maximum(room, 0))
    home[~stays] = np.searchsorted(free, np.arange(int((~stays).sum())), side="right")
    return np.concatenate([labels, lost]), np.concatenate([clusters, home]), worth


def _ranks_by_worth(labels: Int64, counts: Int32) -> Int64:
    """0 for the best pair of each label."""
    order = np.lexsort((-counts, labels))
    out = np.empty(len(labels), np.int64)
    out[order] = _ranks(labels[order])
    return out
