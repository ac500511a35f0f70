"""Opening files: compression seen through, damage reported as DataError, writes that are whole or not there."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from ...arrays import UNFOLDED_TIMES, unfolds_too_far
from ...core import DataError, MissingExtraError, shown, size_text

MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
COMPRESSED = tuple(MAGIC)
BOM = b"\xef\xbb\xbf"
_ZSTD_PIECE = 8192  # read at a time: a piece unfolds at once, to 270 MB at the worst


def plain_name(path: Path) -> str:
    """The file's name without a compression suffix: what tells its format."""
    return path.name[: -len(path.suffix)] if path.suffix in COMPRESSED else path.name


def present(path: Path) -> Path | None:
    """`path`, or a compressed file of that name, whichever is there."""
    for candidate in (path, *(path.with_name(path.name + suffix) for suffix in COMPRESSED)):
        with suppress(OSError):  # a name that is too long with a suffix is not there
            if candidate.is_file():
                return candidate
    return None


def is_file(path: Path) -> bool:
    """As of Path, which raises where a name is too long or a folder may not be entered."""
    return _looked_at(path, path.is_file)


def is_folder(path: Path) -> bool:
    """Alike."""
    return _looked_at(path, path.is_dir)


def _looked_at(path: Path, look: Callable[[], bool]) -> bool:
    try:
        return look()
    except OSError as error:
        raise unusable(path, error) from None


def unusable(path: Path, error: OSError | ValueError) -> DataError:
    """The error for a path that the system does not take; it may be too long to be shown."""
    out = DataError(f"{shown(str(path))} cannot be opened: {getattr(error, 'strerror', None) or error}")
    out.path = path
    return out


@contextmanager
def reading(
    path: Path, advance: Callable[[float], None] | None = None, encoding: str | None = None
) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed; `advance` hears of bytes taken from the disk. Any damage is a DataError.

    Text in another encoding than UTF-8 becomes UTF-8; that it is UTF-16 a mark at its beginning says by itself.
    """
    try:
        with ExitStack() as stack:
            raw: BinaryIO = stack.enter_context(_opened(path))
            size = os.fstat(raw.fileno()).st_size
            kind = path.suffix if path.suffix in COMPRESSED else _by_magic(raw)
            if advance is not None:
                raw = cast(BinaryIO, stack.enter_context(io.BufferedReader(Counted(raw, advance), 1 << 20)))
            if kind is not None:
                unfolded = cast(BinaryIO, stack.enter_context(unfolding(raw, kind)))
                raw = cast(BinaryIO, stack.enter_context(io.BufferedReader(_Bounded(unfolded, path, size), 1 << 20)))
            encoding = encoding or marked(cast(io.BufferedReader, raw).peek(2))
            if encoding is not None and codecs.lookup(encoding).name != "utf-8":
                text = Transcoded(raw, encoding, path)
                raw = cast(BinaryIO, stack.enter_context(io.BufferedReader(text, 1 << 20)))
            yield raw
    except FileNotFoundError:
        raise DataError("there is no such file", path=path) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"cannot be read: {error}", path=path) from error
    except MemoryError:
        raise DataError("cannot be read: it takes more memory than there is", path=path) from None


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero or half a surrogate pair in the name
        raise unusable(path, error) from None
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError("is a device, not a file", path=path)
    return file


def unfolding(file: BinaryIO, kind: str) -> Any:
    """What a compressed file holds, as it is read."""
    if kind == ".gz":
        return gzip.open(file, "rb")
    return lzma.open(file, "rb") if kind == ".xz" else io.BufferedReader(_ZstdReader(file), 1 << 20)


def head(path: Path, size: int = 4096, encoding: str | None = None) -> bytes:
    """The first bytes, decompressed."""
    with reading(path, encoding=encoding) as file:
        return file.read(size)


def marked(start: bytes) -> str | None:
    """The encoding that the first bytes of a text name: Windows programs call UTF-16 "Unicode"."""
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def _by_magic(file: BinaryIO) -> str | None:
    start = file.read(6)
    file.seek(0)
    return next((suffix for suffix, magic in MAGIC.items() if start.startswith(magic)), None)


class Counted(io.RawIOBase):
    """Passes bytes on and tells how many."""

    def __init__(self, file: BinaryIO, advance: Callable[[float], None]) -> None:
        self._file, self._advance = file, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = cast(io.BufferedReader, self._file).readinto(buffer)
        self._advance(count)
        return count


class Transcoded(io.RawIOBase):
    """Text in any encoding, as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, path: Path) -> None:
        self._file, self._encoding, self._path = file, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready, self._ended = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            block = self._file.read(1 << 18)
            self._ended = not block
            try:
                self._ready = self._decoder.decode(block, final=self._ended).encode("utf-8")
            except UnicodeError as error:
                reason = getattr(error, "reason", None) or error
                raise DataError(f"is not {self._encoding} text: {reason}", path=self._path) from None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


class _Bounded(io.RawIOBase):
    """Passes on what a compressed file holds, until that is more than any data would unfold to."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self._file, self._path, self._size, self._count = file, path, size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = cast(io.BufferedReader, self._file).readinto(buffer)
        self._count += count
        if unfolds_too_far(self._size, self._count):
            raise DataError(
                f"unfolds to more than {size_text(self._count)}, over {UNFOLDED_TIMES} times its size; if you trust "
                "it, decompress it first",
                path=self._path,
            )
        return count


class _ZstdReader(io.RawIOBase):
    """Frames of zstd one after the other. zstandard's own reader takes a truncated file for a finished one."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("zstandard", "zstd", "reading .zst files") from None
        self._file, self._library = file, zstandard
        self._frame: Any = None
        self._ready, self._left = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._left or self._file.read(_ZSTD_PIECE)
            self._left = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the compressed file ends in the middle; it was cut off")
                return 0
            if self._frame is None:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            try:
                self._ready = self._frame.decompress(data)
            except self._library.ZstdError as error:
                raise OSError(str(error)) from None
            if self._frame.eof:
                self._left, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write bytes to; compressed as its suffix says; appears under its name only when all went well."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        os.fsencode(path)
        if "\0" in str(path):
            raise ValueError("embedded null byte")
    except ValueError as error:
        raise unusable(path, error) from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as disk:
            with ExitStack() as stack:
                out: IO[bytes] = disk
                if path.suffix == ".gz":  # no name and no time inside: the same data give the same bytes
                    out = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", fileobj=disk, mtime=0)))
                elif path.suffix == ".xz":
                    out = stack.enter_context(lzma.open(disk, "wb"))
                elif path.suffix == ".zst":
                    out = stack.enter_context(_zstd_writer(disk))
                yield out
            disk.flush()
            os.fsync(disk.fileno())
        draft.replace(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise unusable(path, error) from None
        raise DataError(f"cannot be written: {error.strerror or error}", path=path) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _zstd_writer(disk: IO[bytes]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "zstd", "writing .zst files") from None
    return zstandard.ZstdCompressor().stream_writer(disk, closefd=False)


def decode(line: bytes, path: Path, number: int | None) -> str:
    """UTF-8, or a DataError that says which byte is wrong."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"expected UTF-8 text; byte 0x{line[error.start]:02x} at position {error.start} is not",
            path=path,
            line=number,
        ) from None


def without_bom(line: bytes) -> bytes:
    """Windows programs begin UTF-8 files with a mark that is no part of the text."""
    return line.removeprefix(BOM)
