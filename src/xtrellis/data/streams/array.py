"""Rows of one JSON array as they come: an element is a row as soon as it is whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...core import DataError
from ..formats import jsonl
from ..formats.json_arrays import ArrayRows
from .chunks import Chunks

Take = Callable[[dict[str, Any], int], None]


def array_rows(found: Chunks, take: Take, fault: Callable[[DataError], None]) -> Iterator[None]:
    """Gives every row to `take`, or to `fault` what is none; yields whenever a chunk of the stream is done."""
    path, rows = Path(found.name), ArrayRows(Path(found.name))
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk = b"["
    while chunk:
        chunk = found.read()
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise DataError(f"expected UTF-8 text; byte 0x{error.object[error.start]:02x} is not", path=path) from None
        for number, value, escaped in rows.feed(text, last=not chunk):
            try:
                take(jsonl.as_row(value, path, number, escaped=escaped), number)
            except DataError as error:
                fault(error)
        yield
