"""CSV, TSV and Parquet: a column of text and a column of labels.

The columns are `text` and `labels` (or `label`) unless told otherwise. A cell of `labels` holds names separated by `;`,
blanks around them ignored; a cell of `label` is one name as it stands. `label_separator` overrides both. A Parquet
column of lists needs no separator.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core import DataError, InputError, MissingExtraError, progress
from ..dataset import Dataset
from .files import decode, plain_name, reading, without_bom, writing
from .labelled import Collector
from .names import encode
from .options import Options
from .require import texts_of

_DELIMITER = {"csv": ",", "tsv": "\t"}


def read_csv(path: Path, options: Options) -> Dataset:
    """Rows of comma-separated values, quoted as RFC 4180 says, with a first row of column names."""
    return _read_delimited(path, options, ",")


def read_tsv(path: Path, options: Options) -> Dataset:
    """The same with tabs."""
    return _read_delimited(path, options, "\t")


def _read_delimited(path: Path, options: Options, delimiter: str) -> Dataset:
    with reading(path) as file:
        content = without_bom(file.read())
    records = _records(_decode_all(content, path), delimiter, path)
    first = next(records, None)
    if first is None:
        raise DataError("expected a first row of column names; the file is empty", path=path, line=1)
    header = first[1]
    text_column, label_column = _columns(header, options, path)
    text_at, label_at = header.index(text_column), None if label_column is None else header.index(label_column)
    cells = _Cells(label_column, options, path)
    collector = Collector(path, options.labels)
    with progress.step(f"reading {path.name}", unit="rows") as advance:
        for line, record in records:
            if len(record) != len(header):
                raise DataError(f"expected {len(header)} columns; got {len(record)}", path=path, line=line)
            labels = [] if label_at is None else cells.split(record[label_at])
            collector.add(record[text_at], labels, line)
            advance(1)
    cells.refuse_ambiguous()
    return collector.finish(Path(plain_name(path)).stem)


def _decode_all(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        begin = content.rfind(b"\n", 0, error.start) + 1
        return decode(content[begin : error.end], path, number)  # raises, naming line and position


def _records(content: str, delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every record. The csv module is not used: its limit on a field's length is a global setting,
    and it lets text behind a closing quote pass."""
    d = re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^{d}\r\n]*))({d}|\r?\n|\Z)')
    at, line, record = 0, 1, list[str]()
    begin = 0
    while at < len(content) or record:
        found = field.match(content, at)
        if found is None:
            where = line + content.count("\n", begin, at)
            opened = content[at] == '"'
            what = "a closing quote and then a separator" if opened else "a separator or the end of the line"
            raise DataError(f"expected {what} after {content[at : at + 40]!r}", path=path, line=where)
        quoted, plain, end = found.groups()
        record.append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end()
        if end == delimiter:
            continue
        if len(record) > 1 or record[0] or quoted is not None:  # else a blank line
            yield line, record
        line += content.count("\n", begin, at)
        begin, record = at, []


def _columns(header: Sequence[str], options: Options, path: Path) -> tuple[str, str | None]:
    """The names of the columns of texts and of labels; None for the latter if labels are not wanted."""

    def pick(wanted: str | None, usual: tuple[str, ...], option: str) -> str:
        there = [name for name in ((wanted,) if wanted is not None else usual) if name in header]
        if len(there) != 1 or list(header).count(there[0]) != 1:
            names = " or ".join(repr(name) for name in ((wanted,) if wanted is not None else usual))
            shown = ", ".join(repr(name) for name in header)[:200]
            raise DataError(
                f"expected one column named {names}; the columns are {shown}; say which with {option}", path=path
            )
        return there[0]

    text_column = pick(options.text_column, ("text",), "text_column")
    if options.unlabelled:
        return text_column, None
    return text_column, pick(options.label_column, ("labels", "label"), "label_column")


