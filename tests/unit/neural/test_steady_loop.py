"""Which epoch is kept."""

from __future__ import annotations

import pytest

from xtrellis.neural.elias import StagedLoop
from xtrellis.neural.training import SteadyLoop


def loop(kind, points, *, held_out, first=0, patience=3):
    made = kind(None, epochs=20, patience=patience, rows=1)
    made.curves = [{"held_out_p1": p, "held_out_r100": r} for p, r in points]
    made.held_out, made.first = held_out, first
    return made


@pytest.mark.parametrize(
    ("held_out", "kept"),
    [(400, 3), (10_000, 1)],  # a standard error of 60% is 2.4 points of 400 rows, 0.5 of 10,000
)
def test_an_earlier_epoch_must_be_better_by_more_than_chance(held_out, kept):
    made = loop(SteadyLoop, [(50, 0), (60, 0), (59, 0), (58, 0)], held_out=held_out)
    assert made.best_epoch() == kept


def test_one_that_is_far_better_stays_and_training_stops():
    made = loop(SteadyLoop, [(70, 0), (60, 0), (60, 0), (60, 0)], held_out=400)
    assert made.best_epoch() == 0
    assert made._stale()
    made.patience = 4
    assert not made._stale()


def test_of_two_stages_only_the_last_counts_and_recall_with_it():
    points = [(90, 90), (50, 60), (52, 70), (51, 74)]
    assert loop(StagedLoop, points, held_out=10**6, first=1).best_epoch() == 3
    assert loop(StagedLoop, points[:1], held_out=400, first=1).best_epoch() == 0
    assert not loop(StagedLoop, points[:1], held_out=400, first=1, patience=1)._stale()


def test_without_held_out_rows_the_last_is_kept():
    made = loop(SteadyLoop, [], held_out=0)
    made.curves = [{"loss": 1.0}, {"loss": 2.0}]
    assert made.best_epoch() == 1
