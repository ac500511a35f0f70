"""Rows of a stream, block by block, to predict their labels: constant memory however long it is.

Texts come from JSON lines, CSV, TSV, Annif's TSV, fastText's or plain lines; features from XMC and svmlight text. What
must be read as a whole (npz, Parquet, split XMC data) is read by `read`, and then given out in blocks too. Labels are
not looked at.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ...arrays import Csr, take_rows
from ...core import DataError, InputError, ParameterError, choice
from ..formats import annif, fasttext, jsonl, rows, tables
from ..formats.files import decode, plain_name
from ..formats.io import _SUFFIXES, FORMATS, content_format, find_format, read
from ..formats.options import Options, make_options, refuse_foreign
from ..formats.tabular import delimiter_of
from ..formats.tidy import Tidy
from .array import array_rows
from .chunks import ROWS, Chunks, blocks_of_lines, chunks
from .objects import TOGETHER, parse_objects

STREAMED = ("jsonl", "csv", "tsv", "annif-tsv", "fasttext", "lines", "xmc", "svmlight")
STREAM_FORMATS = (*FORMATS, "lines")
ID = "id"  # a column of this name is passed through without being asked for
_UNCLOSED = re.compile(r'"[^"]*(?:""[^"]*)*\Z')
_LONGEST_RECORD = 64 << 20  # bytes of a quoted cell that does not end

Hungry = Callable[[], bool]


@dataclass
class RowBlock:
    """Consecutive rows: texts or features, the columns that are passed through, and what could not be read."""

    texts: list[str] | None = None
    X: Csr | None = None
    passed: list[dict[str, Any]] | None = None
    faults: dict[int, str] = field(default_factory=dict)
    """Rows of the block that could not be read, and why. They are there, without text or features."""

    def __len__(self) -> int:
        return len(self.texts) if self.texts is not None else 0 if self.X is None else int(self.X.shape[0])


def stream(
    source: str | Path | BinaryIO,
    *,
    format: str | None = None,
    keep: Sequence[str] = (),
    skip_bad_rows: bool = False,
    encoding: str = "utf-8",
    n_features: int | None = None,
    advance: Callable[[float], None] | None = None,
    hungry: Hungry = lambda: True,
    threads: int | None = None,
    **options: Any,
) -> Iterator[RowBlock]:
    """Blocks of rows from a file or an open binary stream; `options` are those of `read`.

    keep: columns of texts' rows that are passed through; a column `id` is anyway.
    skip_bad_rows: a row that cannot be read is kept as a fault; otherwise it raises DataError.
    n_features: columns of an svmlight file.
    advance: hears of the bytes taken from the source. hungry: tells if somebody waits for rows.
    """
    choice(*STREAM_FORMATS, or_none=True)("format", format)
    path = Path(source) if isinstance(source, (str, Path)) else None
    given = make_options(unlabelled=True, threads=threads, **options)
    if path is not None and path.is_dir():
        yield from _whole(path, format, threads, keep, options)
        return
    opened: Any = source if path is None else path
    with chunks(opened, encoding=encoding, advance=advance) as found:
        found.head()  # which also looks at the encoding
        kind = format or _format_of(path, found, given)
        if kind in STREAMED:
            refuse_foreign(given, kind)
            if kind in ("xmc", "svmlight"):
                if keep:
                    raise ParameterError(f"{kind} files have no columns to keep; got {', '.join(keep)}")
                yield from _features(found, kind, given, n_features, hungry, skip_bad_rows)
            else:
                reader = _READERS[kind](found, given, tuple(keep), skip_bad_rows)
                if isinstance(reader, _Jsonl) and found.head().lstrip().startswith(b"["):
                    yield from reader.array(found)
                    return
                line = 1
                for lines in blocks_of_lines(found, hungry):
                    block = reader.block(lines, line)
                    line += len(lines)
                    if len(block):
                        yield block
                block = reader.end(line)
                if len(block):
                    yield block
            return
        if path is None:
            raise InputError(f"{kind} data cannot be read from a pipe; write it to a file first")
    yield from _whole(path, kind, threads, keep, options)


def _format_of(path: Path | None, found: Chunks, options: Options) -> str:
    if path is not None:
        suffix = Path(plain_name(path)).suffix.lower()
        if suffix in (".csv", ".tsv"):
            told = suffix == ".csv" or options.header is not None
            return suffix[1:] if told else annif.tsv_format(found.head())
        if suffix in _SUFFIXES and suffix:
            return _SUFFIXES[suffix]
        if find_format_of_parts(path):
            return "xmc-split"
    elif not found.head():
        return "jsonl"  # a pipe in which nothing is: no rows, whatever they would have looked like
    return content_format(found.head(), found.name, options)


def find_format_of_parts(path: Path) -> bool:
    """True of one half of a split XMC set, which is only data with the other."""
    return plain_name(path).endswith(("_X_Xf.txt", "_X_Y.txt")) and find_format(path) == "xmc-split"


def _whole(
    path: Path, kind: str | None, threads: int | None, keep: Sequence[str], options: Mapping[str, Any]
) -> Iterator[RowBlock]:
    if keep:
        raise ParameterError("columns can be kept of jsonl, csv and tsv files only")
    if path.is_dir() and kind in (None, "annif-folder") and annif.is_corpus(path):
        for name, text in annif.documents(path):
            yield RowBlock(texts=[text], passed=[{ID: name}])
        return
    dataset = read(path, format=kind, unlabelled=True, threads=threads, **options)
    for begin in range(0, dataset.n_rows, ROWS):
        end = min(dataset.n_rows, begin + ROWS)
        if dataset.texts is not None:
            yield RowBlock(texts=dataset.texts[begin:end])
        else:
            yield RowBlock(X=take_rows(dataset.X, range(begin, end)))


class _Texts(ABC):
    """What readers of texts share: rows are added one by one."""

    def __init__(self, found: Chunks, options: Any, keep: tuple[str, ...], skip: bool) -> None:
        self.path, self.options, self.keep, self.skip = Path(found.name), options, keep, skip
        self._new()

    def _new(self) -> None:
        self.texts: list[str] = []
        self.passed: list[dict[str, Any]] = []
        self.faults: dict[int, str] = {}

    def add(self, text: str, passed: dict[str, Any] | None = None) -> None:
        self.texts.append(text)
        if passed is not None:
            self.passed.append(passed)

    def fault(self, error: DataError) -> None:
        if not self.skip:
            raise error
        self.faults[len(self.texts)] = str(error)
        self.add("", {})

    def taken(self) -> RowBlock:
        passed = self.passed if len(self.passed) == len(self.texts) else None
        block = RowBlock(texts=self.texts, passed=passed, faults=self.faults)
        self._new()
        return block

    def block(self, lines: list[bytes], line: int) -> RowBlock:
        self.each_row(lines, line)
        return self.taken()

    def each_row(self, lines: list[bytes], line: int) -> None:
        """Lines one by one, the first of which has the number `line`."""
        for number, content in enumerate(lines, line):
            try:
                self.row(content, number)
            except DataError as error:
                self.fault(error)

    def end(self, line: int) -> RowBlock:
        return self.taken()

    @abstractmethod
    def row(self, content: bytes, number: int) -> None:
        """One line of the file: a row, a part of one, or a DataError."""


class _Lines(_Texts):
    """Every line is a text; they have no columns."""

    def __init__(self, found: Chunks, options: Any, keep: tuple[str, ...], skip: bool) -> None:
        super().__init__(found, options, keep, skip)
        if keep:
            raise ParameterError(f"plain lines have no columns to keep; got {', '.join(keep)}")

    def block(self, lines: list[bytes], line: int) -> RowBlock:
        try:  # all at once: most often nothing is wrong
            whole = b"\n".join(lines).decode("utf-8")
        except UnicodeDecodeError:
            return super().block(lines, line)
        return RowBlock(texts=whole.split("\n"))

    def row(self, content: bytes, number: int) -> None:
        self.add(decode(content, self.path, number), {})


class _Annif(_Lines):
    """Annif's TSV: what stands before the tab."""

    def block(self, lines: list[bytes], line: int) -> RowBlock:
        kept = [line for line in lines if line and not line.isspace()]
        return super().block([content.split(b"\t", 1)[0] for content in kept], line)


