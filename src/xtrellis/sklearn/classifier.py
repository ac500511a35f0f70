"""`Classifier`: any model as an estimator of scikit-learn."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, TopK, as_labels, as_numbers
from ..catalog import preset
from ..core import InputError, ParameterError, clear_calls, integer, known_as, number, shown
from ..model import Model
from .installed import BaseEstimator, ClassifierMixin, check_consistent_length, check_is_fitted, validate_data
from .targets import is_lists, targets

if TYPE_CHECKING:
    from typing_extensions import Self


@clear_calls
class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model of this library behind scikit-learn's interface.

    `y` may be a list of labels for each row (names or numbers), an indicator matrix, sparse or dense, or one label for
    each row. With several labels a row, `predict` gives a sparse indicator matrix over `classes_`, and
    `inverse_transform` turns that into lists; `decision_function` and `predict_proba` give sparse scores of the
    `candidates` best labels, all others being 0. With one label a row they are dense, as scikit-learn's own.

    Parameters
    ----------
    model : Model or str, default "xr-linear"
        A model or the name of a preset. It is not changed: `fit` trains a copy, `model_`.
    k : int, default 5
        Labels that `predict` gives a row at most.
    threshold : float or None, default None
        Labels that score below it are not given.
    candidates : int, default 100
        Labels of a row that `decision_function` and `predict_proba` score.
    classes : sequence of labels or None, default None
        All labels there may be, in the order of columns; None for those of `y`. What is trained on parts of the rows
        (folds) then has the same columns whichever labels the part has. If `y` is a matrix they name its columns.
    """

    def __init__(
        self,
        model: Model | str = "xr-linear",
        *,
        k: int = 5,
        threshold: float | None = None,
        candidates: int = 100,
        classes: Any = None,
    ) -> None:
        self.model, self.k, self.threshold, self.candidates, self.classes = model, k, threshold, candidates, classes

    def set_params(self, **params: Any) -> Self:
        """As for all estimators; `model__cost` reaches into the model, which is then made of a preset's name."""
        own = self.get_params(deep=False)
        if isinstance(self.model, str) and "model" not in params and any(name.startswith("model__") for name in params):
            self.model = preset(self.model)
        for name in params:
            if "__" not in name and name not in own:
                inner = _fresh(params.get("model", self.model)).get_params()
                found = name if name in inner else known_as(name, inner)
                if found is not None:
                    raise ParameterError(f"Classifier has no parameter {name!r}; there is one in model: model__{found}")
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows of features and their labels."""
        model = _fresh(self.model)
        integer(at_least=1)("k", self.k)
        integer(at_least=1)("candidates", self.candidates)
        number(or_none=True)("threshold", self.threshold)
        if y is None:
            raise InputError("Classifier requires y to be passed, but the target y is None")
        _refuse_texts(X)
        if model.reads_texts:
            raise InputError(
                f"this {type(model).__name__} reads texts, and a Classifier has none: use it in an xt.Tagger"
            )
        X = validate_data(self, X, accept_sparse=True, dtype="numeric", ensure_min_features=1)
        check_consistent_length(X, y)
        Y, self.classes_, self.one_label_ = targets(y, self.classes)
        self.columns_of_part_ = self.classes is None and is_lists(y)
        weights = None if sample_weight is None else _weights(model, sample_weight, X)
        self.model_ = model.fit(X, Y, sample_weight=weights)
        self.label_counts_ = np.asarray(sp.csr_array(Y).sum(axis=0)).ravel()
        self.n_rows_ = int(Y.shape[0])
        return self

    def predict(self, X: Any) -> Any:
        """Sparse indicator of the labels of each row; of data with one label a row, that label."""
        X = self._rows(X)
        if self.one_label_:
            if len(self.classes_) <= 2:
                return self.classes_[(self._all_scores(X).argmax(axis=1))]
            return self.classes_[np.maximum(self.model_.predict(X, 1).labels[:, 0], 0)]
        if self.columns_of_part_ and _in_cross_val_predict():
            raise InputError(
                "cross_val_predict puts the answers of all folds into one matrix, but each fold has columns for labels "
                "that it knows: give Classifier(classes=[…]), all labels there are, or y as a matrix of 0 and 1"
            )
        top = self.model_.predict(X, self.k)
        kept = top.labels >= 0
        if self.threshold is not None:
            kept &= top.scores >= self.threshold
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        shape = (len(top.labels), len(self.classes_))
        found = sp.csr_array((np.ones(int(indptr[-1]), np.int64), top.labels[kept], indptr), shape=shape)
        found.sort_indices()
        return found

    def decision_function(self, X: Any) -> Any:
        """Scores: n × classes, sparse; dense where a row has one label (of two classes, the difference)."""
        X = self._rows(X)
        if not self.one_label_:
            return self._top(X).to_csr()
        scores = self._all_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Any:
        """Scores between 0 and 1; where a row has one label, scaled to add up to 1.

        They are as well calibrated as the model's scores are.
        """
        X = self._rows(X)
        if not self.one_label_:
            return self._top(X).to_csr()
        scores = self._all_scores(X).clip(0)
        totals = scores.sum(axis=1, keepdims=True)
        even = np.full_like(scores, 1 / scores.shape[1])
        return np.divide(scores, totals, out=even, where=totals > 0)

    def inverse_transform(self, Y: Any) -> list[list[Any]]:
        """The labels of each row of an indicator, by name."""
        check_is_fitted(self)
        rows = as_labels(Y if sp.issparse(Y) else np.asarray(Y), name="Y", n_labels=len(self.classes_))
        return [
            self.classes_[rows.indices[begin:end]].tolist()
            for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]

    def labels(self, X: Any, k: int | None = None) -> list[list[tuple[Any, float]]]:
        """The best labels of each row with their scores, best first."""
        top = self.model_.predict(self._rows(X), self.k if k is None else k)
        return [[(self.classes_[label], score) for label, score in row] for row in top]

    def top(self, X: Any, k: int) -> TopK:
        """The k best labels of each row, by number: what metrics look at."""
        return self.model_.predict(self._rows(X), k)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, as of scikit-learn's other classifiers: rows whose labels are all right and no more."""
        if is_lists(y):
            raise InputError(
                "score compares whole rows of a matrix of 0 and 1; for lists of labels there is scorer('P@5'), also as "
                "scoring= of searches and cross-validation"
            )
        return float(super().score(X, y, sample_weight))

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        _refuse_texts(X)
        return validate_data(self, X, reset=False, accept_sparse=True, dtype="numeric")

    def _top(self, X: Any) -> TopK:
        return self.model_.predict(X, max(self.k, self.candidates))

    def _all_scores(self, X: Any) -> Array:
        return np.asarray(self.model_.predict(X, len(self.classes_)).to_csr().toarray(), np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"multilabel": True}


