"""Sparse rows of text, in parallel: a stream is read in windows, cut at newlines, parsed by threads, and joined."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from ..._native import data as native
from ...arrays import MAX_ID, Array, Csr, as_features, assemble
from ...core import DataError, progress, run, spans, thread_count

_PIECE = 2 << 20  # bytes a task parses: long enough to hide the call, short enough to stay in the cache
_PIECES = 4  # for each thread at a time: the last ones to finish leave little idle time


@dataclass(frozen=True)
class Layout:
    """How a line is written; the counterpart of `RowLayout` in native/data/rows.hpp."""

    labelled: bool = True
    comments: bool = False
    n_labels: int | None = None
    n_features: int | None = None
    base: int = 0
    label: str = "label"
    feature: str = "feature"
    source: str = "the header"


@dataclass(frozen=True)
class Parsed:
    """All rows of a file. Columns that the layout leaves open are as many as the largest index needs."""

    Y: Csr
    X: Csr
    duplicate_labels: int


def parse(
    file: BinaryIO,
    path: Path,
    layout: Layout,
    *,
    first_line: int = 1,
    n_rows: int | None = None,
    threads: int | None = None,
) -> Parsed:
    """Every remaining line of `file` as a row; `first_line` is the number of the first of them, for messages."""
    parts: list[tuple[Array, ...]] = []
    repeated = 0
    for arrays, duplicates in parse_pieces(file, path, layout, first_line=first_line, n_rows=n_rows, threads=threads):
        parts.append(arrays)
        repeated += duplicates
    return join_pieces(parts, layout, repeated)


def parse_pieces(
    file: BinaryIO,
    path: Path,
    layout: Layout,
    *,
    first_line: int = 1,
    n_rows: int | None = None,
    threads: int | None = None,
) -> Iterator[tuple[tuple[Array, ...], int]]:
    """`parse` piece by piece: arrays that `join_pieces` takes, and how many labels a piece names twice."""
    rows, line = 0, first_line
    n_labels = MAX_ID if layout.n_labels is None else layout.n_labels
    n_features = MAX_ID - layout.base if layout.n_features is None else layout.n_features

    def task(piece: Array) -> tuple[tuple[Array, ...], int, int, int, int, int]:
        *arrays, lines, duplicates, fault, where, number = native.parse_rows(
            piece, layout.labelled, layout.comments, n_labels, n_features, layout.base
        )
        return tuple(arrays), lines, duplicates, fault, where, number  # type: ignore[arg-type]

    count = thread_count(threads)
    for pieces in _windows(file, count):
        for piece, outcome in zip(pieces, run(task, pieces, threads=count), strict=True):
            arrays, lines, duplicates, fault, where, number = outcome
            rows += len(arrays[0]) - 1
            if n_rows is not None and rows + bool(fault) > n_rows:
                raise DataError(
                    f"expected the end of the file after {n_rows} rows, as the header says; there is more",
                    path=path,
                    line=first_line + n_rows,
                )
            line += lines
            if fault:
                raise DataError(_explain(fault, piece, where, number, layout), path=path, line=line)
            yield arrays, duplicates
    if n_rows is not None and rows != n_rows:
        raise DataError(f"expected {n_rows} rows, as the header says; the file ends after {rows}", path=path)


def join_pieces(parts: list[tuple[Array, ...]], layout: Layout, repeated: int = 0) -> Parsed:
    """Pieces one below the other."""
    label_offsets, labels, offsets, features, values = ([part[i] for part in parts] for i in range(5))
    Y = _join(label_offsets, labels, None, layout.n_labels)
    return Parsed(Y, _join(offsets, features, values, layout.n_features), repeated)


def note_duplicates(parsed: Parsed, path: Path) -> None:
    """A label named twice in a row is one label; nothing is lost, but somebody may want to know."""
    if parsed.duplicate_labels:
        progress.note(f"{path.name}: {parsed.duplicate_labels} labels occur twice in their row and were counted once")


def _join(offsets: list[Array], ids: list[Array], values: list[Array] | None, columns: int | None) -> Csr:
    starts = np.cumsum([0, *(int(o[-1]) for o in offsets)])
    indptr = np.concatenate([np.zeros(1, np.int64), *(o[1:] + s for o, s in zip(offsets, starts, strict=False))])
    indices = np.concatenate([np.zeros(0, np.int32), *ids])
    data = np.ones(len(indices), np.float32) if values is None else np.concatenate([np.zeros(0, np.float32), *values])
    width = columns if columns is not None else int(indices.max()) + 1 if len(indices) else 0
    return assemble(data, indices, indptr, (len(indptr) - 1, width))


def _windows(file: BinaryIO, threads: int) -> Iterator[list[Array]]:
    """The rest of the file, some pieces at a time; every piece ends with a newline (one is added at the very end)."""
    size = _PIECE * _PIECES * threads
    tail = b""
    while True:
        block = file.read(max(size, len(tail)))  # growing, so that one enormous line is not copied over and over
        if not block:
            break
        block = tail + block
        cut = block.rfind(b"\n") + 1
        tail = block[cut:]
        if cut:
            yield _cut(block, cut, _PIECES * threads)
    if tail:
        yield _cut(tail + b"\n", len(tail) + 1, 1)


def _cut(block: bytes, end: int, parts: int) -> list[Array]:
    whole = np.frombuffer(block, np.uint8)
    edges = [0]
    for _, target in spans(end, parts, at_least=1 << 16)[:-1]:
        edges.append(max(edges[-1], block.find(b"\n", target, end) + 1))
    edges.append(end)
    return [whole[a:b] for a, b in itertools.pairwise(edges) if a < b]


def _explain(fault: int, piece: Array, where: int, number: int, layout: Layout) -> str:
    """Words for a `Fault` of native/data/rows.hpp: what was expected, and what is there."""
    rest = piece[where : where + 60].tobytes()
    token = rest.split(b"\n")[0].split(b" ")[0].split(b"\t")[0].decode("utf-8", "backslashreplace")
    found = f"got {token!r}" if token.strip() else "got the end of the line"
    label, feature = layout.label, layout.feature
    if fault == 1:
        return f"expected {label} numbers (0 or larger) separated by commas, or {feature}:value; {found}"
    if fault == 2:
        return f"{label} {number} is out of range; {_range(layout.n_labels, 0, layout)}"
    if fault == 3:
        return f"expected {feature}:value with a number of at least {layout.base} before the colon; {found}"
    if fault == 4:
        return f"{feature} {number} is out of range; {_range(layout.n_features, layout.base, layout)}"
    if fault == 5:
        return f"expected a finite number as the value of {feature} {number}; {found}"
    if fault == 6:
        return f"the value of {feature} {number} does not fit float32; {found}"
    if fault == 7:
        return f"{feature} {number} occurs twice in this row; expected each at most once"
    return "expected a newline at the end"


def _range(count: int | None, base: int, layout: Layout) -> str:
    if count is None:
        return f"numbers run from {base} to {MAX_ID - 1}"
    if count == 0:
        return f"by {layout.source} there are none"
    return f"by {layout.source} they run from {base} to {base + count - 1}"


def emit(out: IO[bytes], Y: Any, X: Any, *, labelled: bool = True, base: int = 0) -> None:
    """Write rows; values in the shortest form that reads back as the same float32."""
    n = int(Y.shape[0])
    Y, X = as_features(Y, name="Y"), as_features(X)  # kernels count in int64
    for begin in range(0, n, 4096):
        out.write(
            native.format_rows(
                Y.indptr, Y.indices, Y.data, X.indptr, X.indices, X.data, labelled, base, begin, min(n, begin + 4096)
            )
        )
