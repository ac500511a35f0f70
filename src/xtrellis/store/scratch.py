"""Where finished arrays wait until a model is whole: in memory, or in files that take none."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..core import StoreError
from . import tensors
from .folder import Folder
from .pages import file_array, no_room

if TYPE_CHECKING:
    from typing_extensions import Self


class Scratch:
    """The simplest: nothing is stored, what is put stays in memory with its owner."""

    def get(self, name: str) -> dict[str, Array] | None:
        """The arrays stored under `name`, if any."""
        return None

    def put(self, name: str, arrays: dict[str, Array]) -> dict[str, Array]:
        """Store arrays; returns what to go on with: the same, or others of equal content that take no memory."""
        return arrays

    def empty(self, length: int, dtype: Any) -> Array:
        """An array to fill."""
        return np.empty(length, dtype)

    def settle(self, array: Array) -> None:
        """It is filled."""


IN_MEMORY = Scratch()


class DiskScratch(Scratch):
    """Arrays lie in files of a temporary folder (TMPDIR says where) and come back memory-mapped. Use as a context."""

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="xtrellis-"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)  # what is still mapped lives until it is let go

    def put(self, name: str, arrays: dict[str, Array]) -> dict[str, Array]:
        infos = {key: tensors.info_of(key, array) for key, array in arrays.items()}
        try:
            file_name = f"{len(os.listdir(self._folder))}.safetensors"  # names repeat from tree to tree
            with open(self._folder / file_name, "xb") as file:
                n_bytes, _ = tensors.write(file, arrays)
        except OSError as error:
            raise StoreError(no_room(self._folder, error)) from error
        with Folder(self._folder) as folder:
            return tensors.read(folder.map(file_name, n_bytes), infos, file_name)

    def empty(self, length: int, dtype: Any) -> Array:
        """In a file that has no name any more and goes with the array."""
        return file_array(length, dtype, self._folder)

    def settle(self, array: Array) -> None:
        """Let its pages go: they are in the file, and come back when search looks at them."""
        base: Any = array.base
        mapped = base.obj if isinstance(base, memoryview) else base
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)
