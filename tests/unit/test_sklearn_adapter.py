"""`xtrellis.sklearn`: by scikit-learn's own checks, and in the hands of its tools."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import xtrellis as xt
from xtrellis.sklearn import Classifier, scorer

# What cannot hold, and why.
SPARSE = "labels are thousands: what is predicted for several labels a row is sparse"
FLOAT32 = "to 1e-7 is more than float32 has; solved to the end they agree to 1e-6, see test_sample_weight"
NOT_HELD = {
    "check_classifiers_multilabel_representation_invariance": SPARSE,
    "check_classifiers_multilabel_output_format_predict": SPARSE,
    "check_classifiers_multilabel_output_format_predict_proba": SPARSE,
    "check_classifiers_multilabel_output_format_decision_function": SPARSE,
    "check_sample_weight_equivalence_on_dense_data": FLOAT32,
    "check_sample_weight_equivalence_on_sparse_data": FLOAT32,
}


@parametrize_with_checks([Classifier(xt.LinearTree(threads=1))], expected_failed_checks=lambda _: NOT_HELD)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


WORDS = {"fruit": "apple pear plum", "tree": "oak pear apple", "red": "apple rose fire", "sea": "ship wave fish"}


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for _ in range(160):
        chosen = rng.choice(list(WORDS), size=rng.integers(1, 3), replace=False).tolist()
        rows.append(" ".join(word for label in chosen for word in rng.permutation(WORDS[label].split())[:2]))
        labels.append(sorted(chosen))
    return rows, labels


@pytest.fixture(scope="module")
def features(texts):
    return xt.Vectorizer().fit_transform(texts[0])


def test_lists_of_names(texts, features):
    model = Classifier(k=2, threshold=0.5).fit(features, texts[1])
    assert model.classes_.tolist() == sorted(WORDS)
    found = model.predict(features)
    assert sp.issparse(found)
    assert found.shape == (160, 4)
    binarizer = MultiLabelBinarizer()
    assert f1_score(binarizer.fit_transform(texts[1]), found.toarray(), average="micro") > 0.9
    assert model.inverse_transform(found) == [list(labels) for labels in binarizer.inverse_transform(found.toarray())]
    best = model.labels(features[:1], 1)[0][0]
    assert best[0] in texts[1][0]


def test_ids_indicators_and_names_are_the_same_training(texts, features):
    numbers = {name: i for i, name in enumerate(sorted(WORDS))}
    ids = [[numbers[name] for name in labels] for labels in texts[1]]
    indicator = MultiLabelBinarizer().fit_transform(texts[1])
    expected = Classifier().fit(features, texts[1]).decision_function(features).toarray()
    for y in (ids, indicator, sp.csr_array(indicator), np.array([np.array(i) for i in ids], dtype=object)):
        np.testing.assert_array_equal(Classifier().fit(features, y).decision_function(features).toarray(), expected)


def test_a_pipeline_from_texts_and_a_search(texts):
    pipeline = make_pipeline(xt.Vectorizer(), Classifier("parabel"))
    grid = {"classifier__model": [xt.LinearTree(), "parabel"], "vectorizer__ngrams": [1, 2]}
    search = GridSearchCV(pipeline, grid, scoring=scorer("P@1"), cv=KFold(2), error_score="raise").fit(*texts)
    assert search.best_score_ > 90
    nested = {"classifier__model__cost": [0.5, 2]}
    pipeline = make_pipeline(xt.Vectorizer(), Classifier(xt.LinearTree()))
    search = GridSearchCV(pipeline, nested, scoring=scorer("R@3"), cv=KFold(2), error_score="raise")
    assert search.fit(*texts).best_params_["classifier__model__cost"] in (0.5, 2)


def test_cross_validation_in_two_processes(texts, features):
    indicator = MultiLabelBinarizer().fit_transform(texts[1])
    model = Classifier(xt.LinearTree(threads=1), k=2, threshold=0.5)
    assert cross_val_score(model, features, indicator, cv=2, scoring="f1_micro", n_jobs=2).mean() > 0.8
    assert cross_val_score(model, features, texts[1], cv=KFold(2), scoring=scorer("P@1")).mean() > 90


def test_labels_that_were_not_trained_are_wrong_answers(texts, features):
    model = Classifier().fit(features, texts[1])
    assert scorer("P@1")(model, features[:2], [["unseen"], ["never"]]) == 0


def test_a_scorer_leaves_out_what_is_below_the_threshold_and_weighs_by_the_rows_trained_on(texts, features):
    strict, free = (Classifier(threshold=t).fit(features, texts[1]) for t in (2.0, None))
    assert scorer("F1@2")(strict, features, texts[1]) == 0
    assert scorer("F1@2")(free, features, texts[1]) > 50
    half = Classifier().fit(features[:80], texts[1][:80])
    binarizer = MultiLabelBinarizer(classes=half.classes_)
    Y, trained = binarizer.fit_transform(texts[1][80:]), binarizer.fit_transform(texts[1][:80])
    expected = xt.evaluate(Y, half.top(features[80:], 3), ["PSP@3"], train_labels=trained)["PSP@3"]
    assert scorer("PSP@3")(half, features[80:], texts[1][80:]) == pytest.approx(expected)


@pytest.mark.parametrize("make", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_of_fitted_ones_answer_alike(make, texts, features):
    for model in (
        Classifier(xt.LinearTree(threads=1)).fit(features, texts[1]),
        xt.LinearTree(threads=1).fit(features, MultiLabelBinarizer().fit_transform(texts[1])),
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(threads=1)).fit(*texts),
    ):
        again = make(model)
        given = texts[0][:5] if isinstance(model, xt.Tagger) else features
        if isinstance(model, Classifier):
            np.testing.assert_array_equal(again.predict(given).toarray(), model.predict(given).toarray())
            assert again.model_.threads == 1
        else:
            np.testing.assert_array_equal(again.predict(given).scores, model.predict(given).scores)


def test_vectorizer_follows_the_rules_of_transformers(texts):
    vectorizer = clone(xt.Vectorizer(ngrams=2))
    matrix = vectorizer.fit_transform(texts[0], texts[1])
    names = vectorizer.get_feature_names_out()
    assert len(names) == matrix.shape[1]
    assert "apple" in names.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: Classifier("nonsense").fit(X, y), "there is no preset 'nonsense'"),
        (lambda X, y: Classifier(5).fit(X, y), "model must be a model of this library"),
        (lambda X, y: Classifier(k=0).fit(X, y), "k must be"),
        (
            lambda X, y: Classifier().fit(X, [None, *y[1:]]),
            "for each row; row 0 is None",
        ),
        (lambda X, y: Classifier().fit(X, [[1, "a"], *y[1:]]), "all names or all numbers"),
        (lambda X, y: scorer("PP@3"), "there is no metric 'PP@3'"),
        (lambda X, y: scorer("depth@3"), "property of a tree"),
        (lambda X, y: Classifier(xt.SoftmaxTree()).fit(X, y, np.ones(160)), "SoftmaxTree cannot weigh rows"),
        (lambda X, y: GridSearchCV(xt.LinearTree(), {"cost": [1]}, scoring="f1").fit(X, y), "put xtrellis.sklearn.Cl"),
        (lambda X, y: xt.Tagger(TfidfVectorizer(), xt.LinearTree()), "got TfidfVectorizer: train on the matrix"),
        (lambda X, y: xt.LinearTree(C=1.0), "has no parameter 'C'; here it is called 'cost'"),
        (lambda X, y: xt.LinearTree(n_jobs=2), "here it is called 'threads'"),
        (lambda X, y: xt.LinearTree(random_state=2), "here it is called 'seed'"),
    ],
)
def test_what_is_refused(make, message, features, texts):
    with pytest.raises((xt.InputError, xt.ParameterError), match=message):
        make(features, texts[1])
