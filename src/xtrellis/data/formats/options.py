"""What a caller may say about a file, and which formats each of these things concerns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from ...arrays import MAX_ID, StringTable
from ...core import Check, ParameterError, choice, flag, integer, text


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
    unlabelled: bool | None = None
    threads: int | None = None


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
    "label_separator": ("csv", "tsv", "parquet"),
    "header": ("csv", "tsv"),
    "quotes": ("csv", "tsv"),
}


def make_options(**given: Any) -> Options:
    """Checked options; label names become a StringTable."""
    labels: Iterable[str] | None = given.pop("labels", None)
    if isinstance(labels, str):
        raise ParameterError("labels must be a list of label names; got one string")
    for name, value in given.items():
        _CHECKS[name](name, value)
    if given.get("label_separator") == "":
        raise ParameterError("label_separator must not be empty")
    return Options(labels=None if labels is None else StringTable.of(labels), **given)


def refuse_foreign(options: Options, format: str) -> None:
    """An option that means nothing for this format is a mistake, not a wish to be ignored."""
    for option in fields(options):
        formats = _ONLY_FOR.get(option.name)
        if formats and format not in formats and getattr(options, option.name) is not None:
            raise ParameterError(f"{option.name} is for {', '.join(formats)} files; this one is {format}")
