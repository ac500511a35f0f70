"""Putting a whole folder in the place of another, so that a crash at any moment leaves a whole model.

1. The new model is written to `.NAME.tmp-RANDOM` beside the target (same file system); files and folder are fsynced.
2. The two folders change places in one step (Linux: renameat2 with RENAME_EXCHANGE). Where the kernel or file system
   cannot, the old one is renamed to `.NAME.aside` and the new one to NAME; a crash between the two leaves the old model
   aside, where `load` finds it.
3. The parent is fsynced and the old model deleted. Processes that have it mapped keep their pages until they let go.

A writer holds a lock (flock) on its temporary folder. The kernel drops it when the process dies, which is how the next
save tells a leftover, to be deleted, from the folder of another writer at work.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core import StoreError, as_path, shown
from . import plain
from .journal import JOURNAL
from .manifest import MANIFEST, is_manifest, is_tensor_file

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}
_TRIES = 16


def aside_of(target: Path) -> Path:
    """Where the old model waits during a swap that is not atomic."""
    return target.with_name(f".{target.name}.aside")


def target_of(path: str | os.PathLike[str]) -> Path:
    """The folder a model will be saved as, links resolved; refused if something else is there."""
    try:
        target = as_path(path, error=StoreError).resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise StoreError(f"{shown(path)} is not a path ({error})") from None
    if not target.name:
        raise StoreError(f"cannot save a model as {target}; give a folder name")
    _state(target)
    return target


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A new empty folder beside `target` that takes its place when the block ends well and is deleted otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder, lock = _new_folder(target)
    try:
        yield folder
        _sync(folder)
        _put(folder, target)
        _sync(target.parent)
    finally:
        # After a swap this name holds the old model, or nothing; after an error, the unfinished one.
        _delete(folder)
        os.close(lock)
    _delete(aside_of(target))
    _clean(target)


def _new_folder(target: Path) -> tuple[Path, int]:
    for _ in range(_TRIES):
        folder = target.with_name(f".{target.name}.tmp-{secrets.token_hex(8)}")
        folder.mkdir()
        # Until it is locked, another process that cleans up may take it for a leftover.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if _lock(lock) and folder.exists():
            return folder, lock
        os.close(lock)
    raise StoreError(f"cannot create a temporary folder beside {target}: they vanish at once")


def _lock(fd: int) -> bool:
    """False if another process holds it. File systems without locks count as locked: they are never cleaned."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _state(target: Path) -> str:
    """What is at `target` (see _look); looked at again if another writer replaced it meanwhile."""
    for _ in range(_TRIES):
        before = _identity(target)
        try:
            return _look(target)
        except StoreError as error:
            if _identity(target) == before:
                raise
            last = error
    raise last


def _identity(target: Path) -> tuple[int, ...]:
    with suppress(OSError):
        found = target.stat()
        return found.st_dev, found.st_ino, found.st_ctime_ns
    return ()


def _look(target: Path) -> str:
    """`absent` (or an empty folder) or `model`; anything else is refused, so that no user's file is ever deleted."""
    try:
        names = sorted(os.listdir(target))
    except FileNotFoundError:
        return "absent"
    except NotADirectoryError:
        file = next(p for p in (target, *target.parents) if p.exists())
        raise StoreError(f"{file} is a file, not a folder to save a model in: choose another path") from None
    except OSError as error:
        raise StoreError(f"cannot look into {target} ({error.strerror})") from None
    if not names:
        return "absent"
    cure = "choose another path, or move it away first"
    if not _has_manifest(target):
        raise StoreError(f"{target} exists and is not an xtrellis model; it will not be replaced: {cure}")
    foreign = [name for name in names if not _ours(target / name)]
    if foreign:
        shown = ", ".join(foreign[:3]) + (", …" if len(foreign) > 3 else "")
        raise StoreError(f"{target} holds more than a model ({shown}); it will not be replaced: {cure}")
    return "model"


def _has_manifest(target: Path) -> bool:
    path = target / MANIFEST
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > plain.MAX_BYTES:
            return False
        return is_manifest(plain.parse(path.read_bytes(), str(path)))
    except (OSError, StoreError):
        return False


def _ours(path: Path) -> bool:
    with suppress(OSError):
        return (path.name in (MANIFEST, JOURNAL) or is_tensor_file(path.name)) and stat.S_ISREG(path.lstat().st_mode)
    return False


def _put(folder: Path, target: Path) -> None:
    """Rename `folder` to `target`. Repeats when another writer changes what is there between look and step."""
    for _ in range(_TRIES):
        try:
            if _state(target) == "absent":
                os.rename(folder, target)  # over nothing, or over an empty folder
            elif not _exchange(folder, target):
                _rename_aside(folder, target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or not folder.exists():
                raise
    raise StoreError(f"cannot replace {target}: other programs keep changing it")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places, atomically; False where this is not possible."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _rename_aside(folder: Path, target: Path) -> None:
    aside = aside_of(target)
    _delete(aside)  # the target is there, so what lies aside is older
    os.rename(target, aside)
    try:
        os.rename(folder, target)
    except BaseException:
        with suppress(OSError):
            os.rename(aside, target)
        raise


def _delete(folder: Path) -> None:
    """Delete a model or an unfinished one. Only files of ours: whatever somebody put there keeps its folder alive."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if _ours(folder / name):
                with suppress(OSError):
                    os.unlink(folder / name)
        os.rmdir(folder)


def _clean(target: Path) -> None:
    """Delete what saves that died have left beside `target`."""
    prefix = f".{target.name}.tmp-"
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if not name.startswith(prefix):
                continue
            with suppress(OSError):
                fd = os.open(target.with_name(name), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
                    _delete(target.with_name(name))
                finally:
                    os.close(fd)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
