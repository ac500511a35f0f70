"""Metrics that look at more predictions than there are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt

Y = np.eye(6, 8)


def top(k: int, lengths: list[int] | None = None) -> xt.TopK:
    labels = np.tile(np.arange(k, dtype=np.int32), (6, 1))
    for row, length in enumerate(lengths or []):
        labels[row, length:] = -1
    return xt.TopK(labels, np.full((6, k), 0.5, np.float32), 8)


def test_two_answers_are_too_few_for_five() -> None:
    report = xt.evaluate(Y, top(2), ["P@1", "P@5", "R@3", "F1@5", "coverage@5"])
    assert (report.most_predictions, report.too_far) == (2, ("P@5", "R@3"))
    assert "at most 2 predictions a row: P@5, R@3 count the missing as wrong" in str(report)
    same = xt.evaluate(Y, top(2).to_csr(), ["P@5"])
    assert same.too_far == ("P@5",)


@pytest.mark.parametrize(
    ("predictions", "metrics"),
    [
        (top(5), ["P@5"]),
        (top(5, [1, 1, 2, 1, 1, 1]), ["P@5"]),  # as many as were asked for, and then a threshold
        (top(3, [1, 1, 1, 2, 2, 3]), ["P@5"]),  # fewer and fewer rows have more and more: a threshold
        (top(8), ["P@10"]),  # all labels
        (sp.csr_array((6, 8)), ["P@5"]),
    ],
)
def test_what_is_no_want_of_answers(predictions: object, metrics: list[str]) -> None:
    report = xt.evaluate(Y, predictions, metrics)
    assert (report.most_predictions, report.too_far) == (None, ())
    assert "at most" not in str(report)
