"""`scorer`: what this field measures, as a `scoring=` of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import TopK
from ..core import InputError, ParameterError, clear_calls, shown
from ..labels import inverse_propensity
from ..metrics import Metric, evaluate
from .classifier import Classifier
from .targets import known_targets


@clear_calls
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
    given: Any = propensity
    if given is not None and (not isinstance(given, (tuple, list)) or len(given) != 2):
        raise ParameterError(f"propensity must be a pair (A, B); got {shown(propensity)}")

    def score(estimator: Any, X: Any, y: Any) -> float:
        steps = getattr(estimator, "steps", None)
        last = steps[-1][1] if steps else estimator
        if not isinstance(last, Classifier):
            raise InputError(f"scorer({metric!r}) needs a Classifier, or a pipeline that ends with one")
        X = estimator[:-1].transform(X) if steps and len(steps) > 1 else X
        Y, more = known_targets(y, last.classes_)
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