class _Cells:
    """Splits label cells, and remembers whether the usual separator was the right one."""

    def __init__(self, column: str | None, options: Options, path: Path) -> None:
        self._path = path
        self._told = options.label_separator is not None
        self._separator = options.label_separator or (None if column == "label" else ";")
        self._used = self._bars = False

    def split(self, cell: str) -> list[str]:
        if self._separator is None:
            return [cell] if cell else []
        if not self._told:
            self._used = self._used or ";" in cell
            self._bars = self._bars or "|" in cell
        return [name.strip() for name in cell.split(self._separator)] if cell.strip() else []

    def refuse_ambiguous(self) -> None:
        if self._bars and not self._used:
            raise DataError(
                "no label cell contains ';' but some contain '|'; say which separates labels with label_separator",
                path=self._path,
            )


def write_csv(dataset: Dataset, path: Path, options: Options) -> None:
    """A CSV file with columns text and labels."""
    _write_delimited(dataset, path, options, "csv")


def write_tsv(dataset: Dataset, path: Path, options: Options) -> None:
    """A TSV file with columns text and labels."""
    _write_delimited(dataset, path, options, "tsv")


def _write_delimited(dataset: Dataset, path: Path, options: Options, format: str) -> None:
    texts, names = texts_of(dataset, format)
    delimiter = _DELIMITER[format]
    separator = options.label_separator or ";"
    for name in names:
        if separator in name or name.strip() != name or not name:
            raise InputError(
                f"label {name!r} does not fit a cell separated by {separator!r}; give another label_separator"
            )

    def quote(cell: str) -> str:
        needed = not cell or any(c in cell for c in ('"', "\n", "\r", delimiter))
        return '"' + cell.replace('"', '""') + '"' if needed else cell

    header = [options.text_column or "text", options.label_column or "labels"]
    with writing(path) as out:
        out.write(encode(delimiter.join(quote(cell) for cell in header) + "\n", "the header"))
        for i, text in enumerate(texts):
            row = quote(text) + delimiter + quote(separator.join(dataset.labels_of(i)))
            out.write(encode(row + "\n", f"row {i}"))


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "columnar", what) from None
    return pyarrow


def read_parquet(path: Path, options: Options) -> Dataset:
    """A Parquet file: text as strings; labels as lists of strings, or as strings like a CSV's."""
    arrow = _pyarrow("reading Parquet files")
    with reading(path) as file:
        content = file.read()
    try:
        table = arrow.parquet.ParquetFile(io.BytesIO(content))
        header = list(table.schema_arrow.names)
    except Exception as error:  # ArrowInvalid, OSError, struct errors: damage has no one name here
        raise DataError(f"is not a Parquet file ({error})", path=path) from None
    text_column, label_column = _columns(header, options, path)
    try:
        wanted = [text_column] if label_column is None else [text_column, label_column]
        read = table.read(columns=wanted)
        texts, *rest = (read.column(name).to_pylist() for name in wanted)
        cells = rest[0] if rest else [[]] * len(texts)
    except Exception as error:
        raise DataError(f"cannot be read as Parquet ({error})", path=path) from None
    splitter = _Cells(label_column, options, path)
    collector = Collector(path, options.labels)
    for i, (text, cell) in enumerate(zip(texts, cells, strict=True)):
        labels = splitter.split(cell) if isinstance(cell, str) else cell
        if not isinstance(text, str) or not isinstance(labels, list):
            bad = text_column if not isinstance(text, str) else label_column
            raise DataError(
                f"row {i}: expected strings (or lists of strings) in column {bad!r}; got {cell!r:.60}", path=path
            )
        collector.add(text, labels, None, place=f"row {i}: ")
    splitter.refuse_ambiguous()
    return collector.finish(Path(plain_name(path)).stem)


def write_parquet(dataset: Dataset, path: Path, options: Options) -> None:
    """A Parquet file with a column of strings and a column of lists of strings."""
    arrow = _pyarrow("writing Parquet files")
    texts, _ = texts_of(dataset, "parquet")
    for i, text in enumerate(texts):
        encode(text, f"row {i}")
    columns = {
        options.text_column or "text": arrow.array(texts, arrow.large_string()),
        options.label_column or "labels": arrow.array(
            [dataset.labels_of(i) for i in range(len(texts))], arrow.large_list(arrow.large_string())
        ),
    }
    with writing(path) as out:
        arrow.parquet.write_table(arrow.table(columns), out)
