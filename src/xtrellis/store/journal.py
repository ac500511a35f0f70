"""`journal.jsonl`: what has happened to a model since it was trained, one line a change, in its folder.

Lines are only ever appended, each flushed to disk before anybody is told of it. Each holds a hash of itself and the
line before, so a line that was cut short by a crash, or changed by hand, is known: the last one then counts as never
written, any other as damage. What small changes need (a label retired, renamed) is in the line itself,
so that they take one write; a change that makes other weights writes a new folder, with the journal in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core import StoreError, as_path
from . import plain

JOURNAL = "journal.jsonl"
MOST_BYTES = 1 << 28  # of all lines
_TRIES = 16


def journal_line(entry: Mapping[str, Any], before: str) -> str:
    """The line of an entry; `before` is the hash in the line before it, empty for the first."""
    body = plain.dump(plain.plain(dict(entry), "a journal's entry")).decode()
    return plain.dump({"sum": _sum(before, body), "entry": plain.parse(body.encode(), JOURNAL)}).decode()


def read_journal(raw: bytes, where: str) -> tuple[list[dict[str, Any]], list[str], int]:
    """(entries, their lines, how many bytes are whole lines)."""
    entries: list[dict[str, Any]] = []
    lines: list[str] = []
    before, upto = "", 0
    pieces = raw.split(b"\n")
    for i, piece in enumerate(pieces[:-1]):
        found = _entry(piece, before)
        if found is None:
            if i + 2 == len(pieces) and not pieces[-1]:
                break  # the last line: a write that was cut short
            raise StoreError(f"{where}: line {i + 1} is not what its hash says; the journal was changed or damaged")
        before, entry = found
        entries.append(entry)
        lines.append(piece.decode())
        upto += len(piece) + 1
    return entries, lines, upto


def _entry(piece: bytes, before: str) -> tuple[str, dict[str, Any]] | None:
    try:
        value = plain.parse(piece, JOURNAL)
    except StoreError:
        return None
    if not isinstance(value, dict) or set(value) != {"sum", "entry"} or not isinstance(value["entry"], dict):
        return None
    if value["sum"] != _sum(before, plain.dump(value["entry"]).decode()):
        return None
    return str(value["sum"]), value["entry"]


def _sum(before: str, body: str) -> str:
    return hashlib.blake2b(f"{before}\n{body}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def journal_bytes(lines: Sequence[str]) -> bytes:
    """The file."""
    return "".join(f"{line}\n" for line in lines).encode()


def append_to_journal(path: str | os.PathLike[str], entries: Sequence[Mapping[str, Any]], *, known: int) -> None:
    """Add changes to the journal of the model at `path`; `known` is how many it had when they were made.

    Whole or not at all: what a crash leaves of a line is no line. Refused if others have changed the model meanwhile.
    """
    folder = as_path(path, error=StoreError)
    try:
        for _ in range(_TRIES):
            with journal_lock(folder) as file:
                raw = os.pread(file, MOST_BYTES + 1, 0)
                found, lines, whole = read_journal(raw, str(folder / JOURNAL))
                if len(found) != known:
                    raise StoreError(f"{folder} was changed meanwhile by another program: load it again")
                before = "" if not lines else str(plain.parse(lines[-1].encode(), JOURNAL)["sum"])
                made: list[str] = []
                for entry in entries:
                    made.append(journal_line(entry, before))
                    before = str(plain.parse(made[-1].encode(), JOURNAL)["sum"])
                content = journal_bytes(made)
                if len(raw) > whole:
                    os.ftruncate(file, whole)
                try:
                    if os.pwrite(file, content, whole) != len(content):
                        raise OSError(28, os.strerror(28))
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, whole)
                    raise
                if os.path.samestat(os.fstat(file), (folder / JOURNAL).stat()):
                    return
    except OSError as error:
        raise StoreError(f"cannot write to {folder / JOURNAL}: {error.strerror or error}") from error
    raise StoreError(f"cannot write to {folder / JOURNAL}: other programs keep replacing the model")


@contextmanager
def journal_lock(folder: Path) -> Iterator[int]:
    """The journal of a model, opened and held against other programs that change the model; made if there is none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(folder / JOURNAL, flags, 0o666)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{folder} is being changed by another program; try again when it is done") from None
        except OSError:
            pass  # a file system without locks
        yield fd
    finally:
        os.close(fd)
