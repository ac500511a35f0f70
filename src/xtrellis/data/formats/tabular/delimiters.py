"""What separates the columns of a table: a comma in CSV and a tab in TSV, unless the first row says otherwise.

Spreadsheets write what the country is used to: `;` where a comma is a decimal point, tabs in "Unicode text". Some begin
the file with a line `sep=;`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ....core import DataError, progress
from ..options import Options

DELIMITERS = (",", ";", "\t", "|")
_SEP = re.compile(r"sep=(.)\r?(?:\n|\Z)", re.IGNORECASE)
_SHOWN = {"\t": "tabs", ";": "';'", ",": "','", "|": "'|'"}


def delimiter_of(content: str, options: Options, usual: str, path: Path) -> tuple[str, int]:
    """The delimiter, and where the first row begins. `content` need not be all of the file, but its first row."""
    if "\n" not in content and "\r" in content.rstrip("\r"):
        raise DataError(
            "lines end in carriage returns alone, as old Mac programs write them; write newlines: "
            "tr '\\r' '\\n' < FILE > NEW",
            path=path,
        )
    said = _SEP.match(content)
    begin = said.end() if said else 0
    if options.delimiter is not None:
        return options.delimiter, begin
    if said:
        return said[1], begin
    first = content.split("\n", 1)[0].rstrip("\r")
    if fits(first, usual, options):
        return usual, begin
    for delimiter in DELIMITERS:
        if delimiter != usual and fits(first, delimiter, options):
            progress.note(f"{path.name}: columns are separated by {_SHOWN[delimiter]}")
            return delimiter, begin
    if len(cut(first, usual)) == 1:  # the error that follows shall at least name the columns
        return max(DELIMITERS, key=lambda delimiter: (len(cut(first, delimiter)), delimiter == usual)), begin
    return usual, begin


def fits(first: str, delimiter: str, options: Options) -> bool:
    """True if the first row, cut at the delimiter, has the columns that are asked for."""
    names = [bare_name(name) for name in cut(first, delimiter)]
    wanted: list[Sequence[str]] = [[options.text_column] if options.text_column is not None else ["text"]]
    if not options.unlabelled:
        wanted.append([options.label_column] if options.label_column is not None else ["labels", "label"])
    if options.header is False:
        return len(names) > 1
    return all(
        any(
            bare_name(name) in names or (name.isdigit() and 1 <= int(name) <= len(names) and len(names) > 1)
            for name in some
        )
        for some in wanted
    )


def bare_name(name: str) -> str:
    """A column's name as it is compared: `Text` and ` text` are the same."""
    return name.strip().casefold()


def cut(first: str, delimiter: str) -> list[str]:
    """The cells of a row without a quoted line break, roughly: good enough for names of columns."""
    d = re.escape(delimiter)
    cells = re.findall(rf'(?:^|{d})(?:"((?:[^"]|"")*)"|([^{d}]*))', first)
    return [quoted.replace('""', '"') or plain for quoted, plain in cells]
