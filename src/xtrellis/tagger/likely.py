"""Probabilities of a tagger's answers, and where to cut them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import TopK
from ..core import Engine, InputError, ParameterError, StoreError, generator, number, require, shown
from ..data import Dataset, TrainingData, align
from ..model import Model

if TYPE_CHECKING:
    from ..rank import Probabilities
    from .tagger import Tagger

AUTO = 30  # answers of a row that an automatic threshold looks at
LEARNED = 20  # answers of a row that curves are learned from
AUTOMATIC = ("auto", "auto-corpus")
Threshold = float | str | None
FEWEST = 50  # rows that are worth a curve
_NUMBER = number(or_none=True)


def check_threshold(threshold: Any) -> None:
    """A number, None, or how to choose one."""
    if isinstance(threshold, str):
        if threshold not in AUTOMATIC:
            raise ParameterError(f"threshold must be a number, 'auto' or 'auto-corpus'; got {shown(threshold)}")
    else:
        _NUMBER("threshold", threshold)


def asked_for(k: int, threshold: Any) -> int:
    """How many answers it takes to give the k best above a threshold."""
    return max(k, AUTO) if isinstance(threshold, str) else k


def learn_probabilities(tagger: Tagger, dataset: Dataset) -> Probabilities:
    """From rows that the tagger has not seen."""
    from ..rank import Probabilities  # only here and below: most taggers answer without

    require(dataset, Dataset, "dataset", "an xt.Dataset")
    if dataset.n_rows < FEWEST:
        raise InputError(f"probabilities take at least {FEWEST} rows to learn from; got {dataset.n_rows}")
    aligned = align(tagger.by_ids(dataset), tagger.label_ids, unknown="drop")
    counts = tagger.label_counts
    return Probabilities.learn(tagger.predict(dataset, LEARNED), aligned.Y, np.asarray(counts))


def curves_of_some(model: Model, data: TrainingData, engine: Engine | None = None) -> Probabilities:
    """By a second training without a tenth of the rows (at least `FEWEST`), which are asked then."""
    from ..rank import Probabilities

    if data.n_rows < 2 * FEWEST:
        raise InputError(
            f"calibrate=True holds out {FEWEST} rows and trains on the others, so it takes at least {2 * FEWEST} rows; "
            f"got {data.n_rows}"
        )
    rows = generator(0, "probabilities").permutation(data.n_rows)
    held, rest = np.split(rows, [max(FEWEST, data.n_rows // 10)])
    given: dict[str, Any] = {} if engine is None else {"engine": engine}
    known, asked = data.select(np.sort(rest)), data.select(np.sort(held))
    other = model.clone().fit(known, **given)
    return Probabilities.learn(other.predict(asked.X, LEARNED, texts=asked.texts), asked.Y, known.label_counts)


def check_curves(curves: Any) -> None:
    """What a stored tagger holds as its probabilities."""
    if curves is None:
        return
    from ..rank import Probabilities

    if not isinstance(curves, Probabilities):
        raise StoreError(f"a Tagger's probabilities must be Probabilities; got {type(curves).__name__}")


def knows_probabilities(tagger: Tagger) -> bool:
    """True if answers have probabilities: the model's own, or learned ones."""
    return tagger.model.answers_probabilities or tagger.probability_curves is not None


def probable(tagger: Tagger, top: TopK) -> TopK | None:
    """The answers with probabilities in place of scores; None if nobody has learned them."""
    if tagger.model.answers_probabilities:
        return top
    curves = tagger.probability_curves
    return None if curves is None else curves(top, np.asarray(tagger.label_counts))


def _cure(tagger: Tagger) -> str:
    """How a tagger without probabilities comes by them."""
    ways = "fit(…, calibrate=True) learns them, or tagger.calibrate(dataset), from rows that it has not seen"
    lacked = tagger.model.why_no_probabilities
    if lacked:
        return f"this {type(tagger.model).__name__} learned none, since {lacked}; {ways}"
    return f"{ways}; models such as xt.preset('best') answer with probabilities by themselves"


def cut(tagger: Tagger, top: TopK, threshold: Any) -> TopK:
    """Without answers below a threshold: of their probability if it is known, else of their score."""
    if threshold is None:
        return top
    known = probable(tagger, top)
    if isinstance(threshold, str):
        if known is None:
            raise InputError(f"threshold={threshold!r} needs probabilities: {_cure(tagger)}")
        if threshold == "auto":
            from ..rank import best_cut

            there = known.labels >= 0
            order = np.argsort(np.where(there, -known.scores, 1), axis=1, kind="stable")
            sizes = best_cut(np.take_along_axis(np.where(there, known.scores, 0), order, axis=1))
            place = np.argsort(order, axis=1, kind="stable")
            return TopK(np.where(place < sizes[:, None], top.labels, np.int32(-1)), top.scores, top.n_labels)
        curves = tagger.probability_curves
        threshold = 0.5 if curves is None else curves.threshold
    scores = top.scores if known is None else known.scores
    return TopK(np.where(scores >= threshold, top.labels, np.int32(-1)), top.scores, top.n_labels)
