"""What explanations of every kind of model are made with: margins shared out among features, ranks, scores."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..arrays import Array, Float64
from .explanation import Explanation, Path, Push, Step

TYPICAL = 5  # labels that tell what a cluster is about


def strongest(ids: Array, values: Any, contributions: Any) -> tuple[Push, ...]:
    """What each feature of a row added to a margin, in the order of size; a feature with value 0 added nothing."""
    values, contributions = np.asarray(values, np.float64), np.asarray(contributions, np.float64)
    there = np.flatnonzero(values)
    order = there[np.lexsort((ids[there], -np.abs(contributions[there])))]
    columns = (ids[order], values[order], contributions[order] / values[order], contributions[order])
    return tuple(Push(*push) for push in zip(*(column.tolist() for column in columns), strict=True))


def log_score(transform: str, margin: Any) -> Float64:
    """The logarithm of a score, as search computes it from a margin; "identity": the margin is the score."""
    if transform == "identity":
        return cast(Float64, np.log(np.maximum(margin, 1e-30)))
    if transform == "sigmoid":
        return cast(Float64, -np.logaddexp(0.0, -margin))
    gap = np.maximum(0.0, 1.0 - margin)
    gap = np.where(np.isnan(gap), np.inf, gap)  # sums of huge values: never the best answer
    return cast(Float64, -(gap**3) if transform == "l3-hinge" else -(gap**2))


def rank_of(labels: Array, scores: Array, label: int) -> tuple[int | None, float]:
    """Rank (from 1) and score of a label in the answer for one row; (None, 0) if it is not there."""
    at = np.flatnonzero(labels == label)
    return (int(at[0]) + 1, float(scores[at[0]])) if len(at) else (None, 0.0)


def one_step(
    label: int, n_labels: int, bias: float, pushes: tuple[Push, ...], vector: float | None, *, transform: str,
    rank: int | None, score: float,
) -> Explanation:  # fmt: skip
    """Of a model that asks one classifier for every label, with no index before it."""
    margin = bias + (vector or 0.0) + sum(push.contribution for push in pushes)
    alone = float(log_score(transform, np.float64(margin)))
    step = Step(
        node=None, labels=(label,), n_labels=1, bias=bias, pushes=pushes, margin=margin, log_score=alone,
        path_log_score=alone, kept=rank is not None, rank=rank, rivals=n_labels, vector=vector,
    )  # fmt: skip
    return Explanation(
        label=label, n_labels=n_labels, n_trees=1, beam=None, search="exact", score=score, rank=rank,
        n_found=n_labels, paths=(Path(0, (step,)),),
    )  # fmt: skip
