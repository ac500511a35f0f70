"""F1 in three ways, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as sklearn_metrics

import xtrellis as xt
from xtrellis.metrics import per_row


def world(seed: int, n: int = 60, n_labels: int = 23, k: int = 6):
    """Truth and predictions, with rows that lack labels, rows with fewer than k predictions, labels never seen."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.12).astype(np.float32)
    Y[::9] = 0
    Y[:, 20:] = 0
    labels = np.stack([rng.permutation(n_labels - 2)[:k] for _ in range(n)]).astype(np.int32)
    labels[rng.random((n, k)).cumsum(axis=1) > 4] = -1
    scores = np.where(labels >= 0, np.linspace(1, 0.1, k, dtype=np.float32), 0).astype(np.float32)
    return Y, xt.TopK(labels, scores, n_labels)


def indicator(top: xt.TopK, k: int) -> np.ndarray:
    out = np.zeros((len(top), top.n_labels))
    for row, labels in enumerate(top.labels[:, :k]):
        out[row, labels[labels >= 0]] = 1
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 3, 6, 9])
def test_f1_is_that_of_scikit_learn(seed: int, k: int) -> None:
    Y, top = world(seed)
    predicted = indicator(top, k)
    present = np.flatnonzero(Y.any(axis=0) | predicted.any(axis=0))
    found = xt.evaluate(sp.csr_array(Y), top, [f"F1@{k}", f"microF1@{k}", f"macroF1@{k}", f"sampleF1@{k}"])
    for name, average, labels in (("F1", "samples", None), ("microF1", "micro", None), ("macroF1", "macro", present)):
        expected = sklearn_metrics.f1_score(Y, predicted, average=average, labels=labels, zero_division=0)
        assert found[f"{name}@{k}"] == pytest.approx(100 * expected)


def test_rows_of_f1() -> None:
    Y, top = world(0)
    for name in ("F1@3", "microF1@3"):
        assert per_row(Y, top, name).mean() == pytest.approx(xt.evaluate(Y, top, name)[name])
    with pytest.raises(xt.ParameterError, match="macroF1 is a property of all rows"):
        per_row(Y, top, "macroF1@3")


def test_nothing_predicted_and_nothing_true() -> None:
    top = xt.TopK(np.full((2, 3), -1, np.int32), np.zeros((2, 3), np.float32), 4)
    assert dict(xt.evaluate(np.zeros((2, 4)), top, "F1@3,microF1@3,macroF1@3")) == {
        "F1@3": 0, "microF1@3": 0, "macroF1@3": 0,
    }  # fmt: skip
