"""Why a model made of models gives a label its score: what the models inside say, and what was made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import integer
from ..errors import InputError
from ..linear import Explanation, Opinion
from ..linear.explain import as_row
from ..model import Model
from ..types import TopK
from .members import asked

if TYPE_CHECKING:
    from .ensemble import Ensemble
    from .reranked import Reranked


def explain_reranked(model: Reranked, x: Any, label: int, told: dict[str, Any], label_counts: Any) -> Explanation:
    """The base's explanation, and what each feature added to the ranker's margin; `told` are the texts, perhaps.

    Where the ranker sees the base's vectors too, what they added is handed on to the features that they come from.
    """
    base, ranker, calibration = model.fitted_base, model.classifiers, model.calibration
    _require_explain(base, "Reranked")
    row = as_row(x, n_features=None)
    why = _explained(base, row, label, told, label_counts, "Reranked")
    seen = as_row(model.seen(base, row, told), n_features=ranker.n_features)
    below = _place(asked(base, row, model.candidates, told, threads=model.threads), label)
    p = why.score if below is None else below[1]
    given, scores = np.array([[label]], np.int32), np.array([[p]], np.float32)
    q = ranker.score(seen, given, threads=1)
    worth = None if calibration is None else float(calibration.probability(scores, q, given, threads=1)[0, 0])
    bias, pushes = ranker.pushes(seen, label)
    vector: float | None = None
    if model.sees_vectors(base):
        reading = base.reading(row, **_texts(base, told))  # type: ignore[attr-defined]  # who has vectors and explains
        bias, pushes, vector = reading.folded(bias, pushes, first=int(row.shape[1]))
    opinion = Opinion(
        base_score=p, bias=bias, pushes=pushes, score=float(q[0, 0]), probability=worth, among=below is not None,
        margin=bias + (vector or 0.0) + sum(push.contribution for push in pushes), vector=vector,
    )  # fmt: skip
    top = model.predict(row, model.candidates, **told)
    rank, score = _place(top, label) or (None, 0.0)
    return replace(why, score=score, rank=rank, n_found=int((top.labels[0] >= 0).sum()), opinion=opinion)


def explain_ensemble(model: Ensemble, x: Any, label: int, told: dict[str, Any], label_counts: Any) -> Explanation:
    """The explanations of all members; `told` are the texts, perhaps."""
    integer(at_least=0, at_most=model.n_labels - 1)("label", label)
    row = as_row(x, n_features=None)
    members = tuple(_explained(member, row, label, told, label_counts, "Ensemble") for member in model.members)
    pool, mean = model.pool(row, model.candidates, told)
    top = pool.best(mean, max(1, len(pool)), threads=1)
    rank, score = _place(top, label) or (None, 0.0)
    return Explanation(
        label=int(label), n_labels=model.n_labels, n_trees=0, beam=None, search="ensemble", score=score, rank=rank,
        n_found=int((top.labels[0] >= 0).sum()), paths=(), members=members,
    )  # fmt: skip


def _explained(model: Model, row: Any, label: int, told: dict[str, Any], label_counts: Any, outer: str) -> Explanation:
    _require_explain(model, outer)
    why: Explanation = model.explain(row, label, label_counts=label_counts, **_texts(model, told))  # type: ignore[attr-defined]
    return why


def _texts(model: Model, told: dict[str, Any]) -> dict[str, Any]:
    return told if model.reads_texts else {}


def _require_explain(model: Model, outer: str) -> None:
    if not hasattr(model, "explain"):
        raise InputError(f"{type(model).__name__} cannot explain its answers, so neither can the {outer} around it")


def _place(top: TopK, label: int) -> tuple[int, float] | None:
    """Rank (from 1) and score of a label in the answer for one row."""
    found = np.flatnonzero(top.labels[0] == label)
    return (int(found[0]) + 1, float(top.scores[0, found[0]])) if len(found) else None
