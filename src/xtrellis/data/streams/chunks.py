"""Bytes as they come in: from a file, a pipe, stdin; decompressed, in UTF-8, and cut into blocks of lines.

A pipe may be slow or endless. Whoever waits for rows then gets those that are there; nobody waits: blocks grow.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...core import DataError
from ..formats.files import BOM, COMPRESSED, MAGIC, Counted, decode, marked, unfolding, unusable
from ..formats.options import codec

ROWS = 16384  # of a block at most: enough to share the walk down a tree
BYTES = 6 << 20  # of a block, roughly
FIRST_ROWS = 512  # of the first block: an answer is seen soon
_CHUNK = 1 << 18
_PAUSE = 0.02  # seconds between two looks at a pipe


class Chunks:
    """A stream of bytes."""

    def __init__(self, file: BinaryIO, name: str, pipe: int | None, encoding: str) -> None:
        self._file, self.name, self._pipe = file, name, pipe
        self._ahead: bytes | None = None
        utf8 = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if utf8 else codecs.getincrementaldecoder(encoding)()

    def ready(self, patience: float = 0.0) -> bool:
        """True if `read` will not wait: of a file always, of a pipe if something is in it (or it has ended)."""
        if self._ahead is not None or self._pipe is None:
            return True
        return bool(select.select([self._pipe], [], [], patience)[0])

    def read(self) -> bytes:
        """What is there, at least one byte; nothing at the end."""
        if self._ahead is not None:
            chunk, self._ahead = self._ahead, None
            return chunk
        while True:
            chunk = cast(io.BufferedReader, self._file).read1(_CHUNK)
            if self._decoder is None:
                return chunk
            decoded = self._decode(chunk)
            if decoded or not chunk:
                return decoded

    def _decode(self, chunk: bytes) -> bytes:
        try:
            return self._decoder.decode(chunk, final=not chunk).encode("utf-8") if self._decoder else chunk
        except UnicodeError as error:
            reason = getattr(error, "reason", None) or error
            raise DataError(f"is not {self._decoder_name} text: {reason}", path=self.name) from None

    @property
    def _decoder_name(self) -> str:
        return type(self._decoder).__module__.removeprefix("encodings.")

    def head(self) -> bytes:
        """The first bytes, which stay to be read; a mark at the beginning, of UTF-8 or UTF-16, is taken off."""
        first = self.read()
        while first and len(first) < len(BOM) and BOM.startswith(first):
            more = self.read()
            if not more:
                break
            first += more
        if self._decoder is None and (encoding := marked(first)) is not None:
            self._decoder = codecs.getincrementaldecoder(encoding)()
            first = self._decode(first) or self.read()
        self._ahead = first.removeprefix(BOM) or (self.read() if first else b"")
        return self._ahead


@contextmanager
def chunks(
    source: Path | BinaryIO, *, encoding: str = "utf-8", advance: Callable[[float], None] | None = None
) -> Iterator[Chunks]:
    """A file, a pipe, or an open binary stream such as stdin; `advance` hears of bytes taken from it."""
    codec(encoding)  # or an error
    name = str(source) if isinstance(source, Path) else "stdin"
    try:
        with ExitStack() as stack:
            file = stack.enter_context(_opened(source)) if isinstance(source, Path) else source
            pipe = _pipe(file)
            file = cast(BinaryIO, stack.enter_context(io.BufferedReader(Counted(file, advance or _nobody), _CHUNK)))
            kind = source.suffix if isinstance(source, Path) and source.suffix in COMPRESSED else None
            first = b"" if kind else cast(io.BufferedReader, file).peek(6)
            kind = kind or next((suffix for suffix, magic in MAGIC.items() if first.startswith(magic)), None)
            if kind is not None:
                file, pipe = stack.enter_context(io.BufferedReader(unfolding(file, kind))), None
            yield Chunks(file, name, pipe, encoding)
    except FileNotFoundError:
        raise DataError("there is no such file", path=name) from None
    except (OSError, EOFError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read our answers went away: not the data's fault
            raise
        raise DataError(f"cannot be read: {error}", path=name) from error


def read_text(source: Path | BinaryIO, *, encoding: str = "utf-8") -> str:
    """All of a file, a pipe or an open binary stream as one text."""
    with chunks(source, encoding=encoding) as stream:
        stream.head()
        pieces = []
        while chunk := stream.read():
            pieces.append(chunk)
        return decode(b"".join(pieces), Path(stream.name), None)


def size_of(source: Path | BinaryIO) -> int | None:
    """Bytes of a regular file; None of anything that has no end known before."""
    with suppress(OSError, ValueError, AttributeError):
        status = source.stat() if isinstance(source, Path) else os.fstat(source.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None
    return None


def blocks_of_lines(stream: Chunks, hungry: Callable[[], bool]) -> Iterator[list[bytes]]:
    """Lines without their newlines; a block ends when it is full, or when somebody waits and nothing more is there."""
    pieces: list[bytes] = []  # of a line whose end has not come
    lines: list[bytes] = []
    size, most = 0, FIRST_ROWS
    while True:
        while len(lines) >= most:
            yield lines[:most]
            lines, size, most = lines[most:], 0, ROWS
        if lines and (size >= BYTES or (not stream.ready() and hungry())):
            yield lines
            lines, size = [], 0
        if lines and not stream.ready(_PAUSE):
            continue
        chunk = stream.read()
        if not chunk:
            break
        size += len(chunk)
        *ended, rest = chunk.split(b"\n")
        if ended:
            pieces.append(ended[0])
            lines.append(b"".join(pieces).removesuffix(b"\r"))
            lines.extend(ended[1:] if b"\r" not in chunk else [line.removesuffix(b"\r") for line in ended[1:]])
            pieces.clear()
        if rest:
            pieces.append(rest)
    if pieces:
        lines.append(b"".join(pieces))
    if lines:
        yield lines


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero or half a surrogate pair in the name
        raise unusable(path, error) from None
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
        file.close()
        raise DataError("is a device, not a file", path=path)
    return cast(BinaryIO, file)


def _pipe(file: Any) -> int | None:
    """The number of a file that may have to be waited for."""
    with suppress(OSError, ValueError, AttributeError):
        number = int(file.fileno())
        return None if stat.S_ISREG(os.fstat(number).st_mode) else number
    return None


def _nobody(amount: float) -> None:
    """Progress that nobody watches."""
