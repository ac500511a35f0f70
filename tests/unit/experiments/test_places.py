"""Places one by one: the plain mean of all that search finds, and what search looks at, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.experiments.copies import apart, plain_mean, search_coverage

N, D, L = 120, 40, 30


@pytest.fixture(scope="module")
def fitted():
    dice = np.random.default_rng(0)
    Y = sp.csr_array((dice.random((N, L)) < 0.1).astype(np.float32))
    X = sp.csr_array((Y @ dice.random((L, D)) ** 3 + 0.01).astype(np.float32))
    overlap = xt.Overlap(copies=3, beam=3, max_cluster_size=None)
    model = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=4), overlap=overlap, beam=2, seed=2, threads=1)
    return model.fit(X, Y), X, Y


def reached(model, X, row):
    """{label: scores of the places that the beam holds}, by `explain`."""
    return {label: [path.score for path in model.explain(X[[row]], label).paths if path.reached] for label in range(L)}


def test_the_plain_mean_counts_every_place_found(fitted):
    model, X, _ = fitted
    top = plain_mean(model, X, 4)
    for row in range(0, N, 17):
        means = {label: np.mean(scores) for label, scores in reached(model, X, row).items() if scores}
        expected = sorted(means.values(), reverse=True)[:4]
        np.testing.assert_allclose(top.scores[row], expected, rtol=1e-4)
        for label, score in zip(top.labels[row].tolist(), top.scores[row].tolist(), strict=True):
            assert means[label] == pytest.approx(score, rel=1e-4)
    places, labels = apart(model.trees[0])
    assert np.bincount(labels).tolist() == np.diff(model.tree.label_slots[0]).tolist()
    assert places.n_bytes == model.trees[0].n_bytes


def test_covered_are_the_labels_that_search_looks_at(fitted):
    model, X, Y = fitted
    rows = np.arange(0, N, 10)
    seen = [{label for label, scores in reached(model, X, row).items() if scores} for row in rows]
    expected = sum(len(found & set(Y[[row]].indices.tolist())) for row, found in zip(rows, seen, strict=True))
    assert 0 < expected < Y[rows].nnz
    assert search_coverage(model, X[rows], Y[rows]) == pytest.approx(expected / Y[rows].nnz)
    everything = xt.LinearTree.of_trees(model.trees, model).set_params(beam=None)
    assert search_coverage(everything, X, Y) == 1
