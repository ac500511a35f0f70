"""The native steps and search of SoftmaxTree against plain NumPy, for trees of every kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import softmax_twin as twin

import xtrellis as xt
from xtrellis._native import softmax as native
from xtrellis.arrays import as_features, as_rows
from xtrellis.index import LabelTree
from xtrellis.parallel import run
from xtrellis.softmax.network import WEIGHINGS, Network, unit_offsets

L, D = 23, 31


def binary_tree():
    return xt.HuffmanTree().build(_space(), seed=0)


def _space():
    from xtrellis.labels import LabelSpace

    random = np.random.default_rng(0)
    X = as_features(random.random((60, D)))
    Y = sp.csr_array((random.random((60, L)) < 0.1).astype(np.float32))
    return LabelSpace(X, xt.arrays.as_labels(Y))


def wide_tree():
    return xt.BalancedTree(arity=4, max_leaf=3).build(_space(), seed=1)


def flat_tree():
    return xt.FlatTree().build(_space(), seed=0)


def odd_tree():
    """A node with one child, nodes of two and of many, labels at all depths, some in two places."""
    labels = [*range(L), 3, 4]
    above = [0, 1, 1, 1, 2, 2, *[4] * (L - 6), 3, 0]
    return LabelTree.from_parents([-1, 0, 0, 2, 3], labels, above, L)


TREES = [binary_tree, wide_tree, flat_tree, odd_tree]


def rows(n, seed=2):
    random = np.random.default_rng(seed)
    X = (random.random((n, D)) < 0.2) * (random.random((n, D)) - 0.3)
    X[3] = 0
    return as_features(X)


def trainer(X, tree, *, dim=20, members=1, batch=5, weighing="average", bias=1.0, asynchronous=False):
    begins = unit_offsets(tree)
    made = native.Trainer(
        X.indptr, X.indices, X.data, D, tree.offsets, tree.children, tree.owner, tree.node_slot, begins,
        units=int(begins[-1]), dim=dim, members=members, batch=batch, asynchronous=asynchronous,
        weighing=WEIGHINGS[weighing], bias=bias, key=77,
    )  # fmt: skip

    def descend(visited, slots, first, last):
        run(lambda m: made.run(m, visited, slots, first, last), range(members), threads=members)
        E, W = np.empty((D + 1, dim), np.float32), np.empty((int(begins[-1]), dim), np.float32)
        made.collect(E, W)
        return E, W

    return descend


def some_visits(tree, n, count, seed=5):
    random = np.random.default_rng(seed)
    label_slots = np.flatnonzero(tree.children < 0)
    visited = np.repeat(random.integers(0, n, count // 2), 2)  # twice: rows share their hidden vector in a block
    return visited.astype(np.int32), random.choice(label_slots, count).astype(np.int32)


@pytest.mark.parametrize("weighing", WEIGHINGS)
@pytest.mark.parametrize("make", TREES)
def test_an_epoch_is_what_numpy_computes(make, weighing):
    tree, X = make(), rows(40)
    visited, slots = some_visits(tree, 40, 120)
    E, W = trainer(X, tree, weighing=weighing, bias=0.7)(visited, slots, 0.8, 0.1)
    wanted_E, wanted_W = twin.train(
        X, tree, unit_offsets(tree), visited, slots, (0.8, 0.1),
        batch=5, dim=20, key=77, weighing=weighing, bias=np.float32(0.7),
    )  # fmt: skip
    np.testing.assert_allclose(E, wanted_E, rtol=2e-4, atol=2e-6)
    np.testing.assert_allclose(W, wanted_W, rtol=2e-4, atol=2e-6)
    assert np.abs(wanted_W).max() > 1e-3  # something was learned


@pytest.mark.parametrize("dim", [1, 8, 20, 100, 300])
def test_any_number_of_threads_gives_the_same_bits(dim):
    tree, X = wide_tree(), rows(40)
    visited, slots = some_visits(tree, 40, 200)
    alone = trainer(X, tree, dim=dim)(visited, slots, 0.8, 0.1)
    for members in range(2, native.shards(dim) + 1):
        together = trainer(X, tree, dim=dim, members=members)(visited, slots, 0.8, 0.1)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_asynchronous_thread_is_the_same():
    tree, X = binary_tree(), rows(40)
    visited, slots = some_visits(tree, 40, 100)
    alone = trainer(X, tree)(visited, slots, 0.8, 0.1)
    for a, b in zip(alone, trainer(X, tree, asynchronous=True)(visited, slots, 0.8, 0.1), strict=True):
        np.testing.assert_array_equal(a, b)


def random_network(tree, weighing, seed=8, dim=13):
    random = np.random.default_rng(seed)
    E = random.normal(size=(D + 1, dim)).astype(np.float32)
    W = random.normal(size=(int(unit_offsets(tree)[-1]), dim)).astype(np.float32)
    return Network(tree, E, W, weighing=weighing, bias=0.5)


def probabilities(network, X):
    out, totals = [], []
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        ids, a = twin.feature_weights(X.indices[span], X.data[span], network.weighing, network.bias, D)
        hidden = a @ network.embeddings[ids].astype(np.float64)
        units = network.units.astype(np.float64)
        labels, total = twin.label_probabilities(network.tree, unit_offsets(network.tree), units, hidden)
        out.append(labels)
        totals.append(total)
    return np.array(out), np.array(totals)


@pytest.mark.parametrize("weighing", WEIGHINGS)
@pytest.mark.parametrize("make", TREES)
def test_probabilities_are_those_of_numpy_and_sum_to_one(make, weighing):
    network, X = random_network(make(), weighing), rows(15)
    expected, totals = probabilities(network, X)
    everything = as_features(np.ones((15, L)))
    got = network.score(as_rows(X, n_features=D), everything).toarray()
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(totals, 1)
    if not network.tree.has_copies:
        np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 4, L])
@pytest.mark.parametrize("make", TREES)
def test_best_first_search_finds_what_looking_at_all_labels_finds(make, k):
    network, X = random_network(make(), "weighted"), as_rows(rows(25), n_features=D)
    everything = network.score(X, as_features(np.ones((25, L)))).toarray()
    top = network.search(X, k)
    order = np.lexsort((np.tile(np.arange(L), (25, 1)), -everything))[:, :k]
    np.testing.assert_array_equal(top.labels, order)
    np.testing.assert_array_equal(top.scores, np.take_along_axis(everything, order, 1))
    some = np.array([2, 5, 11, 19])
    few = network.search(X, k, labels=some)
    best = some[np.lexsort((np.tile(some, (25, 1)), -everything[:, some]))][:, :k]
    np.testing.assert_array_equal(few.labels, best)


def test_equal_probabilities_are_ordered_by_label():
    tree = xt.FlatTree().build(_space(), seed=0)
    network = Network(tree, np.zeros((D + 1, 4), np.float32), np.zeros((L, 4), np.float32), weighing="unit", bias=0.0)
    top = network.search(as_rows(rows(5), n_features=D), 6)
    np.testing.assert_array_equal(top.labels, np.tile(np.arange(6), (5, 1)))
