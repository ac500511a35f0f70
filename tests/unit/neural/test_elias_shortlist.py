"""Which labels an answer asks about: by all paths that lead to them, or by the best one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import xtrellis as xt
from xtrellis.neural.elias.network import EliasNetwork
from xtrellis.neural.encoders.bag import BagEncoder


def two_ways() -> EliasNetwork:
    """Both clusters have half of a row. Label 0 has the best path; label 1 is led to twice, by edges nearly as good."""
    ids = np.array([[0, 1, 2], [1, 3, -1]], np.int32)
    scores = np.array([[0.5, 0.4, 0.1], [0.4, 0.1, 0.0]])
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(scores), -1e30).astype(np.float32)
    return EliasNetwork(np.zeros((2, 2), np.float32), ids, logs, np.zeros((4, 2), np.float32), 1.0)


def test_many_paths_are_worth_more_than_one() -> None:
    network, vectors = two_ways(), np.ones((1, 2), np.float32)
    for by, first in (("sum", 1), ("best", 0)):
        assert network.shortlist(vectors, beam=2, size=1, by=by).labels.tolist() == [[first]]
        assert network.n_asked(vectors, beam=2, shortlist_size=3, by=by).tolist() == [3]
    # What a label scores is the same either way.
    by_sum, by_best = (network.predict(vectors, 4, beam=2, shortlist_size=4, by=by) for by in ("sum", "best"))
    np.testing.assert_array_equal(by_sum[0], by_best[0])
    np.testing.assert_array_equal(by_sum[1], by_best[1])


def test_it_is_a_parameter_of_search(tmp_path: Path) -> None:
    data = xt.synthetic(n_rows=200, n_labels=40, n_features=100, seed=0)
    model = xt.Elias(
        encoder=BagEncoder(dim=16), n_clusters=8, beam=4, shortlist_size=10, epochs=3, edges_per_cluster=20, threads=1
    ).fit(data.X, data.Y)
    network, vectors = model.network, model.embed(data.X)
    for by in ("best", "sum"):
        expected = network.predict(vectors, 5, beam=4, shortlist_size=10, by=by)[0]
        np.testing.assert_array_equal(model.set_params(shortlist_by=by).predict(data.X, k=5).labels, expected)
        model.save(tmp_path / by)
        np.testing.assert_array_equal(xt.load(tmp_path / by).predict(data.X, k=5).labels, expected)
    assert not np.array_equal(
        *(network.predict(vectors, 5, beam=4, shortlist_size=10, by=b)[1] for b in ("best", "sum"))
    )


def test_models_from_before_keep_to_the_best_path() -> None:
    assert xt.Elias().shortlist_by == "sum"
    assert xt.Elias.params_from_json({"beam": 5})["shortlist_by"] == "best"
