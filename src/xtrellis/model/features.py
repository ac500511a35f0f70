"""`FeatureModel`: a model that reads rows of features itself, at unit length unless told otherwise.

Classifiers are regularised by the length of their weights, so features that are large learn at little cost and small
ones hardly at all: raw counts lose ten points of precision against the same rows at unit length, and train slower.
"""

from __future__ import annotations

from typing import Any

from ..arrays import Csr, Rows, as_row, as_rows
from ..core import flag, param
from ..data import TrainingData
from .model import Model


class FeatureModel(Model):
    """A model whose rows are scaled, in training and prediction alike."""

    normalize_rows: bool = param(
        flag(),
        "scale every row of features to unit length, in training and prediction; False to take rows as they are",
        default=True,
        before=False,
    )

    def _prepared(self, data: TrainingData) -> TrainingData:
        return data.at_unit_length() if self.normalize_rows else data

    def _rows(self, X: Any, n_features: int) -> Rows:
        """Rows to predict for, checked."""
        return as_rows(X, n_features=n_features, unit=self.normalize_rows)

    def _row(self, x: Any, n_features: int) -> Csr:
        """One row to explain, checked."""
        return as_row(x, n_features=n_features, unit=self.normalize_rows)