class _Fasttext(_Lines):
    """What is left of a line without its labels."""

    def block(self, lines: list[bytes], line: int) -> RowBlock:
        return _Texts.block(self, lines, line)

    def row(self, content: bytes, number: int) -> None:
        if content and not content.isspace():
            self.add(fasttext.apart(decode(content, self.path, number))[0], {})


class _Jsonl(_Texts):
    """JSON objects; blank lines are no rows."""

    def __init__(self, found: Chunks, options: Any, keep: tuple[str, ...], skip: bool) -> None:
        super().__init__(found, options, keep, skip)
        self.tidy = Tidy()

    def end(self, line: int) -> RowBlock:
        self.tidy.tell(self.path.name)
        return super().end(line)

    def block(self, lines: list[bytes], line: int) -> RowBlock:
        for begin in range(0, len(lines), TOGETHER):
            some = lines[begin : begin + TOGETHER]
            found = parse_objects(some)
            if found is None or not self._take_all(found):
                self.each_row(some, line + begin)
        return self.taken()

    def row(self, content: bytes, number: int) -> None:
        if not content or content.isspace():
            return
        self.take(jsonl.parse_row(content, self.path, number), number)

    def _take_all(self, found: list[dict[str, Any]]) -> bool:
        """Objects of which each has a text; False, and none is taken, if one has not."""
        key = self.options.text_column or "text"
        texts: list[Any] = [row.get(key) for row in found]
        if not set(map(type, texts)) <= {str}:
            return False
        self.texts += texts
        if self.keep or key == ID:
            self.passed += [self._passed(row, key) for row in found]
        else:
            self.passed += [{ID: row[ID]} if ID in row else {} for row in found]
        return True

    def _passed(self, found: dict[str, Any], key: str) -> dict[str, Any]:
        passed = {ID: found[ID]} if ID in found and key != ID else {}
        for name in self.keep:
            passed[name] = found.get(name)
        return passed

    def array(self, found: Chunks) -> Iterator[RowBlock]:
        """Rows that are elements of one array."""
        for _ in array_rows(found, self.take, self.fault):
            if self.texts:
                yield self.taken()
        self.end(0)

    def take(self, found: dict[str, Any], number: int) -> None:
        """One object."""
        key = self.options.text_column or "text"
        text = self.tidy.text(found[key]) if key in found else None
        if type(text) is not str:
            raise DataError(jsonl.expected(key, "a string", found, "text_column"), path=self.path, line=number)
        self.add(text, self._passed(found, key))


