"""Which epoch is kept."""

from __future__ import annotations

import pytest

from xtrellis.neural.elias.model import StagedLoop
from xtrellis.neural.training.loop import SteadyLoop


def loop(kind, points, *, n_validation, first=0, patience=3):
    made = kind(None, epochs=20, patience=patience, rows=1)
    made.curves = [{"validation_p1": p, "validation_r100": r} for p, r in points]
    made.n_validation, made.first = n_validation, first
    return made


@pytest.mark.parametrize(
    ("n_validation", "kept"),
    [(400, 3), (10_000, 1)],  # a standard error of 60% is 2.4 points of 400 rows, 0.5 of 10,000
)
def test_an_earlier_epoch_must_be_better_by_more_than_chance(n_validation, kept):
    made = loop(SteadyLoop, [(50, 0), (60, 0), (59, 0), (58, 0)], n_validation=n_validation)
    assert made.best_epoch() == kept


def test_one_that_is_far_better_stays_and_training_stops():
    made = loop(SteadyLoop, [(70, 0), (60, 0), (60, 0), (60, 0)], n_validation=400)
    assert made.best_epoch() == 0
    assert made._stale()
    made.patience = 4
    assert not made._stale()


def test_of_two_stages_only_the_last_counts_and_recall_with_it():
    points = [(90, 90), (50, 60), (52, 70), (51, 74)]
    assert loop(StagedLoop, points, n_validation=10**6, first=1).best_epoch() == 3
    assert loop(StagedLoop, points[:1], n_validation=400, first=1).best_epoch() == 0
    assert not loop(StagedLoop, points[:1], n_validation=400, first=1, patience=1)._stale()


def test_without_validation_rows_the_last_is_kept():
    made = loop(SteadyLoop, [], n_validation=0)
    made.curves = [{"loss": 1.0}, {"loss": 2.0}]
    assert made.best_epoch() == 1
