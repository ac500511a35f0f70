"""Two rankings side by side: what differs, how surely, and for which labels."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.metrics import compare


def ranking(labels: np.ndarray, n_labels: int) -> xt.TopK:
    scores = np.tile(np.linspace(1, 0.5, labels.shape[1], dtype=np.float32), (len(labels), 1))
    return xt.TopK(labels.astype(np.int32), scores, n_labels)


def world(n: int = 400, n_labels: int = 10):
    """B is right where A is, and on every fourth row more, for labels 5 to 9."""
    truth = np.arange(n) % n_labels
    wrong = (truth + 1) % n_labels
    a = np.where(np.arange(n) % 2 == 0, truth, wrong)
    b = np.where((np.arange(n) % 4 == 1) & (truth >= 5), truth, a)
    Y = np.eye(n_labels)[truth]
    return Y, ranking(a[:, None], n_labels), ranking(b[:, None], n_labels), truth


def test_the_better_one_is_found_and_the_interval_is_of_pairs() -> None:
    Y, a, b, _ = world()
    found = compare(Y, a, b, "P@1,F1@1", label_counts=np.array([1] * 5 + [50] * 5), k=1)
    one = found.metrics["P@1"]
    assert one.better == "B"
    assert one.difference.mean == pytest.approx(one.b - one.a)
    assert one.b - one.a == pytest.approx(xt.evaluate(Y, b, "P@1")["P@1"] - xt.evaluate(Y, a, "P@1")["P@1"])
    assert one.difference.low > 0
    assert one.difference.high - one.difference.low < 10  # of unpaired rows it would be about 14
    back = compare(Y, b, a, "P@1").metrics["P@1"]
    assert (back.better, back.difference.mean) == ("A", pytest.approx(-one.difference.mean))
    same = compare(Y, a, a, "P@1").metrics["P@1"]
    assert (same.better, same.difference.low, same.difference.high) == ("", 0, 0)


def test_bands_of_frequency_are_told_apart() -> None:
    Y, a, b, truth = world()
    found = compare(Y, a, b, "P@1", label_counts=np.array([1] * 5 + [50] * 5), k=1)
    rare, common = found.bands
    assert (str(rare), rare.labels, rare.entries) == ("1–5", 5, int((truth < 5).sum()))
    assert (str(common), common.labels) == ("21–100", 5)
    assert (rare.recall.better, common.recall.better) == ("", "B")
    of_common = truth >= 5
    assert common.recall.b == pytest.approx(100 * (b.labels[of_common, 0] == truth[of_common]).mean())


def test_rows_that_differ_are_named() -> None:
    Y, a, b, _ = world()
    found = compare(Y, a, b, "P@1", n_rows_shown=7)
    assert len(found.rows) == 7
    assert all((a.labels[row] != b.labels[row]).all() and found.gains[row] == 100 for row in found.rows)
    assert found.rows == tuple(sorted(found.rows))
    assert compare(Y, a, a, "P@1").rows == ()


def test_what_has_no_value_for_a_row_is_refused() -> None:
    Y, a, b, _ = world()
    for name in ("macroF1@1", "coverage@1", "depth@1"):
        with pytest.raises(xt.ParameterError, match="has no value for each row"):
            compare(Y, a, b, name)
    with pytest.raises(xt.InputError, match="label_counts must be one number for each of 10"):
        compare(Y, a, b, "P@1", label_counts=[1, 2])


def test_taggers_are_compared_by_label_names() -> None:
    texts = ["red apple", "green pear", "blue sky", "red sky"] * 5
    labels = [["fruit", "red"], ["fruit", "green"], ["sky"], ["sky", "red"]] * 5
    a = xt.Tagger(xt.Vectorizer(), xt.preset("one-vs-all")).fit(texts, labels)
    b = xt.Tagger(xt.Vectorizer(), xt.preset("one-vs-all")).fit(texts, [["zzz", *row] for row in labels])
    data = xt.Dataset(None, np.eye(3)[[0, 1, 2]], texts=["apple", "sky", "pear"], label_names=["fruit", "sky", "new"])
    found = a.compare(b, data, "P@1,R@3", k=2)
    for name, tagger in (("a", a), ("b", b)):
        assert getattr(found.metrics["P@1"], name) == pytest.approx(tagger.evaluate(data, "P@1")["P@1"])
    assert [(band.first, band.labels) for band in found.bands] == [(0, 1), (6, 2)]
    assert found.to_dict()["metrics"]["P@1"]["better"] in ("", "A", "B")
