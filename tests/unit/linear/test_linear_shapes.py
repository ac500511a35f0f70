"""Estimates for every kind of index, beside what training then gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.data.datasets.synthetic import synthetic
from xtrellis.index.base import Index
from xtrellis.index.shape import TreeLevel, levels_of
from xtrellis.index.tree import LabelTree
from xtrellis.labels.space import LabelSpace
from xtrellis.linear.model import LinearTree

FACTOR = 2.5  # an estimate of the model's size is this near; exact for classifiers where the data has no say
N_LABELS = 3000


class Pairs(Index):
    """A builder that nothing is known about: pairs of labels below the root."""

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        n = labels.n_labels
        parents = np.concatenate([[-1], np.zeros((n + 1) // 2, int)])
        return LabelTree.from_parents(parents, np.arange(n), 1 + np.arange(n) // 2, n)


def hierarchy(n_labels=N_LABELS):
    """Groups of 7 and, above them, of 70; every tenth label sits high up; every fiftieth in two places."""
    groups = {str(label): f"g{label // 7}" for label in range(n_labels) if label % 10}
    groups |= {f"g{g}": f"h{g // 10}" for g in range(n_labels // 7 + 1)}
    groups |= {str(label): f"h{label // 70}" for label in range(0, n_labels, 10)}
    return xt.GivenTree(parents=groups)


INDEXES = {
    "balanced": xt.BalancedTree(max_leaf=30),
    "binary": xt.BalancedTree(arity=2, max_leaf=30),
    "kmeans": xt.KMeansTree(k=30, max_leaf=30),
    "deep kmeans": xt.KMeansTree(k=4, depth=6, max_leaf=20),
    "wide kmeans": xt.KMeansTree(k=1000, max_leaf=10),
    "given": hierarchy(),
    "flat": xt.FlatTree(),
    "unknown": Pairs(),
}


@pytest.fixture(scope="module")
def world():
    made = synthetic(n_rows=3000, n_labels=N_LABELS, n_features=4000, features_per_row=30, seed=3)
    return as_features(made.X), as_labels(made.Y)


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("negatives", ["teacher", "both"])
def test_sizes_are_near_for_every_index(world, name, negatives):
    X, Y = world
    if negatives == "both" and name in ("flat", "unknown", "binary"):
        negatives = "matcher"
    model = LinearTree(index=INDEXES[name], negatives=negatives, negative_beam=3, tolerance=1.0)
    expected, fitted = model.estimate(X, Y), model.fit(X, Y)
    real = sum(tree.n_bytes for tree in fitted.trees)
    assert 1 / FACTOR < expected.model_bytes / real < FACTOR
    assert real < expected.model_bytes_at_most
    ratio = expected.classifiers / fitted.tree.n_slots
    assert ratio == 1 if name in ("given", "flat") else 0.5 < ratio < 1.5


@pytest.mark.parametrize("name", INDEXES)
def test_shapes_hold_every_label(world, name):
    X, Y = world
    levels = INDEXES[name].expected_levels(LabelSpace(xt.TrainingData.of(X, Y)))
    assert sum(level.labels for level in levels) == N_LABELS
    assert levels[0].nodes == 1
    assert [level.inner for level in levels[:-1]] == [level.nodes for level in levels[1:]]
    assert levels[-1].inner == 0
    assert min(level.labels for level in levels) >= 0


@pytest.mark.parametrize("n_labels", [1, 2, 29, 31, 100, 101, 5000, 200_000])
@pytest.mark.parametrize("index", [xt.KMeansTree(), xt.KMeansTree(k=2, depth=30, max_leaf=1), xt.KMeansTree(depth=1)])
def test_unbalanced_shapes_of_any_size(n_labels, index):
    space = LabelSpace(xt.TrainingData.of(np.zeros((1, 1)), sp.csr_array((1, n_labels), dtype=np.float32)))
    levels = index.expected_levels(space)
    assert sum(level.labels for level in levels) == n_labels
    assert [level.inner for level in levels] == [*(level.nodes for level in levels[1:]), 0]
    assert all(level.nodes > 0 and level.labels >= 0 and level.inner >= 0 for level in levels)
    assert len(levels) <= index.depth + 1


def test_the_shape_of_a_tree_that_is_there():
    tree = LabelTree.from_parents([-1, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5, 4], [2, 2, 3, 3, 4, 0, 2], 6)
    assert levels_of(tree) == [TreeLevel(1, 2, 1), TreeLevel(2, 2, 3), TreeLevel(2, 0, 3)]


@pytest.mark.parametrize("name", INDEXES)
def test_limits_hold_for_every_index(world, name):
    X, Y = world
    model = LinearTree(index=INDEXES[name], memory_limit="2MB")
    with pytest.raises(xt.ParameterError, match=r"memory_limit is 2\.0 MB, but this training needs about"):
        model.fit(X, Y)
    assert not model.fitted
    tight = int(model.estimate(X, Y).least_bytes * 1.001)
    model.set_params(memory_limit=tight, tolerance=1.0).fit(X, Y)
    plain = LinearTree(index=INDEXES[name], tolerance=1.0).fit(X, Y)
    assert model.trees[0].arrays["bytes"].tobytes() == plain.trees[0].arrays["bytes"].tobytes()


def test_features_of_labels_count(world):
    X, Y = world
    features = sp.random_array((N_LABELS, 500), density=0.2, rng=np.random.default_rng(0), dtype=np.float32)
    model = LinearTree()
    plain, with_features = model.estimate(X, Y), model.estimate(X, Y, label_features=features)
    assert with_features.placing_bytes > plain.placing_bytes + 3 * 8 * features.nnz
    assert with_features.matrices_bytes > plain.matrices_bytes + 8 * features.nnz
    model.set_params(memory_limit=int(plain.peak_bytes * 1.05))
    model.clone().fit(X, Y)
    with pytest.raises(xt.ParameterError, match="label vectors"):
        model.fit(X, Y, label_features=features)
    flat = LinearTree(index=xt.FlatTree())  # which never looks at labels' vectors
    assert flat.estimate(X, Y, label_features=features).placing_bytes == 0
