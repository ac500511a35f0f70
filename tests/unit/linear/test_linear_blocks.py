"""Wide blocks cut for several threads: the same bytes as in one piece."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.linear import blocks, train
from xtrellis.linear.blocks import cut_block, join_block
from xtrellis.linear.model import LinearTree


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    X = sp.random_array((90, 50), density=0.2, rng=rng, dtype=np.float32, format="csr")
    return X, sp.csr_array((rng.random((90, 300)) < 0.03).astype(np.float32))


def bytes_of(model):
    return [{name: array.tobytes() for name, array in tree.arrays.items()} for tree in model.trees]


@pytest.mark.parametrize("index", [xt.FlatTree(), xt.KMeansTree(k=100, max_leaf=2), xt.BalancedTree(max_leaf=70)])
@pytest.mark.parametrize(
    "params", [{}, {"max_weights": 3, "storage": "int8"}, {"negatives": "both", "loss": "logistic"}]
)
def test_cut_blocks_give_the_same_bytes(world, index, params, monkeypatch):
    X, Y = world
    model = LinearTree(index=index, threads=1, **params)
    expected = bytes_of(model.fit(X, Y))
    monkeypatch.setattr(blocks, "LARGE", 1)
    joined = []
    monkeypatch.setattr(train, "join_block", lambda parts, n: joined.append(len(parts)) or join_block(parts, n))
    for threads in (2, 7):
        joined.clear()
        assert bytes_of(model.clone().set_params(threads=threads).fit(X, Y)) == expected
        assert joined, "some block was cut"
    joined.clear()
    model.clone().fit(X, Y)
    assert not joined, "one thread has no use for parts"


def test_cut_blocks_under_a_memory_limit_and_with_a_checkpoint(world, tmp_path, monkeypatch):
    X, Y = world
    expected = bytes_of(LinearTree(index=xt.FlatTree(), threads=2).fit(X, Y))
    monkeypatch.setattr(blocks, "LARGE", 1)
    tight = LinearTree(index=xt.FlatTree(), threads=2)
    tight.memory_limit = int(tight.estimate(X, Y).least_bytes * 1.001)
    assert bytes_of(tight.fit(X, Y, checkpoint=tmp_path / "c")) == expected


def test_small_blocks_stay_whole():
    assert cut_block(256, 100, 50) == [(256, 100)]
    assert cut_block(256, 70, blocks.LARGE) == [(256, 32), (288, 32), (320, 6)]
    assert cut_block(0, 16, blocks.LARGE) == [(0, 16)]


def test_huge_nodes_have_small_groups_on_any_number_of_threads(world, monkeypatch):
    X, Y = world
    model = LinearTree(index=xt.BalancedTree(max_leaf=20), threads=1)
    usual = bytes_of(model.fit(X, Y))
    monkeypatch.setattr(blocks, "HUGE", 90 * 16)  # the root's 90 rows, and no other node's
    assert cut_block(0, 18, 80, alone=False) == [(0, 4), (4, 4), (8, 4), (12, 4), (16, 2)]
    small = bytes_of(model.clone().fit(X, Y))
    assert small != usual, "other groups, other rounding"
    monkeypatch.setattr(blocks, "LARGE", 1)
    for threads in (2, 7):
        assert bytes_of(model.clone().set_params(threads=threads).fit(X, Y)) == small


def test_parts_without_weights_are_joined():
    empty = (np.zeros(0, np.int32), np.zeros(1, np.uint32), np.zeros(0, np.uint8), np.zeros(0, np.float32))
    one = (np.array([5], np.int32), np.array([0, 1], np.uint32), np.array([3], np.uint8), np.array([0.5], np.float32))
    features, starts, children, weights = join_block([empty, one, empty])
    assert (features.tolist(), starts.tolist(), children.tolist(), weights.tolist()) == ([5], [0, 1], [35], [0.5])
    dtypes = [array.dtype for array in join_block([empty, empty])]
    assert dtypes == [np.int32, np.uint32, np.uint8, np.float32]
