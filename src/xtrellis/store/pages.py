"""Arrays whose memory is that of files: they take none for good, and `Resident` keeps what they take for now in bounds.

A page of a mapped file that was looked at stays with the process until the system wants it back, and counts as its
memory until then. Letting it go costs nothing but the way back, which is short while the system still holds it. So a
training that must not take more than so much lets all of them go whenever they have grown together.
"""

from __future__ import annotations

import io
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Csr, Int64, Rows
from ..core import StoreError

if TYPE_CHECKING:
    from typing_extensions import Self

PAUSE = 0.004  # seconds between two looks: a processor maps some megabytes meanwhile
_PAGE = mmap.PAGESIZE
LEAST = 16 << 20  # bytes of pages that are worth letting go
_mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_kernels: list[Callable[[], object]] = []  # that have files of their own


def watched(mapped: mmap.mmap) -> mmap.mmap:
    """The same; its pages will be let go with the others."""
    _mapped.add(mapped)
    return mapped


class Mapped(mmap.mmap):
    """A mapped file whose descriptor stays open, so that kernels can read it instead of looking at its pages."""

    descriptor = -1

    def __new__(cls, descriptor: int, n_bytes: int, access: int = mmap.ACCESS_DEFAULT) -> Self:
        made = super().__new__(cls, descriptor, n_bytes, access=access)
        made.descriptor = os.dup(descriptor)
        return made

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def map_file(descriptor: int, n_bytes: int) -> mmap.mmap:
    """A file's bytes, to be read only, watched."""
    return watched(Mapped(descriptor, n_bytes, access=mmap.ACCESS_READ))


def _place(array: Array) -> tuple[int, int] | None:
    """The descriptor of the file that an array lies in, and at which byte; None of one in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    mapped = base.obj if isinstance(base, memoryview) else base
    if not isinstance(mapped, Mapped) or mapped.descriptor < 0:
        return None
    return mapped.descriptor, array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data


def row_files(matrix: Csr | Rows) -> Int64 | None:
    """Where ids and values of a matrix lie, for kernels that read rows from files; None if not both lie in files."""
    ids, values = _place(matrix.indices), _place(matrix.data)
    return None if ids is None or values is None else np.array([*ids, *values], np.int64)


def file_array(length: int, dtype: Any, folder: str | os.PathLike[str] | None = None) -> Array:
    """An array to fill that lies in a file without a name, which goes with it; TMPDIR says where, if nobody does."""
    n_bytes = int(length) * np.dtype(dtype).itemsize
    if not n_bytes:
        return np.empty(0, dtype)
    place = Path(tempfile.gettempdir() if folder is None else folder)
    try:
        with tempfile.TemporaryFile(dir=place, prefix="xtrellis-") as file:
            reserve(file.fileno(), n_bytes)
            return np.frombuffer(watched(Mapped(file.fileno(), n_bytes)), dtype)
    except OSError as error:
        raise StoreError(no_room(place, error)) from error


def reserve(descriptor: int, n_bytes: int) -> None:
    """Take the room now: a mapped file that meets a full disk later would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, n_bytes)
        return
    for begin in range(0, n_bytes, 1 << 20):
        os.write(descriptor, bytes(min(1 << 20, n_bytes - begin)))


def no_room(folder: Path, error: OSError) -> str:
    """Words for a disk that is full."""
    return f"cannot put arrays into {folder} ({error.strerror or error}); let TMPDIR name a folder with more room"


def let_go() -> None:
    """The pages of all mapped files: whoever looks at one gets it back."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    for mapped in list(_mapped):
        try:
            mapped.madvise(mmap.MADV_DONTNEED)
        except ValueError:  # closed meanwhile
            continue
    for drop in _kernels:
        drop()


def add_kernel(drop: Callable[[], object]) -> None:
    """Kernels that put arrays into files themselves let their pages go by `drop`."""
    if drop not in _kernels:
        _kernels.append(drop)


def _resident(told: io.RawIOBase) -> tuple[int, int]:
    """Bytes of memory that the process has now: all, and those of files."""
    told.seek(0)
    _, resident, shared, *_ = (told.read() or b"").split()
    return int(resident) * _PAGE, int(shared) * _PAGE


def resident() -> int:
    """Bytes of memory that the process has now; 0 if the system does not say."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as told:
            return _resident(told)[0]
    except OSError:
        return 0


class Resident:
    """While it is open, mapped pages are let go whenever the process takes more than `limit` bytes of memory."""

    def __init__(self, limit: float) -> None:
        self._limit, self._ended = limit, threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if Path("/proc/self/statm").exists():
            self._thread = threading.Thread(target=self._watch, name="xtrellis-pages", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        kept = 0  # pages of files that nobody lets go, those of libraries above all
        with open("/proc/self/statm", "rb", buffering=0) as told:
            while not self._ended.wait(PAUSE):
                all_of_it, of_files = _resident(told)
                if all_of_it > self._limit and of_files > kept + LEAST:
                    let_go()
                    kept = _resident(told)[1]