class _Delimited(_Texts):
    """CSV and TSV; a record whose quoted cell goes on in the next line waits for it."""

    delimiter = ","

    def __init__(self, found: Chunks, options: Any, keep: tuple[str, ...], skip: bool) -> None:
        super().__init__(found, options, keep, skip)
        self._plain = options.quotes is False
        first = found.head().decode("utf-8", "replace")
        self.delimiter, begin = delimiter_of(first, options, self.delimiter, self.path)
        self._named = begin > 0  # by the first line, which is no row
        self._header: list[str] | None = None
        self._wanted: list[tuple[str, int]] = []
        self._text_at = 0
        self._open: list[str] = []  # lines of a record that has not ended
        self._size = self._begun = 0
        d = re.escape(self.delimiter)
        self._fields = re.compile(rf'(?:(?:"[^"]*(?:""[^"]*)*"|(?!")[^{d}]*){d})*')

    def row(self, content: bytes, number: int) -> None:
        if number == 1 and self._named:
            return
        line = decode(content, self.path, number)
        if self._plain or ('"' not in line and not self._open):
            if line:
                self._record(line.split(self.delimiter), number)
            return
        if not self._open:
            self._begun, self._size = number, 0
        self._open.append(line)
        self._size += len(line)
        # Within a quoted cell only an odd number of quotes can end it: others need no look at what came before.
        if len(self._open) > 1 and line.count('"') % 2 == 0:
            if self._size > _LONGEST_RECORD:
                self._give_up()
            return
        whole = "\n".join(self._open)
        found = self._fields.match(whole)
        if _UNCLOSED.match(whole, found.end() if found else 0):
            return
        self._open = []
        for _, record in tables.records_of(whole, self.delimiter, self.path):
            self._record(record, self._begun)

    def end(self, line: int) -> RowBlock:
        if self._open:  # all rows since then went into that cell: no single bad row that could be skipped
            self._give_up()
        if self._header is None and not self.faults:
            raise DataError("expected a first row of column names; the file is empty", path=self.path, line=1)
        return self.taken()

    def _give_up(self) -> None:
        opened, self._open = self._open[0], []
        raise DataError(
            f"expected a closing quote after {opened[:40]!r}; all lines after it belong to that cell: close it, or say "
            "quotes=no if quotes are characters like others",
            path=self.path,
            line=self._begun,
        )

    def _record(self, record: list[str], number: int) -> None:
        if self._header is None:
            self._header = tables.header_of(record, self.options)
            text, _ = tables.columns_of(self._header, self.options, self.path)
            self._text_at = self._header.index(text)
            for name in self.keep:
                if name not in self._header:
                    shown = ", ".join(map(repr, self._header))[:200]
                    raise ParameterError(f"{self.path} has no column {name!r} to keep; the columns are {shown}")
            also = [ID] if ID in self._header and ID not in (text, *self.keep) else []
            self._wanted = [(name, self._header.index(name)) for name in (*also, *self.keep)]
            if self.options.header is not False:
                return
        if len(record) != len(self._header):
            raise DataError(f"expected {len(self._header)} columns; got {len(record)}", path=self.path, line=number)
        self.add(record[self._text_at], {name: record[at] for name, at in self._wanted})


