"""Rows from wherever a command line says, through a model and out again, block by block."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ...core import InputError, progress, staged

if TYPE_CHECKING:
    from ...arrays import TopK
    from ...data import RowBlock
    from ...tagger import Tagger

STDIN = "-"


@dataclass
class Counts:
    """What is told at the end."""

    rows: int = 0
    bad: int = 0
    silent: int = 0

    def notes(self, *, guess: bool) -> Iterator[str]:
        """Lines about rows that got no answer."""
        if self.silent and not guess:
            texts = "1 text has" if self.silent == 1 else f"{self.silent:,} texts have"
            yield f"{texts} no word that the model knows and got no labels (--guess gives them frequent ones)"
        if self.bad:
            yield f"{self.bad:,} rows could not be read and were skipped; the output says why"


@dataclass
class Answered:
    """A block of rows and the labels found for them."""

    block: RowBlock
    top: TopK
    silent: set[int]
    """Rows that got none because there was nothing to go by."""
    chances: TopK | None = None
    """The same with probabilities in place of scores, if the model knows them."""

    def reason(self, row: int, tagger: Tagger) -> str | None:
        """Why a row has no labels, if it was not looked at."""
        if row in self.block.faults:
            return self.block.faults[row]
        if row not in self.silent or self.block.texts is None:
            return None
        return tagger.why_silent(self.block.texts[row])


def stdin() -> BinaryIO:
    """The bytes of stdin, as they come: what Python buffers would be waited for."""
    given: Any = sys.stdin
    if not hasattr(given, "buffer"):  # not a file: somebody calls the program from Python
        import io

        return io.BytesIO(given.read().encode("utf-8", "surrogatepass"))
    return getattr(given.buffer, "raw", given.buffer)  # type: ignore[no-any-return]


def source_of(path: Path) -> Path | BinaryIO:
    """`-` is stdin; everything else is a path."""
    return stdin() if str(path) == STDIN else path


def is_pipe(path: Path) -> bool:
    """True of what can be read only once: `-`, a named pipe, process substitution."""
    if str(path) == STDIN:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def answered(
    tagger: Tagger,
    read: Callable[..., Iterator[RowBlock]],
    size: int | None,
    k: int,
    *,
    counts: Counts,
    threshold: float | str | None = None,
    guess: bool = False,
    title: str = "tagging",
) -> Generator[Answered]:
    """Rows and their labels, in order. Reading, searching and what the caller does with them go on at once.

    `read(hungry=…, advance=…)` gives blocks of rows; `size` is the number of bytes to come, if it is known.
    """
    with progress.step(title, total=size, unit="rows" if size is None else "B") as advance:

        def source(hungry: Callable[[], bool]) -> Iterator[RowBlock]:
            return read(hungry=hungry, advance=None if size is None else advance)

        with closing(staged(source, lambda block: answer(tagger, block, k, threshold, guess))) as answers:
            for found in answers:
                counts.rows += len(found.block)
                counts.bad += len(found.block.faults)
                counts.silent += len(found.silent)
                if size is None:
                    advance(len(found.block))
                yield found


def answer(tagger: Tagger, block: RowBlock, k: int, threshold: float | str | None, guess: bool) -> Answered:
    """The labels of a block's rows."""
    import numpy as np

    from ...arrays import TopK
    from ...tagger import asked_for

    if block.texts is not None:
        tagger.require_vectorizer()
    elif tagger.vectorizer is not None:
        raise InputError("the data has features, but this model reads texts")
    rows = block.texts if block.texts is not None else block.X
    top = tagger.predict(rows, asked_for(k, threshold), guess=guess)
    labels, scores = top.labels, top.scores
    silent: set[int] = set()
    if block.texts is not None and not guess:
        silent = set(np.flatnonzero((labels < 0).all(axis=1)).tolist()) - set(block.faults)
    if block.faults or threshold is not None:
        labels = tagger.cut(top, threshold).labels.copy()
        labels[list(block.faults)] = -1
        top = TopK(np.ascontiguousarray(labels[:, :k]), np.ascontiguousarray(scores[:, :k]), top.n_labels)
    return Answered(block, top, silent, tagger.probabilities(top))


def size_of(source: Path | BinaryIO) -> int | None:
    """Bytes of a regular file, so that time left can be told."""
    try:
        status = source.stat() if isinstance(source, Path) else os.fstat(source.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
