"""Saving and loading a large model: time, and how much of it becomes resident.

    python benchmarks/store.py [--megabytes 1000] [--folder DIR] [--rounds 5]

The model is a sparse matrix as a linear tree keeps one (offsets, ids, values) and 200,000 label names. "cold" asks the
kernel to drop the files from its cache before loading. safetensors.numpy.load_file, which copies, stands beside it.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from common import record

from xtrellis import store
from xtrellis.arrays import StringTable
from xtrellis.store import State, Storable, registry


class Block(Storable):
    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays

    def to_state(self) -> State:
        return State({}, self.arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Block:
        StringTable.from_arrays(state.arrays, "names")  # the check that reads most in a real model
        return cls(state.arrays)


def make(megabytes: int) -> Block:
    rng = np.random.default_rng(0)
    entries = megabytes * 10**6 // 8
    rows = 300_000
    return Block(
        {
            "values": rng.standard_normal(entries, np.float32),
            "ids": rng.integers(0, 10**6, entries, np.int32),
            "offsets": np.linspace(0, entries, rows + 1).astype(np.int64),
            **StringTable.of(f"label number {i}" for i in range(200_000)).to_arrays("names"),
        }
    )


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def drop_cache(folder: Path) -> None:
    for file in folder.iterdir():
        fd = os.open(file, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def timed(action: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds, and megabytes that became resident while the result is held."""
    gc.collect()
    before, start = resident(), time.perf_counter()
    result = action()
    took, after = time.perf_counter() - start, resident()
    del result
    return took * 1e3, after - before


def look_up(path: Path, rows: int) -> Any:
    model = store.load(path)
    offsets, values = model.arrays["offsets"], model.arrays["values"]
    chosen = np.random.default_rng(1).integers(0, len(offsets) - 1, rows)
    sum(float(values[offsets[r] : offsets[r + 1]].sum()) for r in chosen)
    return model


def save_times(model: Block, path: Path) -> list[float]:
    return [timed(lambda: store.save(model, path))[0] for _ in range(3)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    registry.CLASSES["Block"] = "__main__:Block"
    work = Path(tempfile.mkdtemp(dir=options.folder))
    path = work / "model"
    try:
        saves = save_times(make(options.megabytes), path)
        size = store.describe(path).total_size
        actions: dict[str, Callable[[], Any]] = {
            "load, cold": lambda: store.load(path),
            "load + 100 rows, cold": lambda: look_up(path, 100),
            "safetensors load_file": lambda: safetensors.numpy.load_file(path / "model.safetensors"),
            "load, warm": lambda: store.load(path),
            "load + 1 row, warm": lambda: look_up(path, 1),
            "load + 100 rows, warm": lambda: look_up(path, 100),
            "describe": lambda: store.describe(path),
            "load, verify": lambda: store.load(path, verify=True),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
        for _ in range(options.rounds):  # interleaved, so that a busy moment hits all alike
            for name, action in actions.items():
                if "cold" in name:
                    drop_cache(path)
                found[name].append(timed(action))
        rows = {"save (fsynced)": [(took, 0.0) for took in saves], **found}
        print(f"model of {size / 1e6:.0f} MB\n{'':24}{'min ms':>10}{'median ms':>12}{'resident MB':>14}")
        for name, results in rows.items():
            times = [took for took, _ in results]
            grown = statistics.median(growth for _, growth in results)
            print(f"{name:24}{min(times):10.2f}{statistics.median(times):12.2f}{grown:14.2f}")
            record(
                "store",
                what=name,
                model_bytes=size,
                min_ms=round(min(times), 3),
                median_ms=round(statistics.median(times), 3),
                resident_mb=round(grown, 2),
                repeats=len(times),
                seed=0,
            )
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
