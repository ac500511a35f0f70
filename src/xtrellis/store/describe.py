"""What `xtrellis inspect MODEL` shows: a model's insides, without building it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..core import clear_calls, flag
from .folder import Folder
from .manifest import MANIFEST, VERSION, Manifest
from .plain import MAX_BYTES, dump
from .read import map_files, read_manifest, with_folder

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

# A console shows no more than this, whatever a file holds; `--json` has it all.
LONGEST = 60  # records of a history, the last ones
MOST_ROWS = 500  # objects, arrays
MOST_COLUMNS = 40  # of a history
MOST_TABLES = 20
MOST_NAMES = 200  # parameters of an object
MOST_TEXT = 4000  # characters in one place


@dataclass(frozen=True)
class Description:
    """A model folder, looked at but not loaded."""

    path: str
    manifest: Manifest
    manifest_size: int
    verified: bool
    foreign: list[str]

    @property
    def class_name(self) -> str:
        """The class of the model."""
        return self.manifest.root.class_name

    @property
    def total_size(self) -> int:
        """Bytes on disk."""
        return self.manifest_size + sum(file.size for file in self.manifest.files.values())

    @property
    def hashes(self) -> str:
        """What is known of the files' hashes. Wrong ones raise before a Description comes to be."""
        if not self.verified:
            return "not checked"
        return "verified" if self.manifest.sha256 else f"verified, but {MANIFEST} holds no hash of itself"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        objects = []
        for info in self.manifest.root.walk():
            arrays = {
                name: {"dtype": a.dtype, "shape": list(a.shape), "bytes": a.nbytes} for name, a in info.arrays.items()
            }
            objects.append(
                {
                    "name": info.name,
                    "class": info.class_name,
                    "params": info.params,
                    "meta": info.meta,
                    "file": info.file,
                    "arrays": arrays,
                }
            )
        return {
            "path": self.path,
            "class": self.class_name,
            "format_version": VERSION,
            "written_by": dict(self.manifest.written_by),
            "total_size": self.total_size,
            "hashes": self.hashes,
            "files": {name: {"size": f.size, "sha256": f.sha256} for name, f in self.manifest.files.items()},
            "objects": objects,
            "foreign_files": list(self.foreign),
        }

    def render(self) -> RenderableType:
        """For a rich console."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        facts = Table.grid(padding=(0, 2))
        written = ", ".join(f"{name} {version}" for name, version in self.manifest.written_by.items())
        for name, value in (
            ("model", self.class_name),
            ("path", self.path),
            ("size", _bytes(self.total_size)),
            ("written by", written),
            ("format", str(VERSION)),
            ("hashes", self.hashes),
            ("also there", ", ".join(self.foreign)),
            *_noted(self.manifest.root.meta.get("about")),
        ):
            if value:
                facts.add_row(Text(name, style="dim"), Text(_cut(value)))

        # Text, never markup: names and values come from a file.
        objects = Table(title="Objects", title_justify="left", box=None, pad_edge=False)
        for column in ("object", "class", "parameters", "meta"):
            objects.add_column(column, overflow="fold")
        arrays = Table(title="Arrays", title_justify="left", box=None, pad_edge=False)
        for column in ("file", "array", "dtype", "shape"):
            arrays.add_column(column, overflow="fold")
        arrays.add_column("size", justify="right")
        tables: list[Table] = []
        n_objects = n_arrays = 0
        for info in self.manifest.root.walk():
            n_objects, n_arrays = n_objects + 1, n_arrays + len(info.arrays)
            if n_objects > MOST_ROWS:
                continue
            told = {name: records for name, value in info.meta.items() if (records := _records(value))}
            rest = {name: value for name, value in info.meta.items() if name not in told and name != "about"}
            objects.add_row(Text(info.name), Text(info.class_name), Text(_pairs(info.params)), Text(_pairs(rest, 600)))
            tables += [_table(*history) for history in islice(told.items(), MOST_TABLES - len(tables))]
            for name, a in islice(info.arrays.items(), MOST_ROWS - arrays.row_count):
                shape = "×".join(map(str, a.shape)) or "scalar"
                arrays.add_row(Text(info.file or ""), Text(name), Text(a.dtype), Text(shape), Text(_bytes(a.nbytes)))
        for table, count in ((objects, n_objects), (arrays, n_arrays)):
            if count > table.row_count:
                table.add_row(Text(f"… {count - table.row_count:,} more"))
        if n_arrays:
            tables.append(arrays)
        return Group(facts, Text(), objects, *(part for table in tables for part in (Text(), table)))


@clear_calls
def describe(path: str | os.PathLike[str], verify: bool = False) -> Description:
    """Look at a model without building it; sizes and headers are checked, with `verify` the hashes too."""
    flag()("verify", verify)

    def look(folder: Folder) -> Description:
        manifest = read_manifest(folder, verify=verify)
        map_files(folder, manifest, verify=verify)
        foreign = [name for name in folder.names() if name != MANIFEST and name not in manifest.files]
        size = len(folder.read(MANIFEST, MAX_BYTES))
        return Description(os.fspath(folder.path), manifest, size, verify, foreign)

    return with_folder(path, look)


def _noted(about: Any) -> Iterator[tuple[str, str]]:
    """What was noted of a model when it was trained, a line for each thing."""
    for name, value in islice(about.items(), MOST_NAMES) if isinstance(about, dict) else ():
        if isinstance(value, dict):
            yield _cut(name, 60).replace("_", " "), ", ".join(f"{_cut(k, 60)}: {_shown(v)}" for k, v in value.items())
        else:
            yield _cut(name, 60).replace("_", " "), _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_cut(name, 60)} {_shown(v)}" for name, v in islice(value.items(), MOST_NAMES))
    if isinstance(value, list):
        return ", ".join(_shown(v) for v in value[:LONGEST]) + (", …" if len(value) > LONGEST else "")
    return f"{value:.2f}" if isinstance(value, float) else _cut(str(value), 600)


def _pairs(values: dict[str, Any], longest: int = 60) -> str:
    def show(value: Any) -> str:
        if isinstance(value, dict) and set(value) == {"class", "params"} and isinstance(value["params"], dict):
            return _cut(f"{value['class']}({_pairs(value['params'])})")
        return _cut(value if isinstance(value, str) else dump(value).decode(), longest)

    shown = [f"{_cut(name, longest)}={show(value)}" for name, value in islice(values.items(), MOST_NAMES)]
    return _cut(", ".join(shown)) + (f", … {len(values) - len(shown):,} more" if len(values) > len(shown) else "")


def _cut(text: str, longest: int = MOST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "…"


def _records(value: Any) -> list[dict[str, Any]]:
    """A history, such as epochs or rounds: a list of objects with the same names, or a list of such lists."""
    flat = [item for part in value for item in (part if isinstance(part, list) else [part])] if _listed(value) else []
    same = all(isinstance(item, dict) and item and set(item) == set(flat[0]) for item in flat)
    return flat if flat and same else []


def _listed(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _table(name: str, records: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(_cut(name, 60).replace("_", " ")), title_justify="left", box=None, pad_edge=False)
    columns = list(records[0])[:MOST_COLUMNS]
    for column in columns:
        shown.add_column(Text(_cut(column, 60).replace("_", " ")), justify="right", overflow="fold")
    for record in records[-LONGEST:]:
        shown.add_row(*(Text(_cell(record[column])) for column in columns))
    return shown


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _cut(str(value), 600)


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
