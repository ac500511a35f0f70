"""JSON lines of text and labels: `{"text": "…", "labels": ["a", "b"]}`, or `"label": "a"` for a single one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...core import DataError, progress
from ..dataset import Dataset
from .files import decode, plain_name, reading, without_bom, writing
from .labelled import Collector
from .names import encode
from .options import Options
from .require import require_bare, texts_of
from .tidy import Tidy


def read_jsonl(path: Path, options: Options) -> Dataset:
    """One object a line; blank lines are skipped, other fields ignored."""
    collector = Collector(path, options.labels)
    text_key, label_key = options.text_column or "text", options.label_column
    size = path.stat().st_size if path.is_file() else None
    with progress.step(f"reading {path.name}", total=size, unit="B") as advance, reading(path, advance) as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = without_bom(line)
            if line.isspace() or not line:
                continue
            row = parse_row(line, path, number)
            text = collector.tidy.text(row[text_key]) if text_key in row else None
            if type(text) is not str:
                raise DataError(_expected(text_key, "a string", text), path=path, line=number)
            labels = [] if options.unlabelled else _labels(row, label_key, collector.tidy, path, number)
            collector.add(text, labels, number)
    return collector.finish(Path(plain_name(path)).stem)


def parse_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """The object in a line."""
    string = decode(line, path, number)
    try:
        row = json.loads(string)
    except json.JSONDecodeError as error:
        raise DataError(
            f"expected a JSON object; {error.msg} at column {error.colno}", path=path, line=number
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a JSON object of text and labels; {error}", path=path, line=number) from None
    if type(row) is not dict:
        raise DataError(f"expected a JSON object; got {string.strip()[:60]!r}", path=path, line=number)
    if "\\u" in string:  # only an escape can smuggle in half a surrogate pair, which is no text and has no UTF-8
        try:
            json.dumps(row, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(
                "expected Unicode text; an escape is half of a surrogate pair", path=path, line=number
            ) from None
    return row


def _labels(row: dict[str, Any], key: str | None, tidy: Tidy, path: Path, number: int) -> list[str]:
    if key is None:
        if "labels" in row and "label" in row:
            raise DataError("has both 'labels' and 'label'; say which with label_column", path=path, line=number)
        key = "label" if "label" in row else "labels"
    value = tidy.labels(row[key]) if key in row else None
    if type(value) is list:
        return value
    if type(value) is str:
        return [value]
    raise DataError(_expected(key, "a list of strings (or one string)", value), path=path, line=number)


def _expected(key: str, what: str, got: Any) -> str:
    return f"expected {key!r} to be {what}; " + ("it is missing" if got is None else f"got {str(got)[:60]!r}")


def write_jsonl(dataset: Dataset, path: Path, options: Options) -> None:
    """One object a line."""
    texts, _ = texts_of(dataset, "jsonl")
    require_bare(dataset)
    text_key, label_key = options.text_column or "text", options.label_column or "labels"
    with writing(path) as out:
        for i, text in enumerate(texts):
            row = {text_key: text, label_key: dataset.labels_of(i)}
            out.write(encode(json.dumps(row, ensure_ascii=False) + "\n", f"row {i}"))
