"""Everything that can go wrong by a user's hand. A message names the thing, the requirement, the value and the cure."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Any

MANY_NAMES, LISTED_NAMES = 20_000, 100


class XtrellisError(Exception):
    """Base of every error this library raises on purpose; the command line turns it into one line and exit code 2."""


class ParameterError(XtrellisError, ValueError):
    """A parameter has an unknown name or a value it cannot take."""


class CallError(ParameterError, TypeError):
    """A function was called with arguments that it does not have; programs that expect Python's own error get one."""


class InputError(XtrellisError, ValueError):
    """An array, matrix or text given to a method does not fit."""


class NotFittedError(XtrellisError, RuntimeError):
    """A model was asked to predict before it was trained."""


class TrainingError(XtrellisError, ArithmeticError):
    """Training cannot go on: its loss is no longer a number."""


class StoreError(XtrellisError):
    """A model folder is missing, damaged, hostile, or written by a newer version."""


class MissingExtraError(XtrellisError, ImportError):
    """An optional library is needed for this; the message says which extra to install."""

    def __init__(self, library: str, extra: str, what: str) -> None:
        super().__init__(
            f"{what} needs {library}; install it with: pip install 'xtrellis[{extra}]' "
            f"(in a checkout: pip install -e '.[{extra}]')"
        )
        self._given = (library, extra, what)

    def __reduce__(self) -> tuple[Any, ...]:  # errors travel between processes; Exception's own form lacks arguments
        return type(self), self._given


class DataError(XtrellisError, ValueError):
    """A data file is not what it should be; names the file and, where there is one, the line."""

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = ", ".join(([] if path is None else [str(path)]) + ([] if line is None else [f"line {line}"]))
        super().__init__(f"{place}: {message}" if place else message)


def nearest(name: str, valid: Collection[str]) -> str:
    """`; did you mean 'beam'?` for a misspelt name, or the list of valid ones when nothing is close."""
    likely = valid
    # Comparing with a million names takes a minute: of so many, those that begin alike will do.
    for length in (2, 4, 8):
        if len(likely) > MANY_NAMES:
            likely = [v for v in likely if v[:length].casefold() == name[:length].casefold()]
    close = difflib.get_close_matches(name, list(likely)[:MANY_NAMES], n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    if len(valid) > LISTED_NAMES:
        return f"; it knows {len(valid):,} names, none of them similar"
    return f"; valid names: {', '.join(sorted(valid)) or '(none)'}"


def shown(value: object) -> str:
    """`repr(value)`, shortened, for messages; never fails (an integer of 5,000 digits has no repr)."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else text[:199] + "…"
