"""What trees that look at frequencies have in common: whose frequencies, and the weights of rows."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..arrays import Float64
from ..core import Check, number, param
from ..labels import LabelSpace, code_frequency
from .base import Index

MOST = 500_000  # row weights: they are written into a model's JSON, which may have 16 MiB


class _RowWeights(Check):
    requirement = f"a list of at most {MOST:,} numbers ≥ 0, one per row"

    def holds(self, value: Any) -> bool:
        if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
            if len(value) > MOST or np.asarray(value).dtype.kind not in "biuf":
                return False
            return bool((np.isfinite(value) & (np.asarray(value) >= 0)).all())
        if not isinstance(value, (list, tuple)) or len(value) > MOST:
            return False
        weight = number(at_least=0)
        return all(isinstance(v, numbers.Real) and weight.holds(v) for v in value)

    def read(self, text: str) -> Any:
        raise ValueError(text)  # nobody types a weight for every row


class FrequencyIndex(Index):
    """An index builder that puts frequent labels nearer to the root."""

    row_weights: Any = param(
        _RowWeights(or_none=True), "how often each training row will be asked; None for all alike", default=None
    )

    def _frequency(self, labels: LabelSpace, kind: str, focus: float = 0.5, answers: int = 1) -> Float64:
        return code_frequency(labels.Y, kind, row_weights=self.row_weights, focus=focus, answers=answers)
