"""Synthetic data: sizes, law of the labels, that it can be learnt, and that a row is always the same row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import rng
from xtrellis.core.errors import ParameterError
from xtrellis.data.datasets import synthetic as module
from xtrellis.data.datasets.synthetic import synthetic, synthetic_blocks
from xtrellis.labels.frequency import label_frequency

SMALL = {"n_labels": 500, "n_features": 5_000, "seed": 3}


def test_shape_and_form():
    data = synthetic(n_rows=2_000, labels_per_row=3, features_per_row=30, **SMALL)
    assert data.X.shape == (2_000, 5_000)
    assert data.Y.shape == (2_000, 500)
    assert data.X.dtype == data.Y.dtype == np.float32
    assert (data.X.indices.dtype, data.X.indptr.dtype) == (np.int32, np.int32)
    assert data.X.has_canonical_format
    assert data.Y.has_canonical_format
    assert (data.Y.data == 1).all()
    assert np.diff(data.Y.indptr).min() >= 1
    assert data.Y.nnz / 2_000 == pytest.approx(3, rel=0.1)
    assert 20 < data.X.nnz / 2_000 <= 30
    np.testing.assert_allclose(sp.linalg.norm(data.X, axis=1), 1, rtol=1e-5)


def test_a_row_does_not_depend_on_what_is_asked_for():
    n = module.PAGE + 500
    whole = synthetic(n_rows=n, features_per_row=5, **SMALL)
    tail = synthetic(n_rows=700, first_row=n - 700, features_per_row=5, **SMALL)
    assert (whole.X[n - 700 :] != tail.X).nnz == 0
    assert (whole.Y[n - 700 :] != tail.Y).nnz == 0
    blocks = list(synthetic_blocks(n_rows=n, features_per_row=5, **SMALL))
    assert [X.shape[0] for X, _ in blocks] == [module.PAGE, 500]
    assert (sp.vstack([Y for _, Y in blocks]) != whole.Y).nnz == 0
    other = synthetic(n_rows=700, features_per_row=5, **{**SMALL, "seed": 4})
    assert (whole.Y[:700] != other.Y).nnz > 0


@pytest.mark.parametrize("zipf", [0.0, 1.0])
def test_labels_follow_a_power_law(zipf):
    data = synthetic(n_rows=20_000, labels_per_row=1, features_per_row=1, zipf=zipf, **SMALL)
    seen = np.empty(500)
    seen[rng.generator(3, "ranks").permutation(500)] = label_frequency(data.Y)
    law = np.arange(1, 501) ** -zipf
    expected = 20_000 * law / law.sum()
    for part in (slice(0, 20), slice(20, 100), slice(100, 500)):
        assert seen[part].sum() == pytest.approx(expected[part].sum(), rel=0.1)


def test_labels_can_be_learnt_and_neighbours_are_alike():
    train = synthetic(n_rows=4_000, **SMALL)
    test = synthetic(n_rows=500, first_row=4_000, **SMALL)
    prototypes = sp.csr_array(train.Y.T @ train.X)
    lengths = sp.linalg.norm(prototypes, axis=1)
    prototypes = sp.csr_array(prototypes.multiply(1 / np.maximum(lengths, 1e-9)[:, None]))
    report = xt.evaluate(test.Y, sp.csr_array(test.X @ prototypes.T), ["P@1", "R@10"])
    most_frequent = 100 * label_frequency(test.Y).max() / 500
    assert report["P@1"] > max(80, 2 * most_frequent)
    assert report["R@10"] > 60

    similar = (prototypes @ prototypes.T).toarray()
    cluster = np.arange(500) // module.CLUSTER
    known = np.flatnonzero(label_frequency(train.Y) >= 5)
    same = cluster[known][:, None] == cluster[known][None, :]
    near = similar[np.ix_(known, known)]
    assert near[same].mean() > 1.5 * near[~same].mean()


def test_noise_alone_says_nothing():
    data = synthetic(n_rows=2_000, noise=1.0, **SMALL)
    per_feature = np.bincount(data.X.indices, minlength=5_000)
    assert per_feature[:500].sum() > 3 * per_feature[-500:].sum()


def test_odd_sizes():
    tiny = synthetic(n_rows=3, n_labels=1, n_features=1, features_per_row=1)
    assert tiny.Y.toarray().tolist() == [[1], [1], [1]]
    assert tiny.X.toarray().tolist() == [[1], [1], [1]]
    assert synthetic(n_rows=0).Y.shape == (0, 1_000)
    assert synthetic(n_rows=5, features_per_row=0).X.nnz == 0
    crowded = synthetic(n_rows=5, n_labels=2, labels_per_row=50)
    assert (np.diff(crowded.Y.indptr) <= 2).all()


@pytest.mark.parametrize(
    "wrong",
    [{"n_rows": -1}, {"n_labels": 0}, {"n_features": 2**31}, {"labels_per_row": 0.5}, {"noise": 1.5}, {"zipf": -1}],
)
def test_wrong_parameters_are_refused_at_once(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        synthetic_blocks(**wrong)
