"""Rows that count more, less or not at all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((150, 12)) < 0.2).astype(np.float32)
    X = (Y @ rng.random((12, 20))) * (rng.random((150, 20)) < 0.6)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def test_rows_of_weight_0_are_as_if_they_were_not_there(data):
    X, Y = data
    weights = np.ones(150)
    weights[::3] = 0
    kept = np.flatnonzero(weights)
    a = xt.LinearTree().fit(X, Y, sample_weight=weights).predict(X, 5)
    b = xt.LinearTree().fit(X[kept], Y[kept], sample_weight=np.ones(len(kept))).predict(X, 5)
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_weights_of_1_change_nothing_and_others_do(data):
    X, Y = data
    plain = xt.LinearTree().fit(X, Y).predict(X, 5)
    ones = xt.LinearTree().fit(X, Y, sample_weight=np.ones(150)).predict(X, 5)
    np.testing.assert_array_equal(plain.scores, ones.scores)
    heavy = xt.LinearTree().fit(X, Y, sample_weight=np.full(150, 4.0)).predict(X, 5)
    costly = xt.LinearTree(cost=4.0).fit(X, Y).predict(X, 5)
    np.testing.assert_allclose(heavy.scores, costly.scores, atol=1e-5)


def test_a_row_of_weight_2_is_a_row_that_is_there_twice(data):
    """Solved to the end, both are the same classifiers."""
    X, Y = data
    weights = np.ones(150)
    weights[:40] = 2
    twice = np.concatenate([np.arange(150), np.arange(40)])
    model = xt.LinearTree(index=xt.FlatTree(), tolerance=1e-6, max_epochs=100_000, prune=0, storage="float32")
    a = model.clone().fit(X, Y, sample_weight=weights).predict(X, 12).to_csr().toarray()
    b = model.clone().fit(X[twice], Y[twice]).predict(X, 12).to_csr().toarray()
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(149), "150 numbers, one for each row; got shape"),
        (np.full(150, -1.0), "between 0 and 1e"),
        (np.full(150, np.nan), "between 0 and 1e"),
        (np.zeros(150), "not all zero"),
        (["a"] * 150, "150 numbers"),
    ],
)
def test_what_is_refused(data, weights, message):
    with pytest.raises(xt.InputError, match=message):
        xt.LinearTree().fit(*data, sample_weight=weights)


def test_models_that_cannot_weigh_rows_say_so(data):
    with pytest.raises(xt.InputError, match="a SoftmaxTree cannot weigh rows; a LinearTree can"):
        xt.SoftmaxTree().fit(*data, sample_weight=np.ones(150))


def test_a_checkpoint_knows_the_weights(data, tmp_path):
    X, Y = data
    xt.LinearTree().fit(X, Y, checkpoint=tmp_path / "work")
    with pytest.raises(xt.StoreError, match="another training"):
        xt.LinearTree().fit(X, Y, sample_weight=np.full(150, 2.0), checkpoint=tmp_path / "work")
