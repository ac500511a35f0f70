"""Copies of fitted objects in memory: what `pickle` and `copy.deepcopy` make are the bytes that `save` would write.

So what comes out of a pickle was checked like a model from a folder. (Python runs whatever code a pickle names: one
from a stranger is not safe, whatever it says it holds. A model folder is.)
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import UInt8
from ..core import Configured, StoreError
from . import tensors
from .journal import JOURNAL, journal_bytes
from .manifest import MANIFEST, FileInfo, Manifest
from .read import rebuilt
from .state import Storable
from .write import taken_apart


class MemoryFolder:
    """The files of a model folder, in memory."""

    path = Path("<memory>")

    def __init__(self, files: Mapping[str, bytes | memoryview]) -> None:
        self._files = files

    def names(self) -> list[str]:
        """What it holds."""
        return sorted(self._files)

    def where(self, name: str) -> str:
        """How errors name a file."""
        return f"{self.path}/{name}"

    def read(self, name: str, limit: int) -> bytes:
        """A small file, whole."""
        return bytes(self._files[name][: limit + 1])

    def map(self, name: str, size: int) -> memoryview:
        """A file of exactly `size` bytes."""
        found = self._files.get(name, b"")
        if len(found) != size:
            raise StoreError(f"{self.where(name)}: {len(found)} bytes; {MANIFEST} says {size} (truncated or changed)")
        return memoryview(found)


class Copyable(Storable):
    """Once it is fitted, `pickle` and `deepcopy` go by the store; before, there is nothing but parameters."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not getattr(self, "fitted", False):
            return super().__reduce_ex__(protocol)
        machine = self.params_to_json("machine") if isinstance(self, Configured) else {}
        return from_files, (to_files(self), machine)

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made


def to_files(obj: Storable) -> dict[str, bytes]:
    """What `save` would write."""
    root, arrays = taken_apart(obj)
    files, infos = {}, {}
    for name, of_object in arrays.items():
        file = io.BytesIO()
        infos[name] = FileInfo(*tensors.write(file, of_object))
        files[name] = file.getvalue()
    if lines := obj.journal_lines():
        files[JOURNAL] = journal_bytes(lines)
    return {MANIFEST: Manifest(root, infos).to_bytes(), **files}


def from_files(files: dict[str, bytes], machine: dict[str, Any]) -> Any:
    """The object again, as `load` would build it."""
    made = rebuilt(MemoryFolder(files))
    if isinstance(made, Configured):
        made.set_params(**machine)
    return made


def saved_files(obj: Storable) -> dict[str, UInt8]:
    """What `save` would write, as arrays: they can be shared between processes without a copy."""
    return {name: np.frombuffer(content, np.uint8) for name, content in to_files(obj).items()}


class Content:
    """What `save` would write, as it is now: to see whether anything of it is another one later, without hashing it.
    Arrays of a fitted object are replaced, never changed."""

    def __init__(self, obj: Storable) -> None:
        self._root, arrays = taken_apart(obj)
        self._arrays = {(file, name): array for file, some in arrays.items() for name, array in some.items()}
        self._lines = list(obj.journal_lines())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Content)
            and (self._root, self._lines) == (other._root, other._lines)
            and self._arrays.keys() == other._arrays.keys()
            and all(other._arrays[name] is array for name, array in self._arrays.items())
        )

    __hash__ = None  # type: ignore[assignment]


def load_files(files: Mapping[str, UInt8]) -> Any:
    """The object again; its arrays are views of the files."""
    return rebuilt(MemoryFolder({name: memoryview(content) for name, content in files.items()}))  # type: ignore[arg-type]
