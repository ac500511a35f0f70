"""What `xtrellis tag` is asked to tag: a text, files, folders, or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import DataError, InputError
from .rows import STDIN, is_pipe, size_of, source_of, stdin

if TYPE_CHECKING:
    from ...data import RowBlock

TOGETHER = 64  # files of a folder that are tagged at once
LOOKED_AT = 8192  # bytes of a file that tell whether it is text
LONGEST_NAME = 4096


@dataclass
class Texts:
    """Where texts come from."""

    literal: str | None = None
    files: list[Path] | None = None  # `-` and pipes among them
    lines: bool = False
    encoding: str = "utf-8"
    skip_bad_rows: bool = False

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
                yield from stream(
                    source_of(file),
                    format="lines",
                    encoding=self.encoding,
                    skip_bad_rows=self.skip_bad_rows,
                    hungry=hungry,
                    advance=advance,
                )
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
            if not self.skip_bad_rows:
                raise
            block.faults[len(block.texts)] = str(error)
            text = ""
        block.texts.append(text)
        block.passed.append({} if str(file) == STDIN else {"file": str(file)})


def whole_text(file: Path, encoding: str = "utf-8") -> str:
    """All of a file, a pipe or stdin as one text."""
    from ...data import read_text

    if str(file) == STDIN and sys.stdin.isatty():
        sys.stderr.write("reading a text from the terminal; end it with Ctrl-D\n")
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
        if len(given) == 1 and _looks_like_path(given[0]):
            say(f"there is no file {given[0]}: these words are tagged (--text says so without this note)")
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


def _looks_like_path(word: str) -> bool:
    return not any(c.isspace() for c in word) and (os.sep in word.rstrip(os.sep) or Path(word).suffix in _SUFFIXES)


_ROWS = (".jsonl", ".ndjson", ".csv", ".tsv")  # of data, each a text
_SUFFIXES = (".txt", ".md", ".text", ".rst", ".html", ".json", ".jsonl", ".csv", ".tsv")


def _texts_below(folder: Path) -> tuple[list[Path], int]:
    """Files of text anywhere below a folder, in order, and how many others there are; hidden ones do not count."""
    found, other = [], 0
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
        if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
            other += 1
        else:
            found.append(path)
    return found, other
