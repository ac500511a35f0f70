"""The native steps and search of SoftmaxTree, and its explanations, against plain NumPy, for trees of every kind."""

from __future__ import annotations

import numpy as np
import pytest
import softmax_twin as twin

import xtrellis as xt
from xtrellis._native import softmax as native
from xtrellis.arrays.inputs import as_features, as_rows
from xtrellis.core.parallel import run
from xtrellis.index.tree import LabelTree
from xtrellis.labels.space import LabelSpace
from xtrellis.softmax.explain import explain
from xtrellis.softmax.network import WEIGHTINGS, SoftmaxNetwork, unit_offsets

L, D = 23, 31


def binary_tree():
    return xt.HuffmanTree().build(_space(), seed=0)


def _space():
    random = np.random.default_rng(0)
    return LabelSpace(xt.TrainingData.of(random.random((60, D)), random.random((60, L)) < 0.1))


def wide_tree():
    return xt.BalancedTree(arity=4, max_leaf=3).build(_space(), seed=1)


def flat_tree():
    return xt.FlatTree().build(_space(), seed=0)


def odd_tree():
    """A node with one child, nodes of two and of many, labels at all depths, some in two places."""
    labels = [*range(L), 3, 4]
    above = [0, 1, 1, 1, 2, 2, *[5] * (L - 6), 3, 0]
    return LabelTree.from_parents([-1, 0, 0, 2, 3, 4], labels, above, L)


TREES = [binary_tree, wide_tree, flat_tree, odd_tree]


def rows(n, seed=2):
    random = np.random.default_rng(seed)
    X = (random.random((n, D)) < 0.2) * (random.random((n, D)) - 0.3)
    X[3] = 0
    return as_features(X)