def _fresh(model: Any) -> Model:
    if isinstance(model, str):
        return preset(model)
    if not isinstance(model, Model):
        called = f": call it, {model.__name__}()" if isinstance(model, type) and issubclass(model, Model) else ""
        raise ParameterError(
            f"model must be a model of this library or the name of a preset; got {shown(model)}{called}"
        )
    return model.clone()


def _weights(model: Model, sample_weight: Any, X: Any) -> Array:
    if not model.uses_sample_weight:
        raise InputError(f"a {type(model).__name__} cannot weigh rows; leave sample_weight out, or use a LinearTree")
    weights = as_numbers(sample_weight, "sample_weight", "one number for each row")
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    return weights


def _refuse_texts(X: Any) -> None:
    """Texts are no features: told before scikit-learn tries to make numbers of them."""
    texts = X
    if hasattr(X, "columns") and hasattr(X, "iloc") and len(X):  # a frame: its columns of strings
        texts = next((X[name] for name in X.columns if isinstance(X[name].iloc[0], str)), None)
    if isinstance(texts, str):
        first: Any = texts
    elif isinstance(texts, (list, tuple)) or len(getattr(texts, "shape", ())) == 1:
        first = next(iter(texts), None)
    else:
        return
    if isinstance(first, str):
        raise InputError(
            f"X must be rows of features; got texts, such as {str(first)!r:.60}: put a vectoriser before it, "
            "make_pipeline(xt.Vectorizer(), Classifier(…)), or use an xt.Tagger"
        )


def _in_cross_val_predict() -> bool:
    """True if scikit-learn is about to stack what we answer on answers of others. Nothing but the stack tells us so."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_fit_and_predict" and frame.f_globals.get("__name__", "").startswith("sklearn."):
            return True
        frame = frame.f_back
    return False
