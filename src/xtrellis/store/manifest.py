"""`model.json`: what a model folder holds, checked field by field on the way in (docs/format.md)."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import StoreError
from . import plain
from .tensors import ArrayInfo, info_from_json

if TYPE_CHECKING:  # to a checker all of xtrellis would hang on it
    __version__: str
else:
    from .. import __version__

FORMAT = "xtrellis-model"
VERSION = 1
MANIFEST = "model.json"
ROOT = "model"
MAX_PARTS_DEPTH = 8
MAX_FILE_NAME = 200

# File names are made from these and nothing else, so no stored text can point outside the folder.
# Lower case only: names must stay different on file systems that ignore case.
_PART = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NO_HASH = "0" * 64  # stands in model.json for its own hash while that is computed
_TENSOR_FILE = re.compile(r"model(\.[a-z0-9][a-z0-9_]*)*\.safetensors")


@dataclass(frozen=True)
class ObjectInfo:
    """One object of the tree: `name` is its place in it (`model.vectorizer`), and names its file."""

    name: str
    class_name: str
    params: dict[str, Any]
    meta: dict[str, Any]
    arrays: dict[str, ArrayInfo]
    parts: dict[str, ObjectInfo] = field(default_factory=dict)

    @property
    def file(self) -> str | None:
        """The tensor file of this object; None if it has no arrays."""
        return f"{self.name}.safetensors" if self.arrays else None

    def walk(self) -> Iterator[ObjectInfo]:
        """This object, then its parts, depth first."""
        yield self
        for part in self.parts.values():
            yield from part.walk()

    def to_json(self) -> dict[str, Any]:
        """As in model.json."""
        return {
            "class": self.class_name,
            "params": self.params,
            "meta": self.meta,
            "arrays": {name: {"dtype": a.dtype, "shape": list(a.shape)} for name, a in self.arrays.items()},
            "parts": {name: part.to_json() for name, part in self.parts.items()},
        }


@dataclass(frozen=True)
class FileInfo:
    """Size in bytes and SHA-256 (hex) of one file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A whole `model.json`."""

    root: ObjectInfo
    files: dict[str, FileInfo]
    written_by: dict[str, str] = field(default_factory=lambda: library_versions())
    sha256: str | None = None  # of model.json itself, as it was read; models of early versions lack it

    def to_bytes(self) -> bytes:
        """The text of model.json, with its hash in it."""
        value = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": self.written_by,
            "model": self.root.to_json(),
            "files": {name: {"size": f.size, "sha256": f.sha256} for name, f in self.files.items()},
            "sha256": _NO_HASH,
        }
        raw = plain.dump(value, indent=1) + b"\n"
        if len(raw) > plain.MAX_BYTES:
            raise StoreError(f"meta and parameters take {len(raw)} bytes of JSON; save large things as arrays")
        at = raw.rindex(_NO_HASH.encode())
        return raw[:at] + hashlib.sha256(raw).hexdigest().encode() + raw[at + len(_NO_HASH) :]

    @classmethod
    def from_bytes(cls, raw: bytes, where: str) -> Manifest:
        """Parse and check; every error names `where`."""
        value = plain.parse(raw, where)
        if not is_manifest(value):
            raise StoreError(f"{where}: not an xtrellis model (its 'format' must be {FORMAT!r})")
        check_version(value.get("version"), where)
        try:
            sha256 = _hash(value.pop("sha256"), MANIFEST) if "sha256" in value else None
            _keys(value, {"format", "version", "written_by", "model", "files"}, "the top level")
            written_by = _mapping(value["written_by"], "written_by")
            if not all(isinstance(version, str) for version in written_by.values()):
                raise ValueError("written_by must map library names to version strings")
            root = _object(value["model"], ROOT, 0)
            files = {name: _file(entry, name) for name, entry in _mapping(value["files"], "files").items()}
            expected = {o.file for o in root.walk() if o.file is not None}
            if set(files) != expected:
                odd = sorted(set(files) ^ expected)[0]
                raise ValueError(
                    f"'files' must list the tensor files of its objects and no other; {odd!r:.80} does not match"
                )
        except ValueError as error:
            raise StoreError(f"{where}: {error}") from None
        return cls(root, files, dict(written_by), sha256)

    def check_hash(self, raw: bytes, where: str) -> None:
        """Compare the hash that model.json holds, if it does, with that of its text."""
        if self.sha256 is None:
            return
        bare = raw.replace(self.sha256.encode(), _NO_HASH.encode())
        if hashlib.sha256(bare).hexdigest() != self.sha256:
            raise StoreError(f"{where}: its SHA-256 is not the one it holds; it was changed or damaged after the save")


def is_manifest(value: Any) -> bool:
    """True for the JSON of any version of this format."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def is_tensor_file(name: str) -> bool:
    """True for names this format gives to its tensor files."""
    return _TENSOR_FILE.fullmatch(name) is not None


