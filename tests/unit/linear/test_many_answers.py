"""More answers than are kept in order: the best of all labels, each once, though it sits in several clusters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt


@pytest.mark.parametrize("merge", ["max", "mean"])
def test_many_answers_are_those_of_scoring_all_labels(merge: str) -> None:
    data = xt.synthetic(n_rows=600, n_labels=300, n_features=400, seed=1)
    overlap = xt.Overlap(copies=3, merge=merge)
    model = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=10), overlap=overlap, beam=None, threads=2)
    model.fit(data.X, data.Y)
    X = data.X[:12]
    scores = model.score(X, sp.csr_array(np.ones((12, 300), np.float32))).toarray()
    for k in (10, 33, 100, 300):
        top = model.predict(X, k)
        assert (top.scores == -np.sort(-scores, axis=1)[:, :k]).all()
        assert (np.take_along_axis(scores, top.labels, 1) == top.scores).all()
        assert all(len(set(labels)) == k for labels in top.labels.tolist())
        for i in range(3):
            one = model.predict(X[[i]], k)
            assert (one.labels[0] == top.labels[i]).all()
            assert (one.scores[0] == top.scores[i]).all()
