"""Where finished arrays wait until a model is whole: in memory, or in files that take none."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..core import StoreError
from . import tensors
from .folder import Folder

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
            raise StoreError(_no_room(self._folder, error)) from error
        with Folder(self._folder) as folder:
            return tensors.read(folder.map(file_name, n_bytes), infos, file_name)

    def empty(self, length: int, dtype: Any) -> Array:
        """In a file that has no name any more and goes with the array."""
        if not length:
            return np.empty(0, dtype)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                _reserve(file, length * np.dtype(dtype).itemsize)
                return np.asarray(np.memmap(file, dtype, "r+", shape=(length,)))
        except OSError as error:
            raise StoreError(_no_room(self._folder, error)) from error

    def settle(self, array: Array) -> None:
        """Let its pages go: they are in the file, and come back when search looks at them."""
        mapped = getattr(array.base, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Take the room now: a mapped file that meets a full disk later would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for begin in range(0, n_bytes, 1 << 20):
        file.write(bytes(min(1 << 20, n_bytes - begin)))
    file.flush()


def _no_room(folder: Path, error: OSError) -> str:
    return f"cannot put weights into {folder} ({error.strerror or error}); let TMPDIR name a folder with more room"
