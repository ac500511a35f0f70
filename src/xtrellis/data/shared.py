"""Where the larger real data sets lie, for experiments and benchmarks; nothing else needs them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..core import DataError, clear_calls
from .dataset import Dataset
from .formats import read


def find_data_root() -> Path | None:
    """The folder XTRELLIS_DATA names, else ../shared/data seen from here or from the source tree; None if neither."""
    told = os.environ.get("XTRELLIS_DATA")
    if told:
        if not Path(told).is_dir():
            raise DataError("XTRELLIS_DATA names a folder that is not there", path=told)
        return Path(told)
    for base in (Path.cwd(), Path(__file__).resolve().parents[3]):
        root = base.parent / "shared" / "data"
        if root.is_dir():
            return root
    return None


@clear_calls
def shared(
    name: str, part: str = "train", *, labels: Iterable[str] | None = None, threads: int | None = None
) -> Dataset:
    """The `train` or `test` part of one of the larger real sets; `labels` as in `read`: give test those of train."""
    root = find_data_root()
    if root is None:
        raise DataError(f"data set {name!r}: no folder of data sets; set XTRELLIS_DATA to where they are")
    folder = root / name
    if not folder.is_dir():
        there = ", ".join(sorted(f.name for f in root.iterdir() if f.is_dir())) or "nothing"
        raise DataError(f"there is no data set {name!r} here; there is {there}", path=root)
    return replace(read(folder, part=part, labels=labels, threads=threads), name=f"{name}/{part}")