def check_version(version: Any, where: str) -> None:
    """Refuse what this library cannot read, newer or nonsense."""
    if not _is_count(version) or version < 1:
        raise StoreError(f"{where}: 'version' must be an integer ≥ 1; got {version!r:.80}")
    if version > VERSION:
        raise StoreError(
            f"{where}: written by a newer xtrellis (format {version}; this one, {__version__}, reads up to {VERSION}); "
            "upgrade with: pip install -U xtrellis"
        )


def part_name(name: str, parent: str) -> str:
    """The place of a part in the tree; ValueError if `name` could not be part of a file name."""
    if not _PART.fullmatch(name):
        raise ValueError(f"part {name!r:.80} of {parent} must be named by lower-case letters, digits and _")
    full = f"{parent}.{name}"
    if len(full) > MAX_FILE_NAME:
        raise ValueError(f"part names {full!r:.80}… are longer than {MAX_FILE_NAME} characters")
    return full


def check_parts_depth(depth: int, name: str) -> None:
    """ValueError for parts within parts beyond reason (a cycle, or an attack)."""
    if depth > MAX_PARTS_DEPTH:
        raise ValueError(f"{name!r:.80} is nested more than {MAX_PARTS_DEPTH} parts deep")


def library_versions() -> dict[str, str]:
    """What wrote a model."""
    return {"xtrellis": __version__, "numpy": np.__version__, "python": platform.python_version()}


def _object(value: Any, name: str, depth: int) -> ObjectInfo:
    check_parts_depth(depth, name)
    _keys(value, {"class", "params", "meta", "arrays", "parts"}, name)
    if not isinstance(value["class"], str) or not _CLASS.fullmatch(value["class"]):
        raise ValueError(f"the class of {name} must be a name; got {value['class']!r:.80}")
    arrays = _mapping(value["arrays"], f"arrays of {name}")
    parts = _mapping(value["parts"], f"parts of {name}")
    return ObjectInfo(
        name=name,
        class_name=value["class"],
        params=dict(_mapping(value["params"], f"params of {name}")),
        meta=dict(_mapping(value["meta"], f"meta of {name}")),
        arrays={a: info_from_json(a, entry) for a, entry in arrays.items()},
        parts={p: _object(entry, part_name(p, name), depth + 1) for p, entry in parts.items()},
    )


def _file(value: Any, name: str) -> FileInfo:
    _keys(value, {"size", "sha256"}, f"file {name!r:.80}")
    if not _is_count(value["size"]):
        raise ValueError(f"the size of {name!r:.80} must be an integer ≥ 0; got {value['size']!r:.80}")
    return FileInfo(value["size"], _hash(value["sha256"], name))


def _hash(value: Any, name: str) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ValueError(f"the sha256 of {name!r:.80} must be 64 hex digits; got {value!r:.80}")
    return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a JSON object; got {type(value).__name__}")
    return value


def _keys(value: Any, wanted: set[str], name: str) -> None:
    odd = sorted(set(_mapping(value, name)) ^ wanted)
    if odd:
        raise ValueError(f"{name} {'lacks' if odd[0] in wanted else 'has the unknown field'} {odd[0]!r:.80}")
