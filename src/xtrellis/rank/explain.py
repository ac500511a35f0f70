"""Why a model made of models gives a label its score: what the models inside say, and what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse as sp

from ..arrays import Csr, as_row
from ..core import InputError
from ..explain import Explanation, Opinion, Testimony, Verdict, rank_of
from ..model import Explains, Model, check_label, why_no_explanation
from .members import asked

if TYPE_CHECKING:
    from ..neural import EncodedModel
    from .ensemble import Ensemble
    from .reranked import Reranked


def explain_reranked(
    model: Reranked, x: Any, label: int, texts: Sequence[str] | None, label_counts: Any
) -> Explanation:
    """The base's explanation, and what each feature added to the ranker's margin.

    Where the ranker sees the base's vectors too, what they added is handed on to the features that they come from.
    """
    base, ranker, calibration = model.fitted_base, model.classifiers, model.calibration
    row = as_row(x, n_features=None)
    why = _explained(model, base, row, label, texts, label_counts)
    seen = as_row(model.seen(base, row, texts), n_features=ranker.n_features)
    below = asked(base, row, model.candidates, texts, threads=model.threads)
    place, score = rank_of(below.labels[0], below.scores[0], label)
    p = why.score if place is None else score
    given, scores = np.array([[label]], np.int32), np.array([[p]], np.float32)
    q = ranker.score(seen, given, threads=1)
    worth = None if calibration is None else float(calibration.probability(scores, q, given, threads=1)[0, 0])
    bias, pushes = ranker.pushes(seen, label)
    vector: float | None = None
    if model.sees_vectors(base):
        encoded = cast("EncodedModel", base).encoded_row(row, texts=texts)
        bias, pushes, vector = encoded.folded(bias, pushes, first=int(row.shape[1]))
    opinion = Opinion(
        base_score=p, bias=bias, pushes=pushes, score=float(q[0, 0]), probability=worth, among=place is not None,
        margin=bias + (vector or 0.0) + sum(push.contribution for push in pushes), vector=vector,
    )  # fmt: skip
    top = model.predict(row, model.candidates, texts=texts)
    rank, score = rank_of(top.labels[0], top.scores[0], label)
    return replace(why, score=score, rank=rank, n_found=int((top.labels[0] >= 0).sum()), opinion=opinion)


def explain_ensemble(
    model: Ensemble, x: Any, label: int, texts: Sequence[str] | None, label_counts: Any
) -> Explanation:
    """The explanations of all members."""
    label, _ = check_label(label, label_counts, model.n_labels)
    row = as_row(x, n_features=None)
    members = tuple(_explained(model, member, row, label, texts, label_counts) for member in model.members)
    candidates, mean = model.gather(row, model.candidates, texts)
    top = candidates.best(mean, max(1, len(candidates)), threads=1)
    rank, score = rank_of(top.labels[0], top.scores[0], label)
    return Explanation(
        label=label, n_labels=model.n_labels, n_trees=0, beam=None, search="ensemble", score=score, rank=rank,
        n_found=int((top.labels[0] >= 0).sum()), paths=(), members=members,
        witnesses=tuple(member.witness for member in model.members), verdict=_verdict(model, row, label, texts),
    )  # fmt: skip


def _verdict(model: Ensemble, row: Csr, label: int, texts: Sequence[str] | None) -> Verdict | None:
    """What each member said and what that added, if the ensemble has learned to weigh them."""
    blend = model.blend
    if blend is None:
        return None
    wanted = sp.csr_array(([np.float32(1)], [label], [0, 1]), shape=(1, model.n_labels))
    said = model.testimony(row, wanted, texts)[0]
    base, added, by_frequency = blend.testimony(said)
    testimonies = [
        Testimony(member.witness, score, rank, float(more))
        for member, (score, rank), more in zip(model.members, blend.spoken(said), added, strict=True)
    ]
    return Verdict(base, tuple(testimonies), float(blend.frequency[label]), by_frequency)


def _explained(
    outer: Model, model: Model, row: Any, label: int, texts: Sequence[str] | None, label_counts: Any
) -> Explanation:
    why_not = why_no_explanation(model)
    if why_not is not None:
        raise InputError(f"{why_not}, so neither can the {type(outer).__name__} around it")
    return cast(Explains, model).explain(row, label, texts=texts, label_counts=label_counts)
