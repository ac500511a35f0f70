"""Rows at unit length: by default, exactly, in every model that reads features; and as they are, if told so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays import as_rows, unit_rows
from xtrellis.arrays.inputs import as_features
from xtrellis.data import TrainingData


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 12)) < 0.2).astype(np.float32)
    X = np.round((Y @ rng.random((12, 30))) * 5 * (rng.random((200, 30)) < 0.5)).astype(np.float32)
    return sp.csr_array(X), sp.csr_array(Y)


def test_the_kernel_against_numpy():
    rng = np.random.default_rng(1)
    dense = (rng.standard_normal((50, 23)) * (rng.random((50, 23)) < 0.6)).astype(np.float32)
    dense *= np.float32(10.0) ** rng.integers(-15, 15, (50, 1))
    dense[7] = 0
    lengths = np.linalg.norm(dense.astype(np.float64), axis=1, keepdims=True)
    expected = np.divide(dense, lengths, out=np.zeros_like(lengths * dense), where=lengths > 0)
    found = unit_rows(as_features(dense))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)
    assert unit_rows(found) is found, "what is of unit length stays, to the bit"
    for row in range(50):  # one by one as all together
        alone = as_rows(sp.csr_array(dense[row : row + 1]), n_features=23, unit=True)
        np.testing.assert_array_equal(alone.data, found[[row]].data)


def test_large_and_tiny_values_do_not_overflow():
    found = as_rows(np.float32([[1e18, 1e18], [1e-40, 0]]), n_features=2, unit=True)
    np.testing.assert_allclose(found.data, [0.5**0.5, 0.5**0.5, 1], rtol=1e-6)


def test_counts_are_learned_as_well_as_unit_rows(data):
    X, Y = data
    same = xt.LinearTree().fit(X, Y).predict(X, 3)
    scaled = xt.LinearTree(normalize_rows=False).fit(unit_rows(as_features(X)), Y).predict(unit_rows(as_features(X)), 3)
    np.testing.assert_array_equal(same.labels, scaled.labels)
    np.testing.assert_array_equal(same.scores, scaled.scores)


def test_rows_may_be_taken_as_they_are(data):
    X, Y = data
    raw = xt.LinearTree(normalize_rows=False).fit(X, Y)
    assert not np.array_equal(raw.predict(X, 3).scores, raw.predict(X * 2, 3).scores)
    model = xt.Reranked(base=xt.LinearTree(normalize_rows=False), normalize_rows=False, calibrate=False).fit(X, Y)
    assert not np.array_equal(model.predict(X, 3).scores, model.predict(X * 2, 3).scores)


def test_an_explanation_adds_up(data):
    X, Y = data
    row = X[[int(np.diff(X.indptr).argmax())]]
    for model in (xt.LinearTree().fit(X, Y), xt.Reranked(calibrate=False).fit(X, Y)):
        label = int(model.predict(row, 1).labels[0, 0])
        why = model.explain(row, label)
        assert why.score == pytest.approx(model.predict(row, 1).scores[0, 0], rel=1e-5)
        step = max(why.paths[0].steps, key=lambda step: len(step.pushes))
        assert step.margin == pytest.approx(step.bias + sum(push.contribution for push in step.pushes), abs=1e-5)
        assert max(abs(push.value) for push in step.pushes) <= 1


def test_the_estimate_counts_the_scaled_values(data):
    X, Y = data
    raw, scaled = TrainingData.of(X, Y), TrainingData.of(X, Y).at_unit_length()
    assert scaled.n_bytes == raw.n_bytes + X.data.nbytes
    assert scaled.at_unit_length() is scaled
