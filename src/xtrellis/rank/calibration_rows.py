"""Which rows a calibration learns from: rows that are new to base and ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Int64
from ..core import InputError, generator
from ..data import TrainingData
from ..model import Model

if TYPE_CHECKING:
    from .reranked import Reranked

FEWEST = 50  # rows that a base has left out; with fewer, others are drawn


@dataclass(frozen=True)
class CalibrationSplit:
    """Rows that calibrate, and those that base and ranker may learn from."""

    data: TrainingData
    base_rows: Int64
    ranker_rows: Int64
    trial: bool  # both are worth training again, on all rows


def validation_data(model: Reranked, validation: Any, data: TrainingData) -> TrainingData | None:
    """What `fit` was given to calibrate with, checked: features, labels and texts."""
    if validation is None:
        return None
    if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
        raise InputError("validation must be (X, Y) or (X, Y, texts)")
    given = TrainingData.of(*validation[:2], texts=validation[2] if len(validation) == 3 else None)
    for what, found, wanted in (
        ("features", given.n_features, data.n_features), ("labels", given.n_labels, data.n_labels)
    ):  # fmt: skip
        if found != wanted:
            raise InputError(f"validation rows have {found} {what}; the others have {wanted}")
    if given.texts is None and model.base.reads_texts:
        raise InputError("the base reads texts, so validation must be (X, Y, texts)")
    return given


def calibration_split(
    model: Reranked, data: TrainingData, fitted_base: Model | None, validation: TrainingData | None
) -> CalibrationSplit | None:
    """Rows that were given, or that the base leaves out of its own training, or drawn; None if there are too few.

    With rows of the base's own nothing is trained twice, and probabilities are of the very model whose scores they go
    by: a neural base that is trained again may score on another scale. (A fitted base may have been trained on other
    rows than these; then those are as good as any.)
    """
    every = np.arange(data.n_rows)
    if validation is not None:
        return CalibrationSplit(validation, every, every, trial=False)
    left_out = (fitted_base or model.new_base()).validation_rows(data.Y)
    own = len(left_out) >= FEWEST
    rows = left_out.astype(np.int64) if own else _drawn(len(every), model.calibration_rows, model.seed)
    if not len(rows):
        return None
    known = np.setdiff1d(every, rows)
    return CalibrationSplit(data.select(rows), every if own else known, known, trial=not own)


def _drawn(n: int, most: int, seed: int) -> Int64:
    order = generator(seed, "calibration").permutation(n)
    return np.sort(order[: min(most, n // 10)])
