"""One call measures a tagger: labels go by names, whatever is unknown counts as missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.tagger import METRICS

NAMES = [f"label {i:02}" for i in range(40)]
ALL = "P@1,P@3,nDCG@5,R@10,PSP@1,PSP@5,PSnDCG@3,PSnDCG-ratio@3,coverage@3"


def tree(**params: Any) -> xt.LinearTree:
    return xt.LinearTree(index=xt.BalancedTree(arity=3, max_leaf=5), **{"beam": 5, "threads": 1, **params})


@pytest.fixture(scope="module")
def parts() -> tuple[xt.Dataset, xt.Dataset]:
    data = xt.synthetic(n_rows=500, n_labels=40, n_features=200, seed=2)
    named = xt.Dataset(data.X, data.Y, label_names=NAMES)
    return named.select(slice(0, 350)), named.select(slice(350, 500))


@pytest.fixture(scope="module")
def tagger(parts: Any) -> xt.Tagger:
    return xt.Tagger(None, tree()).fit(parts[0])


def with_columns(data: xt.Dataset, columns: Any, names: list[str], **more: Any) -> xt.Dataset:
    """The data with these of its label columns."""
    return xt.Dataset(data.X, sp.csr_array(data.Y.toarray()[:, columns]), label_names=names, **more)


def test_it_is_evaluate_of_the_predictions(tagger: xt.Tagger, parts: Any) -> None:
    train, test = parts
    depths = tagger.model.tree.label_depths
    asked = f"{ALL},depth@3"
    expected = xt.evaluate(test.Y, tagger.predict(test.X, 10), asked, train_labels=train.Y, depth=depths)
    found = tagger.evaluate(test, asked)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert list(found) == list(expected)
    assert (found.n_rows, found.n_labels) == (150, 40)
    assert 20 < found["P@1"] < 100
    assert found["PSP@1"] != pytest.approx(found["P@1"])


def test_labels_are_matched_by_name(tagger: xt.Tagger, parts: Any) -> None:
    _, test = parts
    order = np.random.default_rng(0).permutation(40)
    shuffled = with_columns(test, order, [NAMES[i] for i in order])
    assert not np.array_equal(shuffled.Y.toarray(), test.Y.toarray())
    asked = f"{ALL},depth@3"
    assert dict(tagger.evaluate(shuffled, asked)) == pytest.approx(dict(tagger.evaluate(test, asked)), rel=1e-12)
    few = with_columns(test, order[:15], [NAMES[i] for i in order[:15]])  # labels that the data lacks are no hits
    rest = test.Y.toarray()
    rest[:, order[15:]] = 0
    expected = tagger.evaluate(xt.Dataset(test.X, rest, label_names=NAMES), asked)
    found = tagger.evaluate(few, asked)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert found["P@1"] < tagger.evaluate(test, "P@1")["P@1"]


def test_unknown_labels_count_as_missed(parts: Any) -> None:
    train, test = parts
    known, unknown = np.arange(30), np.arange(30, 40)
    tagger = xt.Tagger(None, tree()).fit(with_columns(train, known, NAMES[:30]))
    order = np.random.default_rng(1).permutation(40)
    shuffled = with_columns(test, order, [NAMES[i] for i in order])
    top = tagger.predict(test.X, 10)
    wide = xt.TopK(top.labels, top.scores, 40)
    seen = train.Y.toarray()
    seen[:, unknown] = 0
    expected = xt.evaluate(test.Y, wide, ALL, train_labels=sp.csr_array(seen))
    for data in (test, shuffled):
        found = tagger.evaluate(data, ALL)
        assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
        assert found.n_labels == 40
    blind = tagger.evaluate(with_columns(test, known, NAMES[:30]), ALL)  # as if nobody knew of them
    assert blind["R@10"] > expected["R@10"]
    assert blind["P@1"] == expected["P@1"]
    assert blind["PSP@5"] > expected["PSP@5"]
    assert blind.n_labels == 30
    depth = tagger.evaluate(test, "depth@3")["depth@3"]  # what is never predicted has no depth that counts
    assert depth == pytest.approx(tagger.model.tree.label_depths[top.labels[:, :3]].max(axis=1).mean())


def test_data_of_unknown_labels_alone() -> None:
    tagger = xt.Tagger(None, tree()).fit(xt.Dataset(np.eye(4), np.eye(4), label_names=list("abcd")))
    found = tagger.evaluate(xt.Dataset(np.eye(4), np.ones((4, 1)), label_names=["z"]), "P@1,R@10,coverage@3,PSP@1")
    assert dict(found) == {"P@1": 0, "R@10": 0, "coverage@3": 0, "PSP@1": 0}
    assert found.n_labels == 5


def test_excluded_pairs_are_neither_right_nor_wrong(tagger: xt.Tagger, parts: Any) -> None:
    train, test = parts
    best = tagger.predict(test.X, 3)
    excluded = np.zeros((150, 40))
    excluded[np.arange(0, 150, 2), best.labels[::2, 0]] = 1  # of every other row the first answer
    excluded[0, best.labels[0]] = 1  # of one row, three
    left = xt.Dataset(test.X, test.Y, label_names=NAMES, excluded=excluded)
    assert left.Y.nnz < test.Y.nnz
    everything = tagger.predict(test.X, 40)
    expected = xt.evaluate(test.Y, everything, ALL, train_labels=train.Y, drop=sp.csr_array(excluded))
    found = tagger.evaluate(left, ALL)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert found["P@1"] != tagger.evaluate(test, "P@1")["P@1"]
    order = np.random.default_rng(3).permutation(40)
    names = [NAMES[i] for i in order]
    shuffled = with_columns(left, order, names, excluded=excluded[:, order])
    assert dict(tagger.evaluate(shuffled, ALL)) == pytest.approx(dict(expected), rel=1e-12)


def test_excluded_pairs_by_hand() -> None:
    """Every row is its own label; rows 0 and 1 may not be told so, and their second answer is no hit."""
    tagger = xt.Tagger(None, tree()).fit(xt.Dataset(np.eye(5), np.eye(5), label_names=list("abcde")))
    excluded = np.diag([1, 1, 0, 0, 0])
    found = tagger.evaluate(xt.Dataset(np.eye(5), np.eye(5), label_names=list("abcde"), excluded=excluded), "P@1,R@1")
    assert dict(found) == {"P@1": 60, "R@1": 60}
    assert found.n_empty == 2


def test_depth_needs_a_label_tree(parts: Any) -> None:
    train, test = parts
    both = xt.Tagger(None, xt.Ensemble(models=[tree(), tree()], threads=1)).fit(train)
    with pytest.raises(xt.InputError, match="depth@k needs a model with a label tree; this is a Ensemble"):
        both.evaluate(test, "depth@1")
    softmax = xt.Tagger(None, xt.SoftmaxTree(dim=4, epochs=1, threads=1)).fit(train)
    top = softmax.predict(test.X, 2)
    expected = softmax.model.tree.label_depths[top.labels].max(axis=1).mean()
    assert softmax.evaluate(test, "depth@2")["depth@2"] == pytest.approx(expected)
    pytest.importorskip("torch")
    encoder = xt.BagEncoder(dim=4)
    joined = xt.Tagger(None, xt.XTransformer(encoder=encoder, tree=tree(), epochs=1, threads=1)).fit(train)
    with pytest.raises(xt.InputError, match="depth@k needs a model with a label tree; this is a XTransformer"):
        joined.evaluate(test, "depth@1")


def test_propensities_are_of_the_training_rows(tagger: xt.Tagger, parts: Any) -> None:
    train, test = parts
    found = tagger.evaluate(test, "PSP@3")
    top = tagger.predict(test.X, 3)
    assert found == xt.evaluate(test.Y, top, "PSP@3", weights=tagger.inverse_propensity())
    assert found["PSP@3"] == pytest.approx(xt.evaluate(test.Y, top, "PSP@3", train_labels=train.Y)["PSP@3"])
    assert found != xt.evaluate(test.Y, top, "PSP@3", train_labels=test.Y)
    bare = xt.Tagger.of_model(tagger.model, NAMES)  # knows of no rows
    assert list(bare.evaluate(test)) == [name for name in METRICS if not name.startswith("PS")]
    assert bare.evaluate(test)["P@1"] == tagger.evaluate(test)["P@1"]
    with pytest.raises(xt.InputError, match="PSP and PSnDCG need the frequencies"):
        bare.evaluate(test, ["PSP@1"])
    for nothing in ("", []):
        with pytest.raises(xt.ParameterError, match="at least one metric"):
            tagger.evaluate(test, nothing)


def test_names_of_metrics(tagger: xt.Tagger, parts: Any) -> None:
    _, test = parts
    assert list(tagger.evaluate(test)) == list(METRICS)
    for given in ("p@1, r@10", "P@1 R@10", ["P@1", "R@10"], ["P@1,R@10"], ("p@1", " r@10 ")):
        assert list(tagger.evaluate(test, given)) == ["P@1", "R@10"]
    for wrong in ("P@0", "Q@1", "P", ["P@1", 3]):
        with pytest.raises(xt.ParameterError, match="metric"):
            tagger.evaluate(test, wrong)  # type: ignore[arg-type]
    assert tagger.evaluate(test, "R@500")["R@500"] <= 100  # more than there are labels


def test_data_without_names_is_in_the_taggers_numbering(tagger: xt.Tagger, parts: Any) -> None:
    _, test = parts
    assert tagger.evaluate(xt.Dataset(test.X, test.Y), ALL) == tagger.evaluate(test, ALL)
    narrow = xt.Dataset(test.X, test.Y.toarray()[:, :30])
    assert tagger.evaluate(narrow, ALL) == tagger.evaluate(with_columns(test, np.arange(30), NAMES[:30]), ALL)
    with pytest.raises(xt.InputError, match="41 labels and no names for them; 40 are known"):
        tagger.evaluate(xt.Dataset(test.X, np.column_stack([test.Y.toarray(), np.ones(150)])))


def test_texts_are_read() -> None:
    texts, labels = ["red car", "blue car", "green boat"] * 5, [["car", "red"], ["car"], ["boat"]] * 5
    tagger = xt.Tagger(xt.Vectorizer(), tree()).fit(texts, labels)
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    data = xt.Dataset(None, Y, texts=["a red car", "one boat", "a blue car"], label_names=["red", "boat", "truck"])
    assert dict(tagger.evaluate(data, "R@1,R@2")) == pytest.approx({"R@1": 100 / 3, "R@2": 200 / 3})
    X = tagger.vectorizer.transform(data.texts)  # features alone will do
    assert tagger.evaluate(xt.Dataset(X, Y, label_names=data.label_names)) == tagger.evaluate(data)
    with pytest.raises(xt.InputError, match="texts only, but this model was trained on a feature matrix"):
        xt.Tagger.of_model(tagger.model, tagger.label_names).evaluate(data)


def test_what_cannot_be_evaluated(tagger: xt.Tagger, parts: Any) -> None:
    _, test = parts
    with pytest.raises(xt.NotFittedError, match="not trained yet"):
        xt.Tagger(None, tree()).evaluate(test)
    with pytest.raises(xt.InputError, match="nothing to evaluate"):
        tagger.evaluate(test.select([]))
