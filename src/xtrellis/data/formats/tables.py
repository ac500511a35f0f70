"""CSV, TSV and Parquet: a column of text and a column of labels.

The columns are `text` and `labels` (or `label`) unless told otherwise. A cell of `labels` holds names separated by `;`,
blanks around them ignored; a cell of `label` is one name as it stands; a list as Python writes it, ['one', 'two'], is
taken as one in both. `label_separator` overrides all that. A Parquet column of lists needs no separator.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import unfolds_too_far
from ...core import DataError, InputError, MissingExtraError, ParameterError, progress, shown
from ..dataset import Dataset
from .files import decode, plain_name, reading, without_bom, writing
from .labelled import Collector
from .names import encode, keep_bom
from .options import Options
from .require import require_bare, texts_of, used_names
from .tabular import ONE, SEVERAL, Cells, bare_name, delimiter_of, judge, looks_like_list
from .tidy import BadRows

_DELIMITER = {"csv": ",", "tsv": "\t"}
_ROW = 100  # bytes that a row takes at least, once it is Python's


def read_csv(path: Path, options: Options) -> Dataset:
    """Rows of comma-separated values, quoted as RFC 4180 says, with a first row of column names."""
    return _read_delimited(path, options, ",")


def read_tsv(path: Path, options: Options) -> Dataset:
    """The same with tabs."""
    return _read_delimited(path, options, "\t")


def _read_delimited(path: Path, options: Options, delimiter: str) -> Dataset:
    with reading(path, encoding=options.encoding) as file:
        content = without_bom(file.read())
    bad = BadRows(options.skip_bad_rows)
    whole = _decode_all(content, path, bad)
    delimiter, begin = delimiter_of(whole, options, delimiter, path)
    if options.quotes is not False:
        records = records_of(whole, delimiter, path, bad, begin)
    else:
        records = _unquoted(whole, delimiter, begin)
    first = next(records, None)
    if first is None:
        raise DataError("expected a first row of column names; the file is empty", path=path, line=1)
    header = header_of(first[1], options)
    if options.header is False:
        records = chain([first], records)
    text_column, label_column = columns_of(header, options, path)
    text_at, label_at = header.index(text_column), None if label_column is None else header.index(label_column)
    cells = Cells(label_column, options, path)
    collector = Collector(path, options.labels, options.texts_to)
    with progress.step(f"reading {path.name}", unit="rows") as advance:
        for line, record in records:
            try:
                if len(record) != len(header):
                    raise DataError(f"expected {len(header)} columns; got {len(record)}", path=path, line=line)
                labels = [] if label_at is None else cells.split(record[label_at], line)
                collector.add(record[text_at], labels, line, loose=cells.loose)
            except DataError as error:
                bad.met(error)
            advance(1)
    bad.tell(path.name)
    return collector.finish(Path(plain_name(path)).stem, cells.settle)


def _decode_all(content: bytes, path: Path, bad: BadRows) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    lines = content.split(b"\n")
    for i, line in enumerate(lines):
        try:
            decode(line, path, i + 1)
        except DataError as error:  # which names line and position
            bad.met(error)
            lines[i] = b""
    return b"\n".join(lines).decode("utf-8")


def records_of(
    content: str, delimiter: str, path: Path, bad: BadRows | None = None, begin: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every record. The csv module is not used: its limit on a field's length is a global setting,
    and it lets text behind a closing quote pass. Where `bad` allows it, reading goes on behind a line that is wrong."""
    d = re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^{d}\r\n]*))({d}|\r?\n|\Z)')
    at, line, record = begin, 1 + content.count("\n", 0, begin), list[str]()
    while at < len(content) or record:
        found = field.match(content, at)
        if found is None:
            where = line + content.count("\n", begin, at)
            opened = content[at] == '"'
            what = "a closing quote and then a separator" if opened else "a separator or the end of the line"
            cure = "; say quotes=no if quotes are characters like others" if opened else ""
            error = DataError(f"expected {what} after {content[at : at + 40]!r}{cure}", path=path, line=where)
            if bad is None:
                raise error
            bad.met(error)
            after = content.find("\n", at) + 1 or len(content)
            line += content.count("\n", begin, after)
            at, begin, record = after, after, []
            continue
        quoted, plain, end = found.groups()
        record.append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end()
        if end == delimiter:
            continue
        if len(record) > 1 or record[0] or quoted is not None:  # else a blank line
            yield line, record
        line += content.count("\n", begin, at)
        begin, record = at, []


def _unquoted(content: str, delimiter: str, begin: int) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) where quotes are characters like others, and a record is a line."""
    for number, line in enumerate(content[begin:].split("\n"), 1 + content.count("\n", 0, begin)):
        if line.removesuffix("\r"):
            yield number, line.removesuffix("\r").split(delimiter)


def header_of(first: list[str], options: Options) -> list[str]:
    """The names of the columns: the first record's, or numbers from 1 where that is data already."""
    return first if options.header is not False else [str(i) for i in range(1, len(first) + 1)]


