"""`xtrellis.sklearn` at the door: texts for features, folds that know different labels, names of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

import xtrellis as xt
from xtrellis.sklearn import Classifier, scorer

FOLDS = 5
TEXTS = ["red apple", "green pear", "fast car", "red car", "green apple", "old pear"] * FOLDS
# Each fold has a label that no other has: trained on the others, all know as many labels, but not the same.
LABELS = [
    row for i in range(FOLDS) for row in (["apple"], ["pear"], ["car"], ["car", "red"], ["apple"], ["pear", f"x{i}"])
]
CLASSES = sorted({label for row in LABELS for label in row})
X = xt.Vectorizer(threads=1).fit_transform(TEXTS)


READER = xt.XTransformer(encoder=xt.TransformerEncoder(path="some-folder"))


def classifier(**params: Any) -> Classifier:
    return Classifier(xt.LinearTree(threads=1), k=2, **params)


@pytest.mark.parametrize(
    "given",
    [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object), pd.Series(TEXTS), "red apple",
     pd.DataFrame({"n": range(len(TEXTS)), "text": TEXTS})],
    ids=["list", "tuple", "array", "objects", "series", "string", "frame"],
)  # fmt: skip
def test_texts_are_no_features(given: Any) -> None:
    cure = r"X must be rows of features; got texts, such as 'red apple'.*make_pipeline\(xt.Vectorizer\(\), Classifier"
    with pytest.raises(xt.InputError, match=cure):
        classifier().fit(given, LABELS)
    fitted = classifier().fit(X, LABELS)
    for method in (fitted.predict, fitted.decision_function, fitted.predict_proba, fitted.labels):
        with pytest.raises(xt.InputError, match="got texts"):
            method(given)


def test_what_is_told_works() -> None:
    pipeline = make_pipeline(xt.Vectorizer(), classifier()).fit(pd.Series(TEXTS), LABELS)
    assert pipeline[-1].inverse_transform(pipeline.predict(["fast car"]))[0][0] == "car"


def test_folds_that_know_different_labels_are_not_put_on_top_of_each_other() -> None:
    widths = {len(classifier().fit(X[part], [LABELS[i] for i in part]).classes_) for part, _ in KFold(FOLDS).split(X)}
    assert widths == {len(CLASSES) - 1}  # scipy would stack them without a word
    with pytest.raises(xt.InputError, match=r"cross_val_predict puts .* give Classifier\(classes=\[…\]\)"):
        cross_val_predict(classifier(), X, LABELS, cv=KFold(FOLDS))
    with pytest.raises(xt.InputError, match="cross_val_predict puts"):
        cross_val_predict(make_pipeline(xt.Vectorizer(), classifier()), TEXTS, LABELS, cv=KFold(FOLDS))


def test_with_classes_folds_have_the_same_columns() -> None:
    found = cross_val_predict(classifier(classes=CLASSES), X, LABELS, cv=KFold(FOLDS))
    matrix = MultiLabelBinarizer(classes=CLASSES, sparse_output=True).fit_transform(LABELS)
    expected = cross_val_predict(classifier(), X, matrix, cv=KFold(FOLDS))
    assert found.shape == expected.shape == (len(TEXTS), len(CLASSES))
    assert (found != expected).nnz == 0


def test_classes_name_and_order_columns() -> None:
    order = CLASSES[::-1]
    backwards, usual = classifier(classes=order).fit(X, LABELS), classifier().fit(X, LABELS)
    assert backwards.classes_.tolist() == order
    rows = X[:6]
    for one, other in zip(
        backwards.inverse_transform(backwards.predict(rows)), usual.inverse_transform(usual.predict(rows)), strict=True
    ):
        assert sorted(one) == sorted(other)
    matrix = MultiLabelBinarizer(classes=CLASSES).fit_transform(LABELS)
    assert classifier(classes=CLASSES).fit(X, matrix).classes_.tolist() == CLASSES
    single = [row[0] for row in LABELS]
    made = classifier(classes=["pear", "apple", "kiwi", "car"]).fit(X, single)
    assert made.predict(X[:3]).tolist() == single[:3]
    assert made.predict_proba(X[:3]).shape == (3, 4)
    assert 0 < scorer("P@1")(backwards, X, LABELS) <= 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: classifier(classes=CLASSES[1:]).fit(X, LABELS), "y has the label 'apple', which is not among classes"),
        (lambda: classifier(classes="abc").fit(X, LABELS), "classes must be a list of different labels, or None"),
        (lambda: classifier(classes=["a", "a"]).fit(X, LABELS), "classes must be a list of different labels"),
        (lambda: classifier(classes=[]).fit(X, LABELS), "classes must be a list of different labels"),
        (lambda: classifier(classes=["a"]).fit(X, np.eye(30, 4, dtype=int)), "must name the 4 columns of y; got 1"),
        (lambda: classifier().fit(X, [[]] * 30), "y has no labels at all: every row is empty"),
        (lambda: classifier().fit(X, LABELS).score(X, LABELS), r"for lists of labels there is scorer\('P@5'\)"),
        (lambda: classifier().fit(X, LABELS).labels(X, 0), "k must be an integer ≥ 1; got 0"),
        (lambda: classifier().fit(X, LABELS).inverse_transform(np.eye(3)), "Y has 3 labels"),
        (lambda: classifier().fit(X, LABELS, sample_weight=["a"] * 30), "sample_weight must be one number for each"),
        (lambda: Classifier(xt.LinearTree).fit(X, LABELS), r": call it, LinearTree\(\)"),
        (lambda: Classifier(READER).fit(X, LABELS), "this XTransformer reads texts, and a Classifier has none"),
        (lambda: Classifier(treshold=1), "Classifier has no argument 'treshold'; did you mean 'threshold'?"),
        (lambda: Classifier().set_params(beam=3), "has no parameter 'beam'; there is one in model: model__beam"),
        (lambda: classifier().set_params(model__arity=3), "there is one in index: index__arity=3"),
        (lambda: scorer("PSP@1", propensity=3), r"propensity must be a pair \(A, B\); got 3"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises((xt.InputError, xt.ParameterError), match=message):
        call()


def test_parameters_of_a_preset_can_be_searched() -> None:
    search = GridSearchCV(
        Classifier("xr-linear"), {"model__cost": [0.5, 2.0], "model__threads": [1]}, scoring=scorer("P@1"), cv=KFold(2)
    )
    search.fit(X, LABELS)
    assert set(search.best_params_) == {"model__cost", "model__threads"}
    assert search.best_estimator_.model.cost == search.best_params_["model__cost"]


@pytest.mark.parametrize(("theirs", "ours"), [("C", "cost"), ("n_jobs", "threads"), ("random_state", "seed")])
def test_names_of_scikit_learn_lead_to_the_models(theirs, ours):
    with pytest.raises(xt.CallError, match=f"models have it, by the name '{ours}'"):
        Classifier(**{theirs: 1})
    with pytest.raises(xt.ParameterError, match=f"there is one in model: model__{ours}"):
        Classifier().set_params(**{theirs: 1})
