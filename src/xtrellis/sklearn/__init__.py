"""`Classifier`: any model of this library as a scikit-learn estimator, for pipelines, searches and cross-validation.

    from xtrellis.sklearn import Classifier, scorer

    pipeline = make_pipeline(xt.Vectorizer(), Classifier("xr-linear"))
    search = GridSearchCV(pipeline, {"classifier__k": [3, 5]}, scoring=scorer("P@5"), cv=KFold(5))
    search.fit(texts, [["fruit", "red"], ["fruit"], …])

(A number for `cv` makes scikit-learn look at `y` itself, and it does not know lists of labels: give it a splitter.)

The models themselves are no estimators of scikit-learn: their `score` gives scores of labels, and their labels are
numbers. This is the thin layer between; labels keep the names they have in `y`.
"""

from .classifier import Classifier
from .scorer import scorer

LabelTreeClassifier = Classifier
"""The same by a longer name, for programs in which `Classifier` alone says too little."""

__all__ = ["Classifier", "LabelTreeClassifier", "scorer"]
