"""What a caller may say about a file, and which formats each of these things concerns."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from ...arrays import MAX_ID, StringTable
from ...core import Check, ParameterError, choice, flag, integer, shown, text


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `read` and `write`; None means "not said"."""

    part: str | None = None
    labels: StringTable | None = None
    index_base: int | None = None
    n_features: int | None = None
    n_labels: int | None = None
    text_column: str | None = None
    label_column: str | None = None
    label_separator: str | None = None
    header: bool | None = None
    quotes: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    skip_bad_rows: bool | None = None
    unlabelled: bool | None = None
    threads: int | None = None
    texts_to: Any = None  # takes the texts (`append`, `len`) instead of a list, where they would not fit


_CHECKS: dict[str, Check] = {
    "part": choice("train", "test", or_none=True),
    "index_base": integer(at_least=0, at_most=1, or_none=True),
    "n_features": integer(at_least=0, at_most=MAX_ID, or_none=True),
    "n_labels": integer(at_least=0, at_most=MAX_ID, or_none=True),
    "text_column": text(or_none=True),
    "label_column": text(or_none=True),
    "label_separator": text(or_none=True),
    "header": flag(or_none=True),
    "quotes": flag(or_none=True),
    "delimiter": text(or_none=True),
    "encoding": text(or_none=True),
    "skip_bad_rows": flag(or_none=True),
    "unlabelled": flag(or_none=True),
    "threads": integer(at_least=1, or_none=True),
}

# Options not listed here concern every format.
_ONLY_FOR = {
    "index_base": ("svmlight",),
    "n_features": ("svmlight",),
    "n_labels": ("svmlight",),
    "text_column": ("jsonl", "csv", "tsv", "parquet"),
    "label_column": ("jsonl", "csv", "tsv", "parquet"),
    "label_separator": ("jsonl", "csv", "tsv", "parquet"),
    "header": ("csv", "tsv"),
    "quotes": ("csv", "tsv"),
    "delimiter": ("csv", "tsv"),
    "encoding": ("jsonl", "csv", "tsv", "annif-tsv", "annif-folder", "fasttext"),
    "skip_bad_rows": ("jsonl", "csv", "tsv", "parquet", "annif-tsv", "annif-folder", "fasttext"),
}
_DELIMITERS = {"tab": "\t", "\\t": "\t"}  # as people type them


def make_options(**given: Any) -> Options:
    """Checked options; label names become a StringTable."""
    labels: Iterable[str] | None = given.pop("labels", None)
    if isinstance(labels, str):
        raise ParameterError("labels must be a list of label names; got one string")
    for name, value in given.items():
        _CHECKS[name](name, value)
    if given.get("label_separator") == "":
        raise ParameterError("label_separator must not be empty")
    if given.get("delimiter") is not None:
        given["delimiter"] = _delimiter(given["delimiter"])
    if given.get("encoding") is not None:
        codec(given["encoding"])
    given["skip_bad_rows"] = given.get("skip_bad_rows") or None  # not to skip is what every format does
    return Options(labels=None if labels is None else StringTable.of(labels), **given)


def _delimiter(given: str) -> str:
    delimiter = _DELIMITERS.get(given, given)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(f"delimiter must be one character, such as ; or tab, and no quote; got {shown(given)}")
    return delimiter


def codec(encoding: str) -> str:
    """The usual name of a text encoding."""
    try:
        found = codecs.lookup(encoding)
        if not getattr(found, "_is_text_encoding", True):
            raise LookupError(encoding)
    except (LookupError, ValueError):
        raise ParameterError(
            f"encoding must be the name of a text encoding, such as utf-8 or latin-1; got {shown(encoding)}"
        ) from None
    return found.name


def refuse_foreign(options: Options, format: str) -> None:
    """An option that means nothing for this format is a mistake, not a wish to be ignored."""
    for option in fields(options):
        formats = _ONLY_FOR.get(option.name)
        if formats and format not in formats and getattr(options, option.name) is not None:
            raise ParameterError(f"{option.name} is for {', '.join(formats)} files; this one is {format}")
