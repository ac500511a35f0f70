"""What the encoder learns from, and how fast."""

from __future__ import annotations

import numpy as np

import xtrellis as xt
from xtrellis.arrays.inputs import as_features
from xtrellis.neural.encoders.base import Inputs


def test_rows_with_dropped_features_are_whole_rows_on_average():
    X = as_features(xt.synthetic(n_rows=6, n_labels=4, n_features=60, seed=0).X)
    rows = np.arange(6, dtype=np.int32)
    part, whole = (
        xt.BagEncoder(dim=8, input_dropout=share).start(Inputs(X=X), seed=0, threads=1, device="cpu")
        for share in (0.5, 0.0)
    )
    drawn = np.array([part.leaf(part.batch(rows, epoch)) for epoch in range(2000)])
    expected = whole.leaf(whole.batch(rows, 0))
    assert (drawn.std(axis=0) > 0.01).any()
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=5 * drawn.std(axis=0).max() / np.sqrt(len(drawn)))


def test_an_encoder_may_stand_still_in_the_second_stage():
    data = xt.synthetic(n_rows=200, n_labels=30, n_features=100, seed=0)

    def weights(**params):
        model = xt.Elias(encoder=xt.BagEncoder(dim=8), batch_size=50, swa_start=1.0, holdout=0.0, threads=1, **params)
        return model.fit(data.X, data.Y)._weights

    first = weights(stages=1, epochs=1)
    still = weights(epochs=2, stage1_share=0.5, stage2_encoder_factor=0.0)
    moved = weights(epochs=2, stage1_share=0.5, stage2_encoder_factor=0.3)
    for name, value in first.items():
        np.testing.assert_array_equal(still[name], value)
        assert not np.array_equal(moved[name], value)
