"""What every benchmark shares: one JSON line a result, with the machine, the versions and the commit it belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xtrellis.experiments import machine, stamp

RESULTS = Path(__file__).parent / "results"

__all__ = ["RESULTS", "machine", "record"]


def record(name: str, **fields: Any) -> None:
    """Append one result to results/NAME.jsonl."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps({**stamp(), **fields}) + "\n")
