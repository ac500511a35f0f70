"""Labels fused on purpose."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt


@pytest.fixture
def data():
    dice = np.random.default_rng(0)
    Y = (dice.random((200, 64)) < 0.05).astype(np.float32)
    topics = np.repeat(np.eye(8), 8, axis=0)  # label l is about topic l // 8
    X = Y @ topics
    return xt.Dataset(sp.csr_array(X.astype(np.float32)), sp.csr_array(Y), label_names=[f"l{i}" for i in range(64)])


@pytest.mark.parametrize("mode", ["easy", "medium", "hard"])
def test_every_label_goes_to_a_group_of_k(data, mode):
    fused, where = xt.entangle(data, k=4, mode=mode, seed=3)
    assert fused.n_labels == 16
    assert (np.bincount(where) == 4).all()
    dense, expected = fused.Y.toarray(), np.zeros((200, 16))
    for label in range(64):
        expected[:, where[label]] = np.maximum(expected[:, where[label]], data.Y.toarray()[:, label])
    np.testing.assert_array_equal(dense, expected)
    assert fused.label_names[int(where[0])].split(" + ").count("l0") == 1
    assert (xt.entangle(data, k=4, mode=mode, seed=3)[1] == where).all()
    assert (xt.entangle(data, k=4, mode=mode, seed=4)[1] != where).any()
    np.testing.assert_array_equal(xt.fuse(data, where).Y.toarray(), dense)


def test_easy_groups_are_alike_and_hard_ones_are_not(data):
    def mixed(mode):
        where = xt.entangle(data, k=4, mode=mode)[1]
        return sum(len({label // 8 for label in np.flatnonzero(where == g)}) > 1 for g in range(16))

    assert mixed("easy") < mixed("hard") / 2


def test_what_it_refuses(data):
    with pytest.raises(ValueError, match="k must be"):
        xt.entangle(data, k=0)
    with pytest.raises(ValueError, match="mode must be"):
        xt.entangle(data, mode="harder")
    with pytest.raises(ValueError, match="needs features"):
        xt.entangle(xt.Dataset(None, data.Y, texts=["a"] * 200), mode="easy")
    with pytest.raises(ValueError, match="an entry for each of 64 labels"):
        xt.fuse(data, np.zeros(3, int))
