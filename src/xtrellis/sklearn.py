"""`Classifier`: any model of this library as a scikit-learn estimator, for pipelines, searches and cross-validation.

    from xtrellis.sklearn import Classifier, scorer

    pipeline = make_pipeline(xt.Vectorizer(), Classifier("xr-linear"))
    search = GridSearchCV(pipeline, {"classifier__k": [3, 5]}, scoring=scorer("P@5"), cv=KFold(5))
    search.fit(texts, [["fruit", "red"], ["fruit"], …])

(A number for `cv` makes scikit-learn look at `y` itself, and it does not know lists of labels: give it a splitter.)

The models themselves are no estimators of scikit-learn: their `score` gives scores of labels, and their labels are
numbers. This is the thin layer between; labels keep the names they have in `y`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .arrays import Array, Csr, TopK, as_matrix
from .catalog import preset
from .core import InputError, MissingExtraError, ParameterError, integer, number, shown
from .labels import inverse_propensity
from .metrics import Metric, evaluate
from .model import Model

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


if TYPE_CHECKING:
    from typing_extensions import Self

_ROWS = (list, tuple, set, frozenset)


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
    """

    def __init__(
        self, model: Model | str = "xr-linear", *, k: int = 5, threshold: float | None = None, candidates: int = 100
    ) -> None:
        self.model, self.k, self.threshold, self.candidates = model, k, threshold, candidates

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows of features and their labels."""
        model = _fresh(self.model)
        integer(at_least=1)("k", self.k)
        integer(at_least=1)("candidates", self.candidates)
        number(or_none=True)("threshold", self.threshold)
        if y is None:
            raise InputError("Classifier requires y to be passed, but the target y is None")
        X = validate_data(self, X, accept_sparse=True, dtype="numeric", ensure_min_features=1)
        check_consistent_length(X, y)
        Y, self.classes_, self.one_label_ = _targets(y)
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
        rows = sp.csr_array(Y)
        return [
            self.classes_[rows.indices[begin:end]].tolist()
            for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]

    def labels(self, X: Any, k: int | None = None) -> list[list[tuple[Any, float]]]:
        """The best labels of each row with their scores, best first."""
        top = self.model_.predict(self._rows(X), k or self.k)
        return [[(self.classes_[label], score) for label, score in row] for row in top]

    def top(self, X: Any, k: int) -> TopK:
        """The k best labels of each row, by number: what metrics look at."""
        return self.model_.predict(self._rows(X), k)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
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


def scorer(metric: str, *, propensity: tuple[float, float] | None = None) -> Callable[[Any, Any, Any], float]:
    """A `scoring=` for grid searches and cross-validation: P@5, PSP@3, nDCG@5, R@10 … of a `Classifier`.

    The classifier may be the last step of a pipeline. A metric looks at as many labels as its name says, whatever the
    classifier's `k`; labels below its `threshold` are left out. Propensities (PSP, PSnDCG) are those of the rows that
    the classifier was trained on, with the constants (A, B) of `propensity`. Labels that it has not seen are wrong
    answers whatever it says.
    """
    wanted = Metric.parse(metric)
    if wanted.kind == "depth":
        raise InputError("depth@k is a property of a tree; a scorer takes metrics of answers, such as 'P@5'")

    def score(estimator: Any, X: Any, y: Any) -> float:
        steps = getattr(estimator, "steps", None)
        last = steps[-1][1] if steps else estimator
        if not isinstance(last, Classifier):
            raise InputError(f"scorer({metric!r}) needs a Classifier, or a pipeline that ends with one")
        X = estimator[:-1].transform(X) if steps and len(steps) > 1 else X
        Y, more = _known(y, last.classes_)
        top = last.top(X, wanted.k)
        labels = top.labels if last.threshold is None else np.where(top.scores >= last.threshold, top.labels, -1)
        how: dict[str, Any] = {}
        if wanted.weighted:
            counts = np.concatenate([last.label_counts_, np.zeros(more)])
            constants = {} if propensity is None else {"A": propensity[0], "B": propensity[1]}
            how["weights"] = inverse_propensity(counts, last.n_rows_, **constants)
        return evaluate(Y, TopK(labels, top.scores, top.n_labels + more), [metric], **how)[str(wanted)]

    score.__name__ = metric
    return score


def _fresh(model: Model | str) -> Model:
    if isinstance(model, str):
        return preset(model)
    if not isinstance(model, Model):
        raise ParameterError(f"model must be a model of this library or the name of a preset; got {shown(model)}")
    return model.clone()


def _weights(model: Model, sample_weight: Any, X: Any) -> Array:
    if not model.uses_sample_weight:
        raise InputError(f"a {type(model).__name__} cannot weigh rows; leave sample_weight out, or use a LinearTree")
    weights = np.asarray(sample_weight, np.float64)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    return weights


def _is_lists(y: Any) -> bool:
    """True of a list (or a column) of lists of labels."""
    if sp.issparse(y) or hasattr(y, "columns") or len(getattr(y, "shape", (0,))) != 1:
        return False
    rows = y.tolist() if hasattr(y, "tolist") else y
    if not isinstance(rows, (list, tuple)) or not rows:
        return False
    lists = [isinstance(row, (*_ROWS, np.ndarray)) for row in rows]
    if any(lists) and not all(lists):
        odd = lists.index(False)
        raise InputError(f"y must have a list of labels for each row; row {odd} is {shown(rows[odd])}: [] for none")
    if not all(lists):
        return False
    if any(isinstance(label, str) for row in rows for label in row):
        return True
    return bool(sp.issparse(as_matrix(list(rows), "y", None, None)))  # ids, not a matrix of 0 and 1


def _targets(y: Any) -> tuple[Any, Array, bool]:
    """A label matrix, the classes of its columns, and whether each row has just one."""
    if _is_lists(y):
        rows = y.tolist() if hasattr(y, "tolist") else y
        binarizer = MultiLabelBinarizer(sparse_output=True)
        try:
            return binarizer.fit_transform([list(row) for row in rows]), binarizer.classes_, False
        except TypeError as error:  # names and numbers have no order among each other
            raise InputError(f"the labels in y must be all names or all numbers ({error})") from None
    y = y if sp.issparse(y) else np.asarray(y)
    if len(y.shape) == 2 and (sp.issparse(y) or y.shape[1] > 1):
        check_classification_targets(y)
        if not str(type_of_target(y)).startswith("multilabel"):
            raise InputError(f"y must be an indicator of 0 and 1, lists of labels, or one label a row; got {shown(y)}")
        return y, np.arange(y.shape[1]), False
    column = y
    if column.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        column = column.ravel()
    check_classification_targets(column)
    classes, numbers = np.unique(column, return_inverse=True)
    ones = np.ones(len(column), np.float32)
    return sp.csr_array((ones, numbers, np.arange(len(column) + 1)), shape=(len(column), len(classes))), classes, True


def _known(y: Any, classes: Array) -> tuple[Csr, int]:
    """Labels of rows to be judged over the classes that were trained, unknown ones as more columns at the end."""
    Y, found, _ = _targets(y)
    if not _is_lists(y) and len(found) == len(classes) and (found == classes).all():
        return Y, 0
    numbers = {label: i for i, label in enumerate(classes.tolist())}
    columns = np.array([numbers.get(label, -1) for label in found.tolist()], np.int64)
    more = int((columns < 0).sum())
    columns[columns < 0] = len(classes) + np.arange(more)
    rows = sp.csr_array(Y)
    made = sp.csr_array((rows.data, columns[rows.indices], rows.indptr), shape=(rows.shape[0], len(classes) + more))
    made.sort_indices()
    return made, more
