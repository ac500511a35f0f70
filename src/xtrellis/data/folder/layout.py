"""What lies in a data folder: `data.json`, and arrays as plain little-endian files.

    x.offsets  x.ids  x.values          features of the rows: where each row begins, its columns, their values
    y.offsets  y.ids                    labels of the rows
    excluded.offsets  excluded.ids      pairs that count neither as right nor as wrong
    texts.offsets  texts.bytes          the rows' texts, in UTF-8
    labels.offsets  labels.bytes        names of the labels
    features.offsets  features.bytes    names of the features

`data.json` says how many rows, features and labels there are, how long each file is, and the SHA-256 of its pieces of
up to 64 MiB. What a file holds beyond the length that is listed belongs to rows that were never finished.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core import DataError, StoreError
from ...store import parse_json

MANIFEST = "data.json"
FORMAT = "xtrellis-data"
VERSION = 1
PIECE = 64 << 20
_MOST = 16 << 20  # bytes of data.json: pieces of some terabytes

DTYPES: dict[str, Any] = {
    "x.offsets": np.int64,
    "x.ids": np.int32,
    "x.values": np.float32,
    "y.offsets": np.int64,
    "y.ids": np.int32,
    "excluded.offsets": np.int64,
    "excluded.ids": np.int32,
    "texts.offsets": np.int64,
    "texts.bytes": np.uint8,
    "labels.offsets": np.int64,
    "labels.bytes": np.uint8,
    "features.offsets": np.int64,
    "features.bytes": np.uint8,
}
COUNTED = {"x": "ids", "y": "ids", "excluded": "ids", "texts": "bytes", "labels": "bytes", "features": "bytes"}


@dataclass
class Listed:
    """A file: its bytes, and (bytes, SHA-256) of each piece."""

    n_bytes: int = 0
    pieces: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Layout:
    """What `data.json` says."""

    rows: int = 0
    features: int = 0
    labels: int = 0
    name: str = ""
    files: dict[str, Listed] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        files = {
            name: {"bytes": listed.n_bytes, "pieces": [list(piece) for piece in listed.pieces]}
            for name, listed in sorted(self.files.items())
        }
        return {
            "format": FORMAT, "version": VERSION, "rows": self.rows, "features": self.features, "labels": self.labels,
            "name": self.name, "files": files,
        }  # fmt: skip

    def length(self, name: str) -> int:
        """Entries of a file."""
        return self.files[name].n_bytes // int(np.dtype(DTYPES[name]).itemsize)


def is_folder(path: Path) -> bool:
    """True of a data folder."""
    return (path / MANIFEST).is_file()


def read_layout(path: Path) -> Layout:
    """`data.json` of a folder, checked; the files themselves are not looked at."""
    place = path / MANIFEST
    try:
        if place.stat().st_size > _MOST:
            raise DataError(f"is larger than {_MOST} bytes", path=place)
        found = parse_json(place.read_bytes(), str(place))
    except FileNotFoundError:
        raise DataError(f"is no data folder: it has no {MANIFEST}", path=path) from None
    except (OSError, StoreError) as error:
        raise DataError(f"cannot be read: {error}", path=place) from None
    try:
        return _layout(found)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"is damaged: {error}", path=place) from None


def _layout(found: Any) -> Layout:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    if found.get("version") != VERSION:
        raise ValueError(f"its version is {found.get('version')!r}; this program reads {VERSION}")
    out = Layout(_count(found, "rows"), _count(found, "features"), _count(found, "labels"), str(found["name"])[:1000])
    if max(out.features, out.labels) >= 2**31:
        raise ValueError("more than 2³¹ features or labels")
    for name, told in found["files"].items():
        if name not in DTYPES:
            raise ValueError(f"the file {name!r:.80} is not known")
        pieces = [(_count({"bytes": size}, "bytes"), str(digest)) for size, digest in told["pieces"]]
        listed = Listed(_count(told, "bytes"), pieces)
        if sum(size for size, _ in pieces) != listed.n_bytes or listed.n_bytes % np.dtype(DTYPES[name]).itemsize:
            raise ValueError(f"the pieces of {name} do not add up to {listed.n_bytes} bytes")
        out.files[name] = listed
    _agree(out)
    return out


def _agree(layout: Layout) -> None:
    """Every list has its offsets, one more than what they count."""
    counts = {"x": layout.rows, "y": layout.rows, "excluded": layout.rows, "texts": layout.rows}
    counts |= {"labels": layout.labels, "features": layout.features}
    for kind, content in COUNTED.items():
        there = {f"{kind}.offsets", f"{kind}.{content}"} & set(layout.files)
        if not there and kind != "y":
            continue
        for name in (f"{kind}.offsets", f"{kind}.{content}"):
            if name not in layout.files:
                raise ValueError(f"the file {name} is missing")
        if layout.length(f"{kind}.offsets") != counts[kind] + 1:
            raise ValueError(f"{kind}.offsets must have {counts[kind] + 1} entries")
    if "x.ids" in layout.files and (
        "x.values" not in layout.files or layout.length("x.values") != layout.length("x.ids")
    ):
        raise ValueError("x.values must have as many entries as x.ids")
    if "x.ids" not in layout.files and "texts.bytes" not in layout.files:
        raise ValueError("there are neither features nor texts")


def _count(found: dict[str, Any], name: str) -> int:
    value = found[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r:.40}")
    return value


def lock_name(path: Path) -> Path:
    """Where a folder that is being made lies meanwhile."""
    return path.with_name(f".{path.name}.tmp-{os.getpid()}")
