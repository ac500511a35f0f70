"""Reading a folder without trusting it: every file is opened relative to the folder and must be a plain file."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ..core import StoreError, as_path
from .manifest import FORMAT, MANIFEST
from .swap import aside_of

if TYPE_CHECKING:
    from typing_extensions import Self

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Folder:
    """An open model folder. It stays the same folder even if another one is renamed into its place meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path, error=StoreError)
        try:
            self._fd = _open_folder(self.path)
        except OSError as error:
            raise StoreError(_why_not(self.path, error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def replaced(self) -> bool:
        """True if `path` now names another folder than the one opened."""
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self._fd))
        except OSError:
            return True

    def names(self) -> list[str]:
        """What the folder holds."""
        return sorted(os.listdir(self._fd))

    def where(self, name: str) -> str:
        """How errors name a file of this folder."""
        return str(self.path / name)

    def read(self, name: str, limit: int) -> bytes:
        """A small file, whole."""
        fd, size = self._open(name)
        try:
            if size > limit:
                raise StoreError(f"{self.where(name)}: {size} bytes; at most {limit} are allowed")
            with open(fd, "rb", closefd=False) as file:
                return file.read(limit)
        finally:
            os.close(fd)

    def map(self, name: str, size: int) -> mmap.mmap:
        """A file of exactly `size` bytes, memory-mapped read-only: nothing is read until it is looked at."""
        fd, found = self._open(name)
        try:
            if found != size:
                raise StoreError(f"{self.where(name)}: {found} bytes; model.json says {size} (truncated or changed)")
            if not found:
                raise StoreError(f"{self.where(name)}: empty")
            return mmap.mmap(fd, found, access=mmap.ACCESS_READ)
        except OSError as error:
            raise StoreError(f"{self.where(name)}: cannot be mapped ({error.strerror})") from None
        finally:
            os.close(fd)

    def _open(self, name: str) -> tuple[int, int]:
        """A descriptor of a plain file and its size. Links, folders, pipes and devices are refused, unopened."""
        try:
            before = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            if not stat.S_ISREG(before.st_mode):
                kind = "a link" if stat.S_ISLNK(before.st_mode) else "not a plain file"
                raise StoreError(f"{self.where(name)}: is {kind}; a model folder holds plain files only")
            fd = os.open(name, _READ, dir_fd=self._fd)
        except FileNotFoundError:
            if name == MANIFEST:
                raise StoreError(f"{self.path} is not an xtrellis model: it has no {MANIFEST}") from None
            raise StoreError(f"{self.where(name)}: missing") from None
        except OSError as error:
            raise StoreError(f"{self.where(name)}: cannot be opened ({error.strerror})") from None
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):  # swapped between the two calls
            os.close(fd)
            raise StoreError(f"{self.where(name)}: not a plain file")
        return fd, found.st_size


def _open_folder(path: Path) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        # A save that died between its two renames (only where the swap is not atomic, see swap.py) left it here.
        try:
            return os.open(aside_of(path.resolve()), flags)
        except OSError:
            return os.open(path, flags)  # it may have come back meanwhile


def _why_not(path: Path, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f"there is no model at {path}"
    if error.errno == errno.ENOTDIR:
        return f"{path} is not a model: a model is a folder with a {MANIFEST} of format {FORMAT!r}"
    return f"cannot open {path} ({error.strerror})"
