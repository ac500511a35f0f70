"""What every benchmark shares: one JSON line a result, with the machine, the versions and the commit it belongs to."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    return f"{platform.system()} {platform.machine()}, {cpu}, {os.cpu_count()} cores"


def record(name: str, **fields: Any) -> None:
    """Append one result to results/NAME.jsonl."""
    RESULTS.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    line = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {library: version(library) for library in ("xtrellis", "numpy", "scipy")},
        **fields,
    }
    with (RESULTS / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
