"""Whatever finite features a model is asked about, its scores are numbers, or it says what is too large."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt

N, D, L = 120, 30, 25
NAMED = ("names", "title")  # read texts, no features


@pytest.fixture(scope="module")
def data() -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 3 / L).astype(np.float32)
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.5)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


@pytest.mark.parametrize("name", [*(name for name in xt.presets() if name not in NAMED), "xr-linear,softmax-tree++"])
def test_scores_are_numbers(name: str, data: tuple[sp.csr_array, sp.csr_array]) -> None:
    X, Y = data
    model, rng = xt.preset(name, seed=3, threads=1).fit(X, Y), np.random.default_rng(1)
    shares = rng.random((40, D)) * rng.choice([-1, 1], (40, D))
    for scale in (1e-38, 1e-20, 1.0, 1e10, 1e18):
        for Q in (shares * scale, np.abs(shares) * scale, -np.abs(shares) * scale, np.where(shares < 0.2, 1, scale)):
            queries = Q.astype(np.float32)
            top = model.predict(queries, k=5)
            assert np.isfinite(top.scores).all()
            assert np.isfinite(model.predict(queries[:1], k=5).scores).all()
            assert np.isfinite(model.score(queries, top.to_csr()).data).all()
    for scale in (1e20, 3e38):
        queries = np.full((2, D), -scale, np.float32)
        for Q in (queries, queries[:1], sp.csr_array(queries)):
            with pytest.raises(xt.InputError, match=r"[Xx] must lie within ±1e\+18, or sums of features overflow"):
                model.predict(Q)
        with pytest.raises(xt.InputError, match="must lie within"):
            model.explain(queries[0], 3)
