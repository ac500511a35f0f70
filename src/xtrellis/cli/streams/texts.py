"""What `xtrellis tag` is asked to tag: a text, files, folders, or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import DataError, InputError
from .. import show
from .rows import STDIN, is_pipe, size_of, source_of, stdin

if TYPE_CHECKING:
    from ...data import RowBlock

TOGETHER = 64  # files of a folder that are tagged at once
LOOKED_AT = 8192  # bytes of a file that tell whether it is text
LONGEST_NAME = 4096
LONGEST_TITLE = 4  # words of a name such as `My notes.pdf`; what is longer is a sentence


@dataclass
class Texts:
    """Where texts come from."""

    literal: str | None = None
    files: list[Path] | None = None  # `-` and pipes among them
    lines: bool = False
    encoding: str = "utf-8"
    skip_bad_rows: bool = False
    unread: list[str] = field(default_factory=list)
    """Why files could not be read: the others are tagged all the same."""

    @property
    def one(self) -> bool:
        """True if there is a single text, which needs no heading."""
        return self.literal is not None or (not self.lines and len(self.files or []) == 1)

    @property
    def named(self) -> bool:
        """True if texts go by the names of their files."""
        return self.literal is None and not self.lines and self.files != [Path(STDIN)]

    @property
    def size(self) -> int | None:
        """Bytes to come, if they are known and worth showing."""
        if self.literal is not None or not self.files or any(map(is_pipe, self.files)):
            return None
        return sum(size_of(file) or 0 for file in self.files)

    def blocks(self, hungry: Callable[[], bool], advance: Callable[[float], None] | None = None) -> Iterator[RowBlock]:
        """The texts, some at a time."""
        from ...data import RowBlock, stream

        if self.literal is not None:
            yield RowBlock(texts=[self.literal])
        elif self.lines:
            for file in self.files or []:
                try:
                    yield from stream(
                        source_of(file),
                        format="lines",
                        encoding=self.encoding,
                        skip_bad_rows=self.skip_bad_rows,
                        hungry=hungry,
                        advance=advance,
                    )
                except DataError as error:
                    if len(self.files or []) == 1:
                        raise
                    self.unread.append(str(error))
        else:
            block = RowBlock(texts=[], passed=[])
            for file in self.files or []:
                self._add(block, file)
                if advance is not None:
                    advance(size_of(file) or 0)
                if len(block) >= TOGETHER:
                    yield block
                    block = RowBlock(texts=[], passed=[])
            if len(block):
                yield block

    def _add(self, block: RowBlock, file: Path) -> None:
        if block.texts is None or block.passed is None:
            raise TypeError("a block of texts is needed")
        try:
            text = whole_text(file, self.encoding)
        except DataError as error:
            if self.one and not self.skip_bad_rows:
                raise
            block.faults[len(block.texts)] = str(error)
            self.unread.append(str(error))
            text = ""
        block.texts.append(text)
        block.passed.append({} if str(file) == STDIN else {"file": str(file)})


def whole_text(file: Path, encoding: str = "utf-8") -> str:
    """All of a file, a pipe or stdin as one text."""
    from ...data import read_text

    if str(file) == STDIN and sys.stdin.isatty():
        show.warning("reading a text from the terminal; end it with Ctrl-D")
    return read_text(stdin() if str(file) == STDIN else file, encoding=encoding)


def find_texts(
    given: Sequence[str], *, literal: bool, lines: bool, encoding: str, skip_bad_rows: bool, say: Callable[[Any], None]
) -> Texts:
    """What the words of a command line mean: `-` and nothing are stdin, what exists is read, the rest is the text."""
    how: dict[str, Any] = {"lines": lines, "encoding": encoding, "skip_bad_rows": skip_bad_rows}
    if literal:
        if not given:
            raise InputError("--text takes TEXT as it is; there is none")
        return Texts(literal=" ".join(given))
    if not given:
        return Texts(files=[Path(STDIN)], **how)
    there = [word == STDIN or _exists(word) for word in given]
    if not any(there):
        if lines:
            raise InputError(f"--lines reads texts from files or stdin; there is no file {given[0]!r:.80}")
        _tell_missing(given)
        return Texts(literal=" ".join(given))
    if not all(there):
        raise InputError(f"there is no file {given[there.index(False)]!r:.80}; put a text of several words in quotes")
    files: list[Path] = []
    for word in given:
        path = Path(word)
        if path.is_dir():
            found, other = _texts_below(path)
            if not found:
                raise InputError(f"{path} holds no text files")
            skipped = f", {other:,} that are not text left out" if other else ""
            say(f"reading {len(found):,} text files of {path}{skipped}")
            files += found
        else:
            if word != STDIN:
                _require_text(path)
            if path.suffix in _ROWS and not lines:
                say(f"reading the file {word} as one text (xtrellis predict answers each of its rows)")
            elif word != STDIN:
                say(f"reading the file {word} (--text tags these words themselves)")
            files.append(path)
    return Texts(files=files, **how)


def _exists(word: str) -> bool:
    if not word or len(word) > LONGEST_NAME or "\0" in word:
        return False
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # a folder that may not be entered; half a surrogate pair
        return False


def _tell_missing(given: Sequence[str]) -> None:
    """Words that are surely meant as paths are refused where nothing is there, and told of where they only may be."""
    meant = [_is_path(word) for word in given]
    if all(meant):
        address = " (addresses are not fetched)" if "://" in given[0] else ""
        raise InputError(f"there is no file {given[0]!r:.200}{address}; --text tags the words themselves")
    missing = next((word for word, path in zip(given, meant, strict=True) if path), None)
    if missing is None and len(given) == 1:
        words = given[0].split()
        if _has_slash(given[0]) or (1 < len(words) <= LONGEST_TITLE and _is_path(words[-1])):
            missing = given[0]
    if missing is not None:
        show.warning(f"there is no file {missing}: these words are tagged (--text says so without this note)")


def _is_path(word: str) -> bool:
    """True of what nobody writes for a text: `/tmp/x`, `docs/`, `report.pdf`. (`node.js` and `TCP/IP` are words.)"""
    if not word or any(c.isspace() for c in word):
        return False
    begins = word.startswith(("/", "./", "../", "~/")) or "://" in word
    ends = word.endswith(os.sep) or Path(word).suffix.lower() in _SUFFIXES
    return len(word) > 1 and (begins or ends)


def _has_slash(word: str) -> bool:
    return os.sep in word and not any(c.isspace() for c in word)


_ROWS = (".jsonl", ".ndjson", ".csv", ".tsv")  # of data, each a text
_SUBJECTS = (".tsv", ".key")
_SUFFIXES = (
    *_ROWS, ".txt", ".md", ".text", ".rst", ".html", ".htm", ".json", ".xml", ".log", ".tex", ".pdf", ".doc", ".docx",
    ".odt", ".rtf", ".xls", ".xlsx", ".ods", ".ppt", ".pptx", ".epub", ".eml", ".zip", ".gz", ".xz", ".zst", ".png",
    ".jpg", ".jpeg",
)  # fmt: skip
_NOT_TEXT = {
    b"%PDF-": "a PDF; pdftotext makes text of it",
    b"PK\x03\x04": "a zip file, as are .docx and .odt; save it as text",
    b"\xd0\xcf\x11\xe0": "a file of an office program; save it as text",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")  # gzip, xz, zstd: read as what is in them


def _why_not_text(start: bytes) -> str | None:
    """What a file is that is no text, by its first bytes."""
    known = next((what for magic, what in _NOT_TEXT.items() if start.startswith(magic)), None)
    if known is not None:
        return known
    return "a binary file" if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def _require_text(path: Path) -> None:
    if not path.is_file():  # a pipe can be looked at only once
        return
    try:
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
    except OSError:
        return  # whoever reads it says what is wrong
    why = None if start.startswith(_COMPRESSED) else _why_not_text(start)
    if why is not None:
        raise InputError(f"{path} is not text but {why}")


def _texts_below(folder: Path) -> tuple[list[Path], int]:
    """Files of text anywhere below a folder, in order, and how many others there are; neither hidden ones count, nor
    the labels that lie beside a text."""
    found, other = [], 0
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        if path.suffix in _SUBJECTS and path.with_suffix(".txt").is_file():  # a full-text folder of Annif's
            continue
        try:
            with path.open("rb") as file:
                text = _why_not_text(file.read(LOOKED_AT)) is None
        except OSError:
            text = True  # it is named when it cannot be read
        if text:
            found.append(path)
        else:
            other += 1
    return found, other
