"""Results as JSON lines: every line says what was run, what was measured, and on what.

Benchmarks write the same kind of lines.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core import DataError

LIBRARIES = ("xtrellis", "numpy", "scipy", "torch")


def machine() -> str:
    """The computer in a few words."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    return f"{platform.system()} {platform.machine()}, {cpu}, {os.cpu_count()} cores"


def stamp() -> dict[str, Any]:
    """When, where and with which versions something is measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


class Results:
    """The lines of one file, which grows by runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        if path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    self.rows.append(json.loads(line))
                except ValueError:
                    raise DataError("not a JSON line; delete it or the file", path=path, line=number) from None
        self._done = {_name(row["run"]) for row in self.rows if "run" in row}

    def has(self, run: Mapping[str, Any]) -> bool:
        """True if this run was measured before."""
        return _name(run) in self._done

    def add(self, run: Mapping[str, Any], measured: Sequence[Mapping[str, Any]]) -> None:
        """Append a finished run; its fields stand in every row, and together under `run`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{**stamp(), "run": dict(run), **run, **fields} for fields in measured]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        with self.path.open("a", encoding="utf-8") as file:  # one write: a run is there whole or not at all
            file.write(text)
        self.rows += [json.loads(line) for line in text.splitlines()]
        self._done.add(_name(run))


def _name(run: Mapping[str, Any]) -> str:
    return json.dumps(run, sort_keys=True)