def columns_of(header: Sequence[str], options: Options, path: Path) -> tuple[str, str | None]:
    """The names of the columns of texts and of labels; None for the latter if labels are not wanted."""

    def pick(wanted: str | None, usual: tuple[str, ...], option: str, taken: str | None = None) -> str:
        if wanted is not None and wanted not in header and wanted.isdigit() and 1 <= int(wanted) <= len(header):
            wanted = header[int(wanted) - 1]
        asked = (wanted,) if wanted is not None else usual
        there = [name for name in asked if name in header and name != taken]
        if not there:  # ` Labels` is meant as well
            there = [name for name in header if bare_name(name) in map(bare_name, asked) and name != taken]
        if len(there) != 1 or list(header).count(there[0]) != 1:
            names = " or ".join(f"{name!r:.80}" for name in ((wanted,) if wanted is not None else usual))
            shown = ", ".join(repr(name) for name in header)[:200]
            raise DataError(
                f"expected one column named {names}; the columns are {shown}; say which with {option}", path=path
            )
        return there[0]

    numbered = options.header is False
    text_column = pick(options.text_column, ("1",) if numbered else ("text",), "text_column")
    if options.unlabelled:
        return text_column, None
    usual = ("2",) if numbered else ("labels", "label")
    return text_column, pick(options.label_column, usual, "label_column", text_column)


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
    text_column, label_column = _label_column(dataset, *_header(options), options)

    def quote(cell: str) -> str:
        needed = not cell or any(c in cell for c in ('"', "\n", "\r", delimiter))
        return '"' + cell.replace('"', '""') + '"' if needed else cell

    with writing(path) as out:
        header = quote(text_column) + delimiter + quote(label_column)
        out.write(keep_bom(encode(header + "\n", "the header")))
        for i, text in enumerate(texts):
            labels = dataset.labels_of(i)
            cell = separator.join(labels)
            # A separator of several characters may also arise where two names meet.
            if len(separator) > 1 and labels and [name.strip() for name in cell.split(separator)] != labels:
                raise InputError(f"row {i}: its labels do not fit a cell separated by {separator!r}: {shown(labels)}")
            if options.label_separator is None and looks_like_list(cell):
                raise InputError(f"row {i}: its labels would be read as a list: {shown(cell)}; give a label_separator")
            out.write(encode(quote(text) + delimiter + quote(cell) + "\n", f"row {i}"))


def _header(options: Options) -> tuple[str, str]:
    """The names of both columns as they will be written."""
    text = "text" if options.text_column is None else options.text_column
    labels = "labels" if options.label_column is None else options.label_column
    if text == labels:
        raise ParameterError(f"texts and labels need columns of different names; both are {text!r}")
    return text, labels


def _label_column(dataset: Dataset, text: str, labels: str, options: Options) -> tuple[str, str]:
    """The names of both columns, such that a reader who is not told the separator splits cells rightly."""
    if options.label_separator is not None:
        return text, labels
    several = int(np.diff(dataset.Y.indptr).max(initial=0)) > 1
    if several and labels == "label":
        raise InputError("a column named 'label' holds one name in each row; give label_separator, or another column")
    counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels).tolist()
    names = {name: count for name, count in zip(dataset.label_names or [], counts, strict=True) if count}
    if several:
        unclear = [sign for sign in "|," if judge(names, sign) == SEVERAL]
    else:  # no semicolon in sight: what separates?
        unclear = ["|"] if any("|" in name for name in names) else [] if judge(names, ",") == ONE else [","]
        if labels == "label" or not any("|" in name or "," in name for name in names):
            return text, labels
        if options.label_column is None and text != "label":
            return text, "label"  # a column in which nothing separates
    if unclear:
        raise InputError(
            f"labels contain {unclear[0]!r}, and a reader cannot see that it does not separate them; "
            "give label_separator"
        )
    return text, labels


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
    if unfolds_too_far(len(content), _ROW * table.metadata.num_rows):
        raise DataError(f"announces {table.metadata.num_rows} rows in {len(content)} bytes", path=path)
    text_column, label_column = columns_of(header, options, path)
    try:
        wanted = [text_column] if label_column is None else [text_column, label_column]
        read = table.read(columns=wanted)
        texts, *rest = (read.column(name).to_pylist() for name in wanted)
        cells = rest[0] if rest else [[]] * len(texts)
    except Exception as error:
        raise DataError(f"cannot be read as Parquet ({error})", path=path) from None
    splitter = Cells(label_column, options, path)
    collector = Collector(path, options.labels, options.texts_to)
    bad = BadRows(options.skip_bad_rows)
    for i, (text, cell) in enumerate(zip(texts, cells, strict=True)):
        try:
            text = collector.tidy.text(text)
            labels = splitter.split(cell) if isinstance(cell, str) else collector.tidy.labels(cell)
            if not isinstance(text, str) or not isinstance(labels, list):
                wrong = text_column if not isinstance(text, str) else label_column
                raise DataError(
                    f"row {i}: expected strings (or lists of strings) in column {wrong!r}; got {cell!r:.60}", path=path
                )
            collector.add(text, labels, None, place=f"row {i}: ", loose=isinstance(cell, str) and splitter.loose)
        except DataError as error:
            bad.met(error)
    bad.tell(path.name)
    return collector.finish(Path(plain_name(path)).stem, splitter.settle)


def write_parquet(dataset: Dataset, path: Path, options: Options) -> None:
    """A Parquet file with a column of strings and a column of lists of strings."""
    arrow = _pyarrow("writing Parquet files")
    texts, _ = texts_of(dataset, "parquet")
    require_bare(dataset)
    for i, text in enumerate(texts):
        encode(text, f"row {i}")
    for name in used_names(dataset):
        if not encode(name, f"label {name!r}"):
            raise InputError("a label must have a name; one is empty")
    text_column, label_column = _header(options)
    encode(text_column + label_column, "the header")
    columns = {
        text_column: arrow.array(texts, arrow.large_string()),
        label_column: arrow.array(
            [dataset.labels_of(i) for i in range(len(texts))], arrow.large_list(arrow.large_string())
        ),
    }
    with writing(path) as out:
        arrow.parquet.write_table(arrow.table(columns), out)
