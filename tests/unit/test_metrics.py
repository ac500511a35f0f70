"""Names, conventions and refusals of evaluation; the numbers themselves are checked in tests/parity."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

import xtrellis as xt
from xtrellis.arrays.topk import TopK
from xtrellis.core.errors import InputError, ParameterError
from xtrellis.metrics.bootstrap import bootstrap
from xtrellis.metrics.evaluate import evaluate, per_row
from xtrellis.metrics.names import Metric

Y = csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], np.float32))


def top(labels, scores=None, n_labels=4):
    labels = np.array(labels, np.int32)
    scores = np.arange(labels.size, 0, -1).reshape(labels.shape) if scores is None else scores
    return TopK(labels, np.array(scores, np.float32), n_labels)


def test_a_case_by_hand():
    report = evaluate(Y, top([[0, 2], [3, 2], [0, 1]]), ["P@1", "P@2", "R@2", "coverage@2", "nDCG@2"])
    assert report == pytest.approx(
        {
            "P@1": 100 / 3,
            "P@2": 100 / 3,
            "R@2": 50,
            "coverage@2": 200 / 3,
            "nDCG@2": 100 * (1 / (1 + 1 / np.log2(3)) + 1 / np.log2(3)) / 3,
        }
    )


def test_propensity_scores_by_hand():
    train = csr_array(np.array([[1, 1], [1, 0], [1, 0], [1, 0]]))
    c = (np.log(4) - 1) * 2.5**0.55
    w = 1 + c * np.array([5.5, 2.5]) ** -0.55
    Y = np.array([[1, 1], [0, 1]])
    report = evaluate(Y, top([[0], [1]], n_labels=2), ["PSP@1"], train_labels=train)
    assert report["PSP@1"] == pytest.approx(100 * w.sum() / (2 * w[1]))
    assert report.propensity == (0.55, 1.5)
    amazon = evaluate(Y, top([[0], [1]], n_labels=2), ["PSP@1"], train_labels=train, dataset="Amazon-670K")
    same = evaluate(Y, top([[0], [1]], n_labels=2), ["PSP@1"], train_labels=train, propensity=(0.6, 2.6))
    assert amazon == same != report


def test_a_topk_is_taken_in_the_order_it_comes_in():
    for scores in ([[1, 1]], [[1, 2]]):  # neither label ids nor scores rank it again
        assert evaluate(Y[:1], top([[3, 0]], scores), ["P@1", "R@2"]) == {"P@1": 0, "R@2": 50}
        assert evaluate(Y[:1], top([[0, 3]], scores), ["P@1", "R@2"]) == {"P@1": 100, "R@2": 50}
    padded = top([[-1, 0, -1, 3]])  # what pads is no prediction, wherever it stands
    assert evaluate(Y[:1], padded, ["P@1", "P@2"]) == {"P@1": 100, "P@2": 50}
    assert evaluate(Y[:1], padded, ["P@1"], drop=[(0, 0)])["P@1"] == 0


def test_equal_scores_of_a_matrix_rank_by_label_id():
    assert evaluate(Y[:1], csr_array(np.array([[1.0, 0, 0, 1]])), ["P@1"])["P@1"] == 100
    close = csr_array(np.array([[1.0, 0, 0, 1 + 1e-12]]))  # not a tie, though float32 would make it one
    assert evaluate(Y[:1], close, ["P@1"])["P@1"] == 0


def test_stored_zeros_are_predictions_but_not_labels():
    zeros = csr_array((np.array([0.0, -1.0]), np.array([3, 0]), np.array([0, 2])), shape=(1, 4))
    assert evaluate(Y[:1], zeros, ["P@1", "R@2"]) == {"P@1": 0, "R@2": 50}
    explicit = csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 4))
    assert evaluate(explicit, top([[1]]), ["P@1"])["P@1"] == 0
    assert evaluate(explicit, top([[0]]), ["R@1"])["R@1"] == 100


def test_dropping_is_not_scoring_zero():
    scores = csr_array(np.array([[-2.0, 0, -1.0, 0]]))
    assert evaluate(Y[:1], scores, ["P@1"], drop=[(0, 2)])["P@1"] == 100
    assert evaluate(Y[:1], top([[2, 0]]), ["P@1"], drop=np.array([[0, 2]]))["P@1"] == 100
    assert evaluate(Y[:1], scores, ["P@1"], drop=[])["P@1"] == 0


def test_skip_empty():
    assert evaluate(Y, top([[0], [2], [1]]), ["P@1"])["P@1"] == pytest.approx(200 / 3)
    skipped = evaluate(Y, top([[0], [2], [1]]), ["P@1"], skip_empty=True)
    assert skipped["P@1"] == 100
    assert (skipped.n_rows, skipped.n_empty) == (2, 1)
    with pytest.raises(InputError, match=r"nothing to evaluate.*with labels"):
        evaluate(Y[2:], top([[0]]), skip_empty=True)


@pytest.mark.parametrize("convert", [csr_matrix, csr_array, coo_array, lambda S: csr_matrix(S).astype(np.float64)])
def test_any_sparse_form_of_scores(convert):
    S = convert(csr_array(np.array([[0.5, 0, 0.25, 0], [0, 0, 1, 0], [1, 0, 0, 0]], np.float32)))
    assert evaluate(Y, S, "P@1, r@5") == pytest.approx({"P@1": 200 / 3, "R@5": 50})


def test_unsorted_scores_are_left_alone():
    indices = np.array([3, 0])
    S = csr_array((np.array([1.0, 2.0]), indices, np.array([0, 2])), shape=(1, 4))
    assert evaluate(Y[:1], S, ["P@1"])["P@1"] == 100
    assert indices.tolist() == [3, 0]


def test_degenerate_sizes():
    assert evaluate(Y, TopK(np.empty((3, 0), np.int32), np.empty((3, 0), np.float32), 4), ["P@3", "nDCG@1"]) == {
        "P@3": 0,
        "nDCG@1": 0,
    }
    no_labels = csr_array((2, 0), dtype=np.float32)
    names = ["P@1", "PSP@1", "PSnDCG@2", "coverage@1", "depth@1"]
    assert set(evaluate(no_labels, top([[-1], [-1]], n_labels=0), names, weights=[], depth=[]).values()) == {0}
    assert evaluate(Y, csr_array((3, 4), dtype=np.float32), ["P@1"])["P@1"] == 0


def test_names_are_read_in_any_case_and_refused_with_the_nearest():
    assert str(Metric.parse("psNDCG-Ratio@3")) == "PSnDCG-ratio@3"
    with pytest.raises(ParameterError, match="did you mean 'PSnDCG@5'"):
        Metric.parse("PSnDG@5")
    with pytest.raises(ParameterError, match="valid names: P@k, nDCG@k"):
        Metric.parse("xyz@5")
    for bad in ("P", "P@", "P@0", "P@-1", "P@1.5", "@3", "P@²", 5):
        with pytest.raises(ParameterError, match=r"such as|no metric"):
            Metric.parse(bad)
    with pytest.raises(ParameterError, match="at least one"):
        evaluate(Y, top([[0], [0], [0]]), [])


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (top([[0], [0]]), "2 rows and 4 labels; Y_true has 3 and 4"),
        (top([[0], [0], [0]], n_labels=5), "3 rows and 5 labels"),
        (top([[0], [4], [0]]), "row 1: label 4 is outside the 4 labels"),
        (top([[0], [-2], [0]]), "row 1: label -2 is outside"),
        (top([[0, 1], [2, 2], [0, 1]]), "row 1: label 2 is predicted twice"),
        (top([[0], [1], [2]], [[0], [0], [np.nan]]), "row 2: the score of label 2 is not a number"),
        (csr_array(np.array([[1.0, 0, 0, 0]])), "1 rows and 4 labels"),
        (csr_array(np.array([[1.0, 0, 0, 0], [0, np.nan, 0, 0], [0, 0, 0, 0]])), "row 1: the score of label 1 is not"),
        (csr_array((np.ones(3), np.array([0, 2, 2]), np.array([0, 1, 3, 3])), shape=(3, 4)), "row 1: label 2 is pred"),
        (np.ones((3, 4)), "must be a TopK or a scipy sparse matrix of scores; got ndarray"),
        (csr_array(Y.astype(complex)), "real numbers"),
    ],
)
def test_bad_predictions_are_refused(predictions, message):
    with pytest.raises(InputError, match=message):
        evaluate(Y, predictions)


def test_a_csr_that_points_outside_itself_is_refused():
    S = csr_array(Y)
    S.indices = S.indices.copy()
    S.indices[0] = 9
    with pytest.raises(InputError, match="index 9 is outside"):
        evaluate(Y, S)


def test_labels_of_other_integer_types_do_not_wrap():
    scores = np.zeros((3, 1), np.float32)
    wide = TopK(np.array([[0], [2**32 + 2], [0]]), scores, 4)
    with pytest.raises(InputError, match=r"row 1: label .* is outside"):
        evaluate(Y, wide)
    assert evaluate(Y, TopK(np.array([[0], [2], [0]], np.uint8), scores, 4), ["P@1"])["P@1"] == pytest.approx(200 / 3)
    with pytest.raises(InputError, match="integer labels"):
        evaluate(Y, TopK(scores, scores, 4))


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_scores_of_every_kind(kind):
    scores = np.array([[0.9, 0, 0.5], [0, 0.2, 0.1]])
    expected = evaluate(np.eye(2, 3), csr_array(scores), ["P@1", "nDCG@2"])
    assert dict(evaluate(np.eye(2, 3), coo_array(scores).asformat(kind), ["P@1", "nDCG@2"])) == dict(expected)
    for dtype in (">f4", ">f8", ">i4", "f2"):
        matrix = csr_array(scores)
        matrix.data = (matrix.data * 10).astype(dtype)
        assert evaluate(np.eye(2, 3), matrix, ["P@1"])["P@1"] == expected["P@1"]


def test_what_is_no_prediction_no_pair_and_no_metric():
    Y = np.eye(2, 3)
    with pytest.raises(InputError, match=r"predictions must have two dimensions; got shape \(3,\)"):
        evaluate(Y, coo_array(np.ones(3)))
    with pytest.raises(InputError, match="scores that are real numbers"):
        evaluate(Y, TopK(np.zeros((2, 1), np.int32), np.array([["a"], ["b"]]), 3))
    with pytest.raises(InputError, match="labels and scores must be NumPy arrays; got list and list"):
        TopK([[0]], [[1.0]], 3)
    for drop in ([[1], [2, 3]], [[0, 1], None], "ab", [None]):
        with pytest.raises(InputError, match="drop must be"):
            evaluate(Y, csr_array(Y), drop=drop)
    for metrics in (5, None, object(), [None], [["P@1"]]):
        with pytest.raises(ParameterError, match=r"metrics must be a list of names|a metric is a name"):
            evaluate(Y, csr_array(Y), metrics)


def test_a_label_outside_is_not_put_into_a_matrix():
    with pytest.raises(InputError, match="label 3 is outside the 3 labels"):
        TopK(np.array([[0, 3]], np.int32), np.ones((1, 2), np.float32), 3).to_csr()


def test_same_label_at_a_row_border_is_no_repeat():
    S = csr_array((np.ones(3), np.array([2, 2, 2]), np.array([0, 1, 2, 3])), shape=(3, 4))
    assert evaluate(Y, S, ["P@1"])["P@1"] == pytest.approx(100 / 3)


def test_what_a_metric_needs_is_asked_for():
    some = top([[0], [0], [0]])
    with pytest.raises(ParameterError, match="train_labels"):
        evaluate(Y, some, ["PSP@1"])
    with pytest.raises(ParameterError, match="needs depth"):
        evaluate(Y, some, ["depth@1"])
    with pytest.raises(InputError, match="each of 4 labels"):
        evaluate(Y, some, ["depth@1"], depth=[1, 2])
    with pytest.raises(InputError, match="finite"):
        evaluate(Y, some, ["PSP@1"], weights=[1, 2, np.inf, 1])
    with pytest.raises(InputError, match="3 labels; expected 4"):
        evaluate(Y, some, ["PSP@1"], train_labels=np.ones((5, 3)))
    with pytest.raises(ParameterError, match="pair"):
        evaluate(Y, some, ["PSP@1"], train_labels=np.ones((5, 4)), propensity=(1,))
    with pytest.raises(ParameterError, match="coverage"):
        per_row(Y, some, "coverage@1")
    for drop in ([(0, 4)], [(-1, 0)], [(3, 0)]):
        with pytest.raises(InputError, match="outside 3 rows"):
            evaluate(Y, some, drop=drop)
    with pytest.raises(InputError, match="m×2"):
        evaluate(Y, some, drop=[(0, 1, 2)])
    with pytest.raises(InputError, match="drop has 3 rows"):
        evaluate(Y, some, drop=csr_array((3, 2)))


def test_report_prints_as_table_and_json():
    report = evaluate(Y, top([[0, 2], [3, 2], [0, 1]]), ["p@1", "R@2", "P@2"])
    assert isinstance(report, xt.Report)
    assert list(report) == ["P@1", "R@2", "P@2"]
    assert str(report).splitlines() == [
        "metric     @1     @2",
        "P       33.33  33.33",
        "R              50.00",
        "(3 rows, 4 labels, 1 without labels count 0)",
    ]
    read = json.loads(report.to_json())
    assert read["metrics"] == dict(report)
    assert (read["n_rows"], read["n_empty"], read["propensity"]) == (3, 1, None)
    from rich.console import Console

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report)
    assert "33.33" in console.export_text()


def test_bootstrap():
    rng = np.random.default_rng(0)
    coin = 100.0 * (rng.random(4000) < 0.3)
    few = bootstrap(coin, seed=1)
    assert few == bootstrap(coin, seed=1) != bootstrap(coin, seed=2)
    assert few.mean == coin.mean()
    assert few.low < few.mean < few.high
    spread = 100 * np.sqrt(0.3 * 0.7 / 4000)
    assert few.high - few.low == pytest.approx(2 * 1.96 * spread, rel=0.15)
    many = bootstrap(rng.normal(size=400), n=500)
    assert many.high - many.low == pytest.approx(2 * 1.96 / 20, rel=0.25)
    assert bootstrap([5.0]) == (5, 5, 5)
    assert str(bootstrap([5.0])) == "5.00 [5.00, 5.00]"
    for bad in ([], [[1.0]], [np.nan]):
        with pytest.raises(InputError, match="values"):
            bootstrap(bad)
