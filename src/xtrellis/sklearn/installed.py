"""What is taken from scikit-learn, of any version from 1.4; without it, one sentence says what to install."""

from __future__ import annotations

from typing import Any

from ..core import MissingExtraError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_consistent_length, check_is_fitted
except ImportError:
    raise MissingExtraError("scikit-learn", "sklearn", "xtrellis.sklearn") from None

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6

    def validate_data(estimator: Any, X: Any, **how: Any) -> Any:
        """The same under its old name."""
        return estimator._validate_data(X, **how)


__all__ = [
    "BaseEstimator", "ClassifierMixin", "DataConversionWarning", "MultiLabelBinarizer", "check_classification_targets",
    "check_consistent_length", "check_is_fitted", "type_of_target", "validate_data",
]  # fmt: skip
