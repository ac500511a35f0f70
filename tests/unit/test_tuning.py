from __future__ import annotations

import pytest

import xtrellis as xt
from xtrellis.tuning import TradeoffTrial, _pick, choose_tradeoff

DATA = xt.synthetic(n_rows=1500, n_labels=200, n_features=300, seed=3)
MODEL = xt.preset("interpolated", threads=1, index__max_leaf=10)

TRIALS = [
    TradeoffTrial(0, 50.0, 6.0, 30.0),
    TradeoffTrial(1, 51.0, 5.0, 25.0),
    TradeoffTrial(2, 50.95, 4.0, 20.0),
    TradeoffTrial(6, 40.0, 3.0, 10.0),
]


@pytest.mark.parametrize(
    ("microseconds", "depth", "chosen"),
    [
        (None, None, 2),  # as good as the best, and faster
        (26.0, None, 1),  # the most precise within the time
        (15.0, None, 6),
        (1.0, None, 6),  # none keeps it: the nearest
        (None, 4.5, 2),
        (26.0, 4.5, 2),
        (None, 100.0, 1),
    ],
)
def test_the_choice(microseconds: float | None, depth: float | None, chosen: float) -> None:
    assert _pick(TRIALS, microseconds, depth).tradeoff == chosen


def test_settings_are_tried_on_held_out_rows() -> None:
    trials = choose_tradeoff(MODEL, DATA.X, DATA.Y, tradeoffs=[0, 1, float("inf")], max_depth=1.0)
    assert [trial.tradeoff for trial in trials] == [0, 1, float("inf")]
    assert [trial.chosen for trial in trials].count(True) == 1
    assert all(0 <= trial.precision <= 100 and trial.microseconds > 0 for trial in trials)
    nearest = min(trials, key=lambda trial: trial.depth)  # no tree is so flat
    assert nearest.chosen
    assert not MODEL.fitted
    again = choose_tradeoff(MODEL, DATA.X, DATA.Y, tradeoffs=[0, 1, float("inf")], max_depth=1.0)
    assert [(t.precision, t.depth) for t in again] == [(t.precision, t.depth) for t in trials]


def test_bad_requests_are_told() -> None:
    with pytest.raises(xt.InputError, match="InterpolatedTree"):
        choose_tradeoff(xt.preset("xr-linear"), DATA.X, DATA.Y)
    with pytest.raises(xt.ParameterError, match="max_depth must be a number > 0; got 0"):
        choose_tradeoff(MODEL, DATA.X, DATA.Y, max_depth=0)
    with pytest.raises(xt.InputError, match="at least one number"):
        choose_tradeoff(MODEL, DATA.X, DATA.Y, tradeoffs=[])
    with pytest.raises(xt.InputError, match="too few"):
        choose_tradeoff(MODEL, DATA.X[:1], DATA.Y[:1])
