"""Who goes where: routing by labels and by search, beside the twins."""

from __future__ import annotations

import linear_twin as twin
import numpy as np
import pytest
import scipy.sparse as sp

from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.data import TrainingData
from xtrellis.index.balanced import BalancedTree
from xtrellis.index.flat import FlatTree
from xtrellis.index.tree import LabelTree
from xtrellis.labels.space import LabelSpace
from xtrellis.linear.model import LinearTree
from xtrellis.linear.routes import Beams, Routes, Visitors
from xtrellis.linear.segments import OFFSETS, Segment, cuts


def problem(n=90, d=30, n_labels=40, seed=0, labels_a_row=2):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return as_features(X), as_labels((rng.random((n, n_labels)) < labels_a_row / n_labels).astype(np.float32))


def ragged_tree():
    """Leaves at three depths, one label in two places."""
    return LabelTree.from_parents([-1, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5, 4], [2, 2, 3, 3, 4, 0, 2], 6)


def beams_of(reached, nodes):
    held = [sorted(v for v in row if v in nodes) for row in reached]
    offsets = np.cumsum([0, *map(len, held)]).astype(np.int64)
    return Beams(offsets, np.array([v for row in held for v in row], np.int32), np.zeros(offsets[-1], np.float32))


def same_routes(routes, first, last, expected):
    assert len(routes.node_offsets) == last - first + 1
    for node in range(first, last):
        begin, end = routes.span(node)
        rows = routes.rows[begin:end].tolist()
        assert rows == sorted(expected[node])
        for i, row in enumerate(rows):
            span = slice(routes.positive_offsets[begin + i], routes.positive_offsets[begin + i + 1])
            assert routes.positives[span].tolist() == sorted(expected[node][row])


@pytest.mark.parametrize("largest", [1, 5, 1000])
@pytest.mark.parametrize("tree", [ragged_tree(), LabelTree([0, 6], ~np.arange(6), 6)])
def test_rows_go_to_the_nodes_above_their_labels(tree, largest):
    _, Y = problem(n_labels=6, labels_a_row=1)
    expected = twin.route(Y, tree)
    visitors = Visitors(Y, tree)
    for level in cuts(tree, largest):
        visitors.begin_level(level[0][0], level[-1][1])
        for first, last in level:
            same_routes(Routes.of_nodes(Y, tree, first, last), first, last, expected)
            if first:  # all rows visit the root
                same_routes(visitors.routes(first, last), first, last, expected)


@pytest.mark.parametrize("scheme", ["matcher", "both"])
def test_rows_go_to_the_nodes_that_search_holds(scheme):
    _, Y = problem(n_labels=6, labels_a_row=1)
    tree, rng = ragged_tree(), np.random.default_rng(1)
    reached = [{0} | set(np.flatnonzero(rng.random(tree.n_nodes) < 0.4).tolist()) for _ in range(Y.shape[0])]
    expected = twin.route(Y, tree, scheme, reached)
    for nodes in tree.levels():
        first, last = int(nodes[0]), int(nodes[-1]) + 1
        beams = beams_of(reached, set(nodes.tolist()))
        got = Routes.of_nodes(Y, tree, first, last, teacher=scheme == "both", reached=beams)
        same_routes(got, first, last, expected)


def segments_of(packed):
    """The trained weights of a model, cut by level as training has them."""
    tree, blocks, out = packed.tree, packed.blocks, []
    for nodes in tree.levels():
        first, last = int(nodes[0]), int(nodes[-1]) + 1
        b0, b1 = int(blocks[first]), int(blocks[last])
        arrays = {"scales": packed.arrays["scales"][b0:b1]}
        for name, content in OFFSETS.items():
            offsets = packed.arrays[name][b0 : b1 + 1]
            arrays[name] = offsets - offsets[0]
            arrays[content] = packed.arrays[content][offsets[0] : offsets[-1]]
        arrays["biases"] = packed.arrays["biases"][tree.offsets[first] : tree.offsets[last]]
        out.append(Segment(first, last, arrays))
    return out


@pytest.mark.parametrize("index", [BalancedTree(arity=4, max_leaf=3), BalancedTree(arity=2, max_leaf=5), FlatTree()])
@pytest.mark.parametrize("beam", [1, 3, 50])
@pytest.mark.parametrize(("threads", "storage"), [(1, "float32"), (3, "float32"), (1, "float16"), (2, "int8")])
def test_what_rows_reach_level_by_level_is_what_search_holds(index, beam, threads, storage):
    X, Y = problem(n_labels=60, labels_a_row=4)
    model = LinearTree(index=index, prune=0.01, transform="sigmoid", storage=storage).fit(X, Y)
    packed, dense = model.trees[0], X.toarray().astype(np.float64)
    beams, found = Beams.at_root(X.shape[0]), [{0} for _ in range(X.shape[0])]
    for segment in segments_of(packed)[:-1]:
        beams = beams.descend(
            X, packed.tree, [segment], transform="sigmoid", storage=storage, beam=beam, threads=threads
        )
        for row in range(X.shape[0]):
            held = beams.nodes[beams.offsets[row] : beams.offsets[row + 1]].tolist()
            assert held == sorted(held)
            found[row] |= set(held)
    assert found == [twin.held_nodes(packed, dense[row], beam) for row in range(X.shape[0])]


def test_a_wide_node_is_reached_through_all_its_blocks():
    """300 nodes below the root: two blocks, and more candidates than a short list takes."""
    n_labels = 300
    rng = np.random.default_rng(2)
    X = as_features(sp.random_array((50, 20), density=0.4, rng=rng, dtype=np.float32, format="csr"))
    Y = as_labels((rng.random((50, n_labels)) < 0.02).astype(np.float32))
    tree = LabelTree.from_parents([-1, *[0] * n_labels], np.arange(n_labels), np.arange(1, n_labels + 1), n_labels)
    model = LinearTree(index=Given(tree), prune=0.01, storage="float32").fit(X, Y)
    packed = model.trees[0]
    assert packed.tree == tree
    root = segments_of(packed)[0]
    beams = Beams.at_root(50).descend(X, tree, [root], transform="l3-hinge", storage="float32", beam=4, threads=1)
    for row in range(50):
        held = set(beams.nodes[beams.offsets[row] : beams.offsets[row + 1]].tolist())
        assert held | {0} == twin.held_nodes(packed, X.toarray()[row].astype(np.float64), 4)


class Given(FlatTree):
    """A tree that is there already."""

    def __init__(self, tree):
        super().__init__()
        self._tree = tree

    def build(self, labels, *, seed):
        return self._tree


def test_segments_join_to_the_arrays_they_were_cut_from():
    X, Y = problem(n_labels=60, labels_a_row=4)
    packed = LinearTree(index=BalancedTree(arity=4, max_leaf=3)).fit(X, Y).trees[0]
    whole = Segment.join(segments_of(packed), consume=True)
    assert whole.arrays.keys() == packed.arrays.keys()
    for name, array in packed.arrays.items():
        assert whole.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(whole.arrays[name], array)


@pytest.mark.parametrize("largest", [1, 7, 10**6])
def test_cuts_cover_every_node_once_and_stay_within_a_level(largest):
    tree = BalancedTree(arity=4, max_leaf=3).build(LabelSpace(TrainingData.of(*problem()), threads=1), seed=0)
    levels = cuts(tree, largest)
    assert len(levels) == tree.depth
    for runs, nodes in zip(levels, tree.levels(), strict=True):
        assert [v for first, last in runs for v in range(first, last)] == nodes.tolist()
        for first, last in runs:
            assert last - first == 1 or tree.offsets[last] - tree.offsets[first] <= largest
