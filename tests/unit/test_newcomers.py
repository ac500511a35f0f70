"""What people try first, and nearly right: it works, or one sentence says how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import xtrellis as xt

TEXTS = [f"w{i % 7} w{i % 5} w{i % 3}" for i in range(30)]
LABELS = [[f"l{i % 6}", f"m{i % 4}"] for i in range(30)]
FRAME = pd.DataFrame({"text": TEXTS, "labels": LABELS, "one": [row[0] for row in LABELS]})
FRAME["cell"] = [";".join(row) for row in LABELS]
X = xt.Vectorizer(threads=1).fit_transform(TEXTS)
Y = sp.csr_array(np.eye(30, 6, dtype=np.float32) + np.eye(30, 6, k=-8, dtype=np.float32))
DATA = xt.Dataset(X, Y, label_names=list("abcdef"))  # type: ignore[arg-type]


def tree() -> xt.LinearTree:
    return xt.LinearTree(threads=1, max_epochs=5)


def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(threads=1), tree())


@pytest.fixture(scope="module")
def fitted() -> xt.LinearTree:
    return tree().fit(X, Y)


def rows(lists: list[Any]) -> Iterator[Any]:
    yield from lists


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (FRAME["text"], FRAME["labels"]),
        (np.array(TEXTS), np.array(LABELS)),
        (np.array(TEXTS, object), np.array(LABELS, object)),
        (tuple(TEXTS), [set(row) for row in LABELS]),
        (rows(TEXTS), rows(LABELS)),
    ],
    ids=["columns", "arrays", "objects", "sets", "generators"],
)
def test_texts_and_labels_of_any_kind(texts: Any, labels: Any) -> None:
    made = tagger().fit(texts, labels)
    assert list(made.label_names) == ["l0", "l1", "l2", "l3", "l4", "l5", "m0", "m1", "m2", "m3"]
    assert made.label_counts is not None
    assert made.label_counts.sum() == 60


def test_missing_lists_are_empty_ones() -> None:
    made = tagger().prepare(TEXTS, pd.Series([float("nan"), None, *LABELS[2:]], dtype=object))
    assert np.diff(made.Y.indptr).tolist() == [0, 0, *[2] * 28]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (FRAME, None, r"texts must be a list of strings; got DataFrame: give one column, such as texts\['text'\]"),
        (
            TEXTS,
            FRAME["one"],
            r"got 'l0', did you mean \['l0'\]\? For one label each: \[\[label\] for label in labels\]",
        ),
        (TEXTS, FRAME["cell"], r"did you mean \['l0', 'm0'\]\? For all: \[row.split\(';'\) for row in labels\]"),
        (TEXTS, [[1, 2]] * 30, r"labels\[0\] must hold names; got int 1: give names as strings"),
        (TEXTS, Y, r"got csr_array: with a matrix, fit\(xt.Dataset\(None, Y, texts=…, label_names=…\)\)"),
        (TEXTS, [{"a": 1}] * 30, r"labels\[0\] must be a list of names; got \{'a': 1\}"),
        ({"a": 1}, [["a"]], "texts must be a list of strings; got dict"),
        ([None, *TEXTS[1:]], LABELS, r"texts\[0\] is None \(NoneType\): leave the row out, or give ''"),
        ([float("nan"), *TEXTS[1:]], LABELS, r"texts\[0\] is nan \(float\): leave the row out, or give ''"),
    ],
)
def test_texts_and_labels_that_are_none(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(xt.InputError, match=message):
        tagger().fit(texts, labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: xt.Tagger(tree()), r"Tagger needs model: Tagger\(vectorizer=…, model=…\)"),
        (lambda m: xt.Tagger(tree(), xt.Vectorizer()), r"got Vectorizer: Tagger\(vectorizer, model\)"),
        (lambda m: xt.Tagger(xt.Vectorizer(), "bonsai"), r"got the name 'bonsai': xt.preset\('bonsai'\)"),
        (lambda m: xt.Tagger(None, xt.LinearTree), r"got the class LinearTree: call it, LinearTree\(\)"),
        (lambda m: tree().fit(TEXTS, Y), r"got a list of texts: xt.Vectorizer\(\).fit_transform\(X\) makes features"),
        (lambda m: m.predict(TEXTS), "got a list of texts: .* an xt.Tagger reads them"),
        (lambda m: m.predict(FRAME["text"]), "got Series of texts"),
        (lambda m: m.predict(X.toarray()[0]), r"got shape \(7,\): one row is X.reshape\(1, -1\)"),
        (lambda m: m.predict(X[0]), r"got shape \(7,\): one row is X.reshape\(1, -1\)"),
        (lambda m: m.predict(DATA), "got Dataset: its X is one"),
        (lambda m: tree().fit(DATA, Y), "a Dataset holds labels, texts and names itself"),
        (lambda m: tree().fit(xt.Dataset(None, Y, texts=TEXTS)), "texts and no features: train an xt.Tagger on it"),
        (lambda m: xt.evaluate(Y, m), r"got LinearTree: give what its predict\(X, k\) answers"),
        (lambda m: xt.evaluate(Y, Y.toarray()), r"got ndarray: of dense scores, sp.csr_array\(scores\)"),
        (lambda m: xt.evaluate(m.predict(X), Y), r"got a TopK: evaluate\(Y_true, predictions\)"),
        (lambda m: xt.evaluate(Y, m.predict(X), "PSP@1", train_labels=Y, dataset=3), "dataset must be a string"),
        (lambda m: xt.metrics.compare(Y, m.predict(X), m.predict(X), n_rows_shown="a"), "n_rows_shown must be"),
        (lambda m: xt.data.concatenate([X, X]), r"datasets\[0\] must be an xt.Dataset"),
        (lambda m: xt.data.concatenate(DATA), "datasets must be a list of them"),
        (lambda m: xt.LabelSet([0], 1.5), "n_labels must be an integer ≥ 1; got 1.5"),
        (lambda m: m.tree.labels_below(-1), "node must be an integer ≥ 0"),
        (lambda m: m.tree.labels_below("a"), "node must be an integer ≥ 0"),
        (lambda m: xt.TrainingData(X, Y).select("abc"), "rows must be row numbers, a boolean mask or a slice"),
        (lambda m: xt.TrainingData(X, Y).select([99]), "row 99 is outside the 30 rows"),
        (lambda m: xt.Dataset(X, Y, name=5), "name must be a string; got 5"),
        (lambda m: xt.Estimate.of(X, training_bytes=1, model_bytes=1), "data must be an xt.TrainingData"),
        (lambda m: xt.listen("loud").__enter__(), "listener must be a function, which is called with a ProgressEvent"),
        (lambda m: tagger().fit(TEXTS, LABELS).evaluate(DATA, predictions=[1]), "predictions must be an xt.TopK"),
        (lambda m: tagger().fit(TEXTS, LABELS).why_silent(5), "text must be a string; got 5"),
        (lambda m: xt.Report([1], n_rows=1, n_labels=1), "values must be a mapping"),
        (lambda m: xt.GivenTree(parents=pd.Series(["a", None])), "parents must be a mapping"),
        (lambda m: xt.HuffmanTree(row_weights=pd.Series(["a", None])), "row_weights must be a list of at most"),
        (lambda m: xt.Reranked(base="bonsai"), r"base must be a Model; got 'bonsai'; such as LinearTree\(\)"),
    ],
)  # fmt: skip
def test_one_sentence_with_the_cure(call: Any, message: str, fitted: xt.LinearTree) -> None:
    with pytest.raises(xt.XtrellisError, match=message):
        call(fitted)


def test_a_tensor_is_told_how_to_become_an_array(fitted: xt.LinearTree) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(xt.InputError, match=r"got Tensor: X.numpy\(\) is one"):
        fitted.predict(torch.zeros(2, 7))


def test_a_dataset_is_what_its_parts_are(fitted: xt.LinearTree) -> None:
    whole = tree().fit(DATA)
    np.testing.assert_array_equal(whole.predict(X, 3).labels, fitted.predict(X, 3).labels)
    assert tree().estimate(DATA).labels == 6
    index = xt.GivenTree(parents={"a": "x", "b": "x", "c": "y", "d": "y", "e": "z", "f": "z"})
    assert xt.LinearTree(index=index, threads=1).fit(DATA).tree.n_nodes == 4  # names came along


def test_names_that_are_not_there_are_told_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'LinearTre'; did you mean 'LinearTree'\?"):
        _ = xt.LinearTre  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"it is xtrellis\.sklearn\.Classifier"):
        _ = xt.Classifier  # type: ignore[attr-defined]
    assert not hasattr(xt, "_nothing")


def test_a_report_is_plain_data() -> None:
    import json

    top = tree().fit(X, Y).predict(X, 3)
    report = xt.evaluate(Y, top, ["P@1", "PSP@1"], train_labels=Y, propensity=(np.float32(0.5), 1))  # type: ignore[arg-type]
    told = report.to_dict()
    assert told["metrics"] == dict(report)
    assert {type(value) for value in told["metrics"].values()} == {float}
    assert (told["n_rows"], told["n_labels"], told["n_empty"]) == (30, 6, report.n_empty)
    assert told["propensity"] == [0.5, 1.0]
    assert json.loads(json.dumps(told)) == told == json.loads(report.to_json(indent=2))
