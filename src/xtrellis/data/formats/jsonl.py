"""JSON lines of text and labels: `{"text": "…", "labels": ["a", "b"]}`, or `"label": "a"` for a single one.

One array of such objects is read as well. `labels` may also be one string, which is one name unless the file shows that
a separator is in it (tabular/separators.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ...core import DataError, progress, shown
from ..dataset import Dataset
from .files import decode, plain_name, reading, without_bom, writing
from .json_arrays import ArrayRows
from .labelled import Collector
from .names import encode
from .options import Options
from .require import require_bare, texts_of
from .tabular import Cells
from .tidy import BadRows, Tidy

_TOGETHER = 1 << 20  # bytes of an array that are looked at together


def read_jsonl(path: Path, options: Options) -> Dataset:
    """One object a line, or one array of them; blank lines are skipped, other fields ignored."""
    collector, bad = Collector(path, options.labels, options.texts_to), BadRows(options.skip_bad_rows)
    text_key, cells, cells_key = options.text_column or "text", None, ""
    size = path.stat().st_size if path.is_file() else None
    with (
        progress.step(f"reading {path.name}", total=size, unit="B") as advance,
        reading(path, advance, options.encoding) as file,
    ):
        for number, content in _contents(file, path):
            try:
                row = content() if callable(content) else parse_row(content, path, number)
                text = collector.tidy.text(row[text_key]) if text_key in row else None
                if type(text) is not str:
                    raise DataError(expected(text_key, "a string", row, "text_column"), path=path, line=number)
                if options.unlabelled:
                    collector.add(text, [], number)
                    continue
                key, labels = _labels(row, options.label_column, collector.tidy, path, number)
                if not isinstance(labels, str):
                    collector.add(text, labels, number)
                    continue
                if cells is None:  # the first of such rows tells whether there are several labels or one
                    cells, cells_key = Cells(key, options, path, usual=None), key
                names = cells.split(labels, number) if labels.strip() else [labels]
                collector.add(text, names, number, loose=cells.loose and key == cells_key)
            except DataError as error:
                bad.met(error)
    bad.tell(path.name)
    return collector.finish(Path(plain_name(path)).stem, None if cells is None else cells.settle)


def _contents(file: BinaryIO, path: Path) -> Iterator[tuple[int, Any]]:
    """(line, content) of every row: bytes that hold an object, or a function that gives the element of an array."""
    for number, line in enumerate(file, 1):
        if number == 1:
            line = without_bom(line)
        if line.isspace() or not line:
            continue
        if line.lstrip()[:1] == b"[":
            yield from _elements(file, line, path, number)
            return
        yield number, line
        break
    else:
        return
    for later, line in enumerate(file, number + 1):
        if line and not line.isspace():
            yield later, line


def _elements(file: BinaryIO, first: bytes, path: Path, number: int) -> Iterator[tuple[int, Any]]:
    for at, value, escaped in _parsed(file, first, path, number):
        yield at, partial(as_row, value, path, at, escaped=escaped)


def _parsed(file: BinaryIO, first: bytes, path: Path, number: int) -> Iterator[tuple[int, Any, bool]]:
    rows, line = ArrayRows(path, number), first
    pieces: list[str] = []
    size = 0
    while line:  # many lines at a time: an object that is not whole is looked at again
        pieces.append(decode(line, path, number))
        number, size, line = number + 1, size + len(line), file.readline()
        if size >= _TOGETHER:
            yield from rows.feed("".join(pieces))
            pieces, size = [], 0
    yield from rows.feed("".join(pieces), last=True)


def parse_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """The object in a line."""
    string = decode(line, path, number)
    try:
        row = json.loads(string)
    except json.JSONDecodeError as error:
        spread = "; JSON lines hold one object each (or one array holds them all)" if string.strip() == "{" else ""
        raise DataError(
            f"expected a JSON object; {error.msg} at column {error.colno}{spread}", path=path, line=number
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a JSON object of text and labels; {error}", path=path, line=number) from None
    # Only an escape can smuggle in half a surrogate pair, which is no text and has no UTF-8.
    return as_row(row, path, number, escaped="\\u" in string)


def as_row(value: Any, path: Path, number: int, *, escaped: bool = True) -> dict[str, Any]:
    """What was parsed, if it is an object of Unicode text."""
    if type(value) is not dict:
        raise DataError(f"expected a JSON object; got {shown(value)}", path=path, line=number)
    if escaped:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(
                "expected Unicode text; an escape is half of a surrogate pair", path=path, line=number
            ) from None
    return value


def _labels(row: dict[str, Any], key: str | None, tidy: Tidy, path: Path, number: int) -> tuple[str, list[str] | str]:
    """The key that labels go by, and what stands there: a list or a string."""
    if key is None:
        if "labels" in row and "label" in row:
            raise DataError("has both 'labels' and 'label'; say which with label_column", path=path, line=number)
        key = "label" if "label" in row else "labels"
    value = tidy.labels(row[key]) if key in row else None
    if type(value) is list or type(value) is str:
        return key, value
    raise DataError(expected(key, "a list of strings (or one string)", row, "label_column"), path=path, line=number)


def expected(key: str, what: str, row: dict[str, Any], option: str) -> str:
    """Words for a field that is not what it should be, and a hint where what is wanted may be."""
    if row.get(key) is not None:
        return f"expected {key!r} to be {what}; got {str(row[key])[:60]!r}"
    nested = next(
        (name for name, value in row.items() if isinstance(value, list) and value and type(value[0]) is dict), None
    )
    others = [name for name in row if name not in ("text", "labels", "label", "id")]
    hint = ""
    if nested is not None:
        hint = f"; the rows seem to be in {nested!r}: jq -c '.{nested}[]' FILE > NEW.jsonl takes them out"
    elif others:
        fields = ", ".join(repr(name) for name in row)[:200]
        hint = f"; the fields are {fields}: say which with {option}"
    return f"expected {key!r} to be {what}; it is missing{hint}"


def write_jsonl(dataset: Dataset, path: Path, options: Options) -> None:
    """One object a line."""
    texts, _ = texts_of(dataset, "jsonl")
    require_bare(dataset)
    text_key, label_key = options.text_column or "text", options.label_column or "labels"
    with writing(path) as out:
        for i, text in enumerate(texts):
            row = {text_key: text, label_key: dataset.labels_of(i)}
            out.write(encode(json.dumps(row, ensure_ascii=False) + "\n", f"row {i}"))
