"""Elias and labels without rows: found by what their names share with rows, and only if asked for."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.neural.encoders.bag import BagEncoder

WORDS = 12
UNSEEN = np.arange(0, 66, 7)  # some of the pairs of words


@pytest.fixture(scope="module")
def world():
    """A label is a pair of words, and rows have the words of their label and some others."""
    rng = np.random.default_rng(0)
    names = np.zeros((66, WORDS + 20), np.float32)
    for label, pair in enumerate(combinations(range(WORDS), 2)):
        names[label, list(pair)] = 1
    label = rng.integers(0, 66, 1500)
    X = names[label].copy()
    X[:, WORDS:] = rng.random((1500, 20)) < 0.1
    Y = np.zeros((1500, 66), np.float32)
    Y[np.arange(1500), label] = 1
    new = np.isin(label, UNSEEN)
    return sp.csr_array(X), sp.csr_array(Y), sp.csr_array(names), new


def small(**params):
    how = {"encoder": BagEncoder(dim=24), "n_clusters": 8, "beam": 4, "shortlist_size": 66, "epochs": 6, "threads": 1}
    return xt.Elias(**how | params)


def test_labels_without_rows_are_found_by_their_names(world, tmp_path):
    X, Y, names, new = world
    model = small(unseen_labels=True).fit(X[~new], Y[~new], label_features=names)
    top, truth = model.predict(X[new], k=5), Y[new].indices
    assert (top.labels == truth[:, None]).any(axis=1).mean() > 0.5  # by chance: 5 of 66
    plain = small().fit(X[~new], Y[~new])
    assert not np.isin(plain.predict(X[new], k=5).labels, UNSEEN).any()
    # Labels with rows keep their classifiers, and answers for their rows hardly change.
    seen = np.setdiff1d(np.arange(66), UNSEEN)
    np.testing.assert_array_equal(model.network.labels[seen], plain.network.labels[seen])
    same = model.predict(X[~new], k=1).labels == plain.predict(X[~new], k=1).labels
    assert same.mean() > 0.9
    model.save(tmp_path / "model")
    again = xt.load(tmp_path / "model").predict(X[new], k=5)
    np.testing.assert_array_equal(again.labels, top.labels)
    np.testing.assert_array_equal(again.scores, top.scores)


def test_a_label_without_a_name_stays_out_of_reach(world):
    X, Y, names, new = world
    blank = names.tolil()
    blank[UNSEEN[0]] = 0
    model = small(unseen_labels=True, epochs=2).fit(X[~new], Y[~new], label_features=blank.tocsr())
    assert not (model.network.edge_ids == UNSEEN[0]).any()
    assert (model.network.edge_ids == UNSEEN[1]).any()


def test_names_must_be_made_as_rows_are(world):
    X, Y, names, _ = world
    with pytest.raises(xt.InputError, match=r"32 columns of X.*got 5 columns"):
        small(unseen_labels=True).fit(X, Y, label_features=names[:, :5])
    with pytest.raises(xt.InputError, match="got none"):
        small(unseen_labels=True).fit(X, Y)
    with pytest.raises(xt.InputError, match="no use for them"):
        small().fit(X, Y, label_features=names)
