"""Neural models score labels that somebody else proposes, as they score their own answers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.neural import scoring

SMALL = {"encoder": xt.BagEncoder(dim=8), "epochs": 2, "batch_size": 64, "threads": 1}
MODELS = {
    "Elias": lambda: xt.Elias(n_clusters=8, beam=8, shortlist_size=60, **SMALL),  # looks at everything
    "EncoderOvA": lambda: xt.EncoderOvA(**SMALL),
    "Glas": lambda: xt.Glas(dim=16, epochs=2, threads=1),
}


@pytest.fixture(scope="module")
def data():
    made = xt.synthetic(n_rows=300, n_labels=60, n_features=200, seed=0)
    return made.X, made.Y


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_given_labels_are_those_of_predictions(name, data, monkeypatch):
    monkeypatch.setattr(scoring, "PIECE", 100)  # several pieces
    X, Y = data
    model = MODELS[name]().fit(X, Y)
    top = model.predict(X, 60)
    found = model.score(X, sp.csr_array(np.ones((300, 60), np.float32))).toarray()
    there = top.labels >= 0
    rows = np.nonzero(there)[0]
    np.testing.assert_allclose(found[rows, top.labels[there]], top.scores[there], rtol=1e-4, atol=1e-6)
    assert there.mean() > 0.9
    some = model.score(X, Y)  # the pairs of Y, and no others
    assert (some.indices == Y.indices).all()
    np.testing.assert_allclose(some.toarray()[Y.toarray() > 0], found[Y.toarray() > 0], rtol=1e-5)
    assert model.score(X, sp.csr_array((300, 60), dtype=np.float32)).nnz == 0
    with pytest.raises(ValueError, match="labels"):
        model.score(X, sp.csr_array(np.ones((300, 61), np.float32)))


def test_a_label_that_no_cluster_leads_to_scores_nothing(data):
    X, Y = data
    model = MODELS["Elias"]().fit(X, Y).prune(least=0.0, top=1)
    lost = np.setdiff1d(np.arange(60), model.network.edge_ids)
    assert len(lost)
    found = model.score(X, sp.csr_array(np.ones((300, 60), np.float32))).toarray()
    assert (found[:, lost] == 0).all()
    assert (found[:, np.unique(model.network.edge_ids)] > 0).all()


def test_an_ensemble_of_reranked_ones_asks_them(data):
    X, Y = data
    members = [xt.Reranked(base=MODELS["Elias"](), calibrate=False, candidates=5, seed=s).fit(X, Y) for s in (0, 1)]
    both = xt.Ensemble.of(members, candidates=5, threads=1)
    every = sp.csr_array(np.ones((300, 60), np.float32))
    mean = sum(member.score(X, every).toarray() for member in members) / 2
    top = both.predict(X, 3)
    np.testing.assert_allclose(top.scores[:, 0], np.take_along_axis(mean, top.labels[:, :1], 1)[:, 0], rtol=1e-4)
