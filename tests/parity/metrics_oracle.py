"""Every metric by its definition, one row and one rank at a time, in plain Python."""

from __future__ import annotations

import math


def rank(row: dict[int, float]) -> list[int]:
    return [label for label, score in sorted(row.items(), key=lambda item: (-item[1], item[0]))]


def oracle(metric, truth, scores, weights=None, depth=None, skip_empty=False):
    """`truth`: a set of labels a row; `scores`: {label: score} a row; a percentage (depth: a number)."""
    kind, k = metric.split("@")
    k = int(k)
    rows = [(t, rank(s)[:k]) for t, s in zip(truth, scores, strict=True) if t or not skip_empty]

    def discount(rank_from_1):
        return 1 / math.log2(rank_from_1 + 1)

    def weighted_dcg(labels, t):
        return sum(weights[label] * discount(r) for r, label in enumerate(labels, 1) if label in t)

    def ideal(t):
        return sorted(t, key=lambda label: -weights[label])[:k]

    def normaliser(t):
        return sum(discount(r) for r in range(1, min(k, len(t)) + 1)) or 1.0

    def mean(values):
        return sum(values) / len(rows)

    def ratio(above, below):
        return sum(above) / sum(below) if sum(below) else 0.0

    if kind == "P":
        return 100 * mean([sum(label in t for label in top) / k for t, top in rows])
    if kind == "R":
        return 100 * mean([sum(label in t for label in top) / len(t) if t else 0.0 for t, top in rows])
    if kind == "nDCG":
        gains = [sum(discount(r) for r, label in enumerate(top, 1) if label in t) / normaliser(t) for t, top in rows]
        return 100 * mean(gains)
    if kind == "PSP":
        above = [sum(weights[label] for label in top if label in t) for t, top in rows]
        return 100 * ratio(above, [sum(weights[label] for label in ideal(t)) for t, _ in rows])
    if kind == "PSnDCG":
        above = [weighted_dcg(top, t) / normaliser(t) for t, top in rows]
        return 100 * ratio(above, [weighted_dcg(ideal(t), t) / normaliser(t) for t, _ in rows])
    if kind == "PSnDCG-ratio":
        return 100 * ratio([weighted_dcg(top, t) for t, top in rows], [weighted_dcg(ideal(t), t) for t, _ in rows])
    if kind == "coverage":
        there = set().union(*(t for t, _ in rows))
        found = {label for t, top in rows for label in top if label in t}
        return 100 * len(found) / len(there) if there else 0.0
    if kind == "depth":
        return mean([max((depth[label] for label in top), default=0.0) for _, top in rows])
    raise ValueError(metric)
