"""docs/reliability.md is what the results say."""

from __future__ import annotations

import json

from attacks.common import NAMES, RESULTS
from attacks.page import PAGE, text


def test_the_page_is_made_from_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == text()


def test_every_attack_is_on_record() -> None:
    for name in (*NAMES, "guided", "sanitizers-readers", "sanitizers-store", "sanitizers-door"):
        for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            assert {"commit", "machine", "seed", "cases", "outcomes", "faults"} <= set(found)
            assert sum(found["outcomes"].values()) == found["cases"] > 0
