"""What every benchmark shares: where data is, and how a result is kept."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import lzma
import os
import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def data_folder() -> Path:
    """XTRELLIS_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("XTRELLIS_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(f"no data in {folder}; set XTRELLIS_DATA")
    return folder


def texts(name: str, part: str = "train") -> list[str]:
    with lzma.open(data_folder() / name / f"{part}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def record(name: str, **fields: object) -> None:
    """Append one JSON line to results/NAME.jsonl."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    line = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "machine": {"system": platform.platform(), "cpu": cpu_model(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "versions": {lib: importlib.metadata.version(lib) for lib in ("numpy", "scipy", "scikit-learn", "xtrellis")},
        **fields,
    }
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.jsonl").open("a") as out:
        out.write(json.dumps(line) + "\n")