class _Tabbed(_Delimited):
    delimiter = "\t"


_READERS: dict[str, type[_Texts]] = {
    "jsonl": _Jsonl,
    "csv": _Delimited,
    "tsv": _Tabbed,
    "annif-tsv": _Annif,
    "fasttext": _Fasttext,
    "lines": _Lines,
}


def _features(
    found: Chunks, kind: str, options: Any, n_features: int | None, hungry: Hungry, skip: bool
) -> Iterator[RowBlock]:
    """Rows of XMC text (which begins with its counts) or svmlight."""
    path, line, wanted, seen = Path(found.name), 1, None, 0
    if kind == "svmlight":
        if options.index_base is None:
            raise DataError(
                "svmlight files do not say whether features count from 0 or from 1; give --read index_base=0 or 1",
                path=path,
            )
        layout = rows.Layout(
            comments=True, n_features=options.n_features or n_features, base=options.index_base, source="the model"
        )
    for lines in blocks_of_lines(found, hungry):
        if kind == "xmc" and line == 1:
            counts = lines.pop(0).split()
            line = 2
            if len(counts) != 3 or not all(word.isdigit() and len(word) < 10 for word in counts):
                raise DataError("expected a first line of 3 counts: rows features labels", path=path, line=1)
            wanted = int(counts[0])
            layout = rows.Layout(n_labels=int(counts[2]), n_features=int(counts[1]))
        if not lines:
            continue
        block = _parsed(lines, path, layout, line, options.threads, skip)
        seen, line = seen + len(block), line + len(lines)
        yield block
    if wanted is not None and seen != wanted:
        raise DataError(f"expected {wanted} rows, as the header says; the file has {seen}", path=path)


def _parsed(
    lines: list[bytes], path: Path, layout: rows.Layout, line: int, threads: int | None, skip: bool
) -> RowBlock:
    try:
        content = io.BytesIO(b"\n".join(lines) + b"\n")
        return RowBlock(X=rows.parse(content, path, layout, first_line=line, threads=threads).X)
    except DataError:
        if not skip:
            raise
    faults: dict[int, str] = {}
    for at, content_of_line in enumerate(lines):
        try:
            rows.parse(io.BytesIO(content_of_line + b"\n"), path, layout, first_line=line + at, threads=1)
        except DataError as error:
            faults[at], lines[at] = str(error), b""
    return RowBlock(X=rows.parse(io.BytesIO(b"\n".join(lines) + b"\n"), path, layout, first_line=line).X, faults=faults)
