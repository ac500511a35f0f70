"""Small, seeded versions of the attacks: no case may end in anything but an answer or an error of the library's own."""

from __future__ import annotations

import pytest
from attacks.common import Tally, campaign
from attacks.selftest import CASES

QUICK = {"ATTACK_QUICK": "1"}  # small data, no torch


def attacked(name: str, cases: int, *, seed: int = 0) -> Tally:
    return campaign(name, seed=seed, cases=cases, workers=1, environment=QUICK)


@pytest.mark.parametrize(
    ("name", "cases"),
    [("readers", 200), ("store", 40), ("door", 300), ("concurrency", 8), ("interrupts", 3), ("kills", 2)],
)
def test_nothing_but_answers_and_refusals(name: str, cases: int) -> None:
    found = attacked(name, cases)
    assert found.cases == cases
    assert not found.n_faults, found.told()
    if name in ("readers", "store", "door"):  # else nothing was attacked
        assert found.outcomes["refused"] > cases / 4
        assert found.outcomes["answered"] > cases / 50


def test_faults_are_noticed() -> None:
    found = attacked("selftest", len(CASES))
    assert {group: dict(counts) for group, counts in found.groups.items()} == {name: {name: 1} for name in CASES}
    assert found.n_faults == len(CASES) - 2


def test_a_case_is_the_same_again() -> None:
    """By its number, whoever does it and whatever was before it."""
    told: list[list[str]] = []
    for first, cases in ((0, 12), (6, 6)):
        seen: list[str] = []
        campaign(
            "store",
            first=first,
            cases=cases,
            workers=1,
            environment=QUICK,
            show=lambda n, g, what, o, s=seen: s.append(what),
        )
        told.append(seen)
    assert told[0][6:] == told[1]
