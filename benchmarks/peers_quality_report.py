"""The section of docs/performance.md that holds `best` beside the better of `xr-linear` and every peer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS

METRICS = ("P@1", "P@5", "R@100", "PSP@5")
AIMS = (2.0, 1.5, 5.0, 4.0)  # that best is to gain on average
SETS = 8  # yso-100k, stackexchange, debian-depends, npm-deps, mdn-seealso, cooking, delicious, bibtex
NEVER = -0.2  # nor is it to lose more anywhere
OURS = Path(__file__).parent.parent / "docs" / "experiments" / "witnesses.jsonl"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def means(rows: list[dict[str, Any]], metric: str) -> float:
    return float(np.mean([row[metric] for row in rows]))


def peers_quality_section() -> Iterator[str]:
    peers = read(RESULTS / "peers_quality.jsonl")
    ours = [row for row in read(OURS) if row.get("part") in ("together", "best") and "P@1" in row]
    sets = [name for name in dict.fromkeys(row["data"] for row in peers) if any(row["data"] == name for row in ours)]
    if len(sets) < SETS:  # a mean over some of them would be of other data than what was aimed for
        return
    yield "## Quality of `best` beside every peer"
    yield ""
    yield (
        "Test parts, the same features and the same code of the metrics; one tree of each peer, beam 10, 100 labels a "
        "row. Of each number the best of `xr-linear`, PECOS, omikuji's Parabel and its Bonsai is what `best` is held "
        "against: here is how much it gains over that, and which it was."
    )
    yield ""
    yield f"| data | {' | '.join(METRICS)} |"
    yield f"|---|{'---:|' * len(METRICS)}"
    gains = []
    for name in sets:
        mine = [row for row in ours if row["data"] == name]
        full = [row for row in mine if row["part"] == "best"]
        if not full:  # no texts: all that there is
            last = [row["witnesses"] for row in mine][-1]
            full = [row for row in mine if row["witnesses"] == last]
        others = {"xr-linear": [row for row in mine if row["witnesses"] == "xr-linear"]}
        for row in peers:
            if row["data"] == name:
                others.setdefault(row["engine"], []).append(row)
        cells, line = [], []
        for metric in METRICS:
            value, which = max((means(rows, metric), other) for other, rows in others.items())
            line.append(means(full, metric) - value)
            cells.append(f"{line[-1]:+.2f} ({which})")
        gains.append(line)
        yield f"| {name} | {' | '.join(cells)} |"
    mean = np.mean(gains, axis=0)
    yield f"| **mean** | {' | '.join(f'{value:+.2f}' for value in mean)} |"
    yield ""
    judged = [f"{m} {a:+.1f}: {'met' if v >= a else 'missed'}" for m, a, v in zip(METRICS, AIMS, mean, strict=True)]
    worst = float(np.min(gains))
    yield (
        f"Aimed for on average: {', '.join(judged)}; and never worse than {NEVER}: the least gain is {worst:+.2f}, "
        f"{'met' if worst >= NEVER else 'missed'}."
    )
    yield ""
    for command in dict.fromkeys(row["command"] for row in peers if row["data"] in sets):
        yield f"    {command}"
    yield ""