def trainer(X, tree, *, dim=20, members=1, batch=5, weighting="average", bias=1.0, asynchronous=False):
    begins = unit_offsets(tree)
    made = native.Trainer(
        X.indptr, X.indices, X.data, D, tree.offsets, tree.children, tree.owner, tree.node_slot, begins,
        units=int(begins[-1]), dim=dim, members=members, batch=batch, asynchronous=asynchronous,
        weighing=WEIGHTINGS[weighting], bias=bias, key=77,
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


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("make", TREES)
def test_an_epoch_is_what_numpy_computes(make, weighting):
    tree, X = make(), rows(40)
    visited, slots = some_visits(tree, 40, 120)
    E, W = trainer(X, tree, weighting=weighting, bias=0.7)(visited, slots, 0.8, 0.1)
    wanted_E, wanted_W = twin.train(
        X, tree, unit_offsets(tree), visited, slots, (0.8, 0.1),
        batch=5, dim=20, key=77, weighting=weighting, bias=np.float32(0.7),
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


def random_network(tree, weighting, seed=8, dim=13):
    random = np.random.default_rng(seed)
    E = random.normal(size=(D + 1, dim)).astype(np.float32)
    W = random.normal(size=(int(unit_offsets(tree)[-1]), dim)).astype(np.float32)
    return SoftmaxNetwork(tree, E, W, weighting=weighting, bias=0.5)


def probabilities(network, X):
    out, totals = [], []
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        ids, a = twin.feature_weights(X.indices[span], X.data[span], network.weighting, network.bias, D)
        hidden = a @ network.embeddings[ids].astype(np.float64)
        units = network.units.astype(np.float64)
        labels, total = twin.label_probabilities(network.tree, unit_offsets(network.tree), units, hidden)
        out.append(labels)
        totals.append(total)
    return np.array(out), np.array(totals)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("make", TREES)
def test_probabilities_are_those_of_numpy_and_sum_to_one(make, weighting):
    network, X = random_network(make(), weighting), rows(15)
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
    network = SoftmaxNetwork(
        tree, np.zeros((D + 1, 4), np.float32), np.zeros((L, 4), np.float32), weighting="unit", bias=0.0
    )
    top = network.search(as_rows(rows(5), n_features=D), 6)
    np.testing.assert_array_equal(top.labels, np.tile(np.arange(6), (5, 1)))


@pytest.fixture(scope="module")
def hierarchy(tmp_path_factory):
    """A user's: nodes of two, three and more children, and labels with several parents."""
    edges = [(label, f"group {label % 5}") for label in range(4, L)] + [(0, "top"), (1, "top")]
    edges += [(2, "group 0"), (2, "group 3"), (3, "group 1"), (3, "group 2"), (3, "top"), (9, "group 0")]
    edges += [*((f"group {i}", "top" if i < 2 else "further") for i in range(5)), ("further", "")]
    file = tmp_path_factory.mktemp("hierarchy") / "edges.tsv"
    file.write_text("\n".join(f"{child}\t{parent}" for child, parent in edges))
    return xt.GivenTree(path=str(file)).build(_space(), seed=0)


def close(value):
    return pytest.approx(value, rel=1e-5, abs=1e-6)


def check_explanations(network, X):
    """Every path to every label; returns how many children the nodes on them have (3 for more than two)."""
    tree, arities = network.tree, set()
    offsets, slots = tree.label_slots
    for i in range(X.shape[0]):
        row = as_features(X[[i]])
        ids, a = twin.feature_weights(row.indices, row.data.astype(float), network.weighting, network.bias, D)
        parts = a[:, None] * network.embeddings[ids].astype(np.float64)
        units = network.units.astype(np.float64)
        expected, _ = twin.label_probabilities(tree, unit_offsets(tree), units, parts.sum(axis=0))
        top = network.search(as_rows(row, n_features=D), L)
        for label in range(L):
            why = explain(network, row, label, None)
            assert (why.label, why.n_labels, why.n_found, why.n_trees, why.reached) == (label, L, L, 1, True)
            assert top.labels[0, why.rank - 1] == label
            assert why.score == top.scores[0, why.rank - 1]  # the same bits
            assert why.open_score == why.paths[0].score == close(expected[label])
            found = [path.score for path in why.paths]
            assert found == sorted(found, reverse=True)
            places = {tuple(nodes_to(tree, slot)): slot for slot in slots[offsets[label] : offsets[label + 1]]}
            assert {tuple(step.node for step in path.steps) for path in why.paths} == set(places)
            assert len(why.paths) == len(places)
            for path in why.paths:
                place = places[tuple(step.node for step in path.steps)]
                arities |= check_path(path, network, row, parts, place)
    return arities


def check_path(path, network, row, parts, place):
    """`parts` are what the features and, last, the constant add to the row's vector."""
    tree, begins, units, hidden = network.tree, unit_offsets(network.tree), network.units.astype(float), parts.sum(0)
    by_part = np.array([twin.margins(tree, begins, units, place, part) for part in parts])
    whole, so_far, arities = twin.margins(tree, begins, units, place, hidden), 0.0, set()
    for depth, (step, (node, child)) in enumerate(zip(path.steps, twin.path(tree, place), strict=True)):
        p = twin.child_probabilities(tree, begins, units, node, hidden)
        so_far += np.log(p[child])
        assert step.margin == close(whole[depth])
        assert step.margin == pytest.approx(step.bias + sum(push.contribution for push in step.pushes), abs=1e-12)
        assert step.bias == close(by_part[-1, depth])
        pushes = {push.feature: push for push in step.pushes}
        assert set(pushes) == set(row.indices.tolist())
        for feature, value, amount in zip(row.indices.tolist(), row.data, by_part[:-1, depth], strict=True):
            assert pushes[feature].contribution == close(amount)
            assert pushes[feature].value == value
            assert pushes[feature].contribution == pytest.approx(value * pushes[feature].weight)
        assert (step.log_score, step.path_log_score) == (close(np.log(p[child])), close(so_far))
        assert (step.rank, step.rivals, step.kept) == (1 + (p > p[child]).sum(), len(p), True)
        if len(p) == 2:  # one logistic unit, of which the margin is the logit
            assert step.score == pytest.approx(1 / (1 + np.exp(-step.margin)))
        arities.add(min(len(p), 3))
    return arities


def nodes_to(tree, slot):
    """What every step on the way to a label leads to: nodes, and None for the label itself."""
    below = [int(tree.children[tree.offsets[node] + child]) for node, child in twin.path(tree, slot)]
    return [*below[:-1], None]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(
    ("make", "arities"), [(binary_tree, {2}), (wide_tree, {3}), (flat_tree, {3}), (odd_tree, {1, 2, 3})]
)
def test_explanations_are_those_of_numpy(make, arities, weighting):
    assert check_explanations(random_network(make(), weighting), rows(4)) >= arities  # the last row is empty


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_of_a_label_with_copies_every_place_is_told(hierarchy, weighting):
    assert np.diff(hierarchy.label_slots[0])[[2, 3, 9, 5]].tolist() == [2, 3, 2, 1]
    assert check_explanations(random_network(hierarchy, weighting), rows(4)) == {2, 3}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("change", ["zeros", "tiny", "huge", "no constant"])
def test_explanations_of_odd_rows_add_up(change, weighting):
    """A stored 0 is a feature for the plain mean; squares may leave float32."""
    network, X = random_network(odd_tree(), weighting), as_features(rows(4)[[0]])
    if change == "no constant":
        network = SoftmaxNetwork(network.tree, network.embeddings, network.units, weighting=weighting, bias=0.0)
    elif change == "zeros":
        X.data[1::2] = 0
    else:
        X.data *= np.float32(1e-30 if change == "tiny" else 1e25)
    for label in range(L):
        why = explain(network, X, label, None)
        assert why.paths[0].score == pytest.approx(why.score, rel=1e-4, abs=1e-7)
        for path in why.paths:
            for step in path.steps:
                added = step.bias + sum(push.contribution for push in step.pushes)
                assert step.margin == pytest.approx(added, rel=1e-9, abs=1e-12)
