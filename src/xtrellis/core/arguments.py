"""Arguments that are no parameters of a class: a path, an object of a certain kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .errors import InputError, XtrellisError, shown

LONGEST_PATH, LONGEST_NAME = 4095, 255  # bytes: what file systems take
LONGEST_SHOWN = 600


def as_path(path: Any, name: str = "path", *, error: type[XtrellisError] = InputError) -> Path:
    """A path as people give it, a string or what `os.PathLike` says; refused if no file can be called that."""
    try:
        given = os.fspath(path)
    except Exception:  # __fspath__ of somebody else fails in any way
        raise error(f"{name} must be a path, such as 'data.txt'; got {shown(path)}") from None
    if not isinstance(given, str):
        raise error(f"{name} must be a path as a string; got bytes: use os.fsdecode")
    told = repr(given) if len(given) <= LONGEST_SHOWN else shown(given)
    try:
        encoded = os.fsencode(given)
    except UnicodeEncodeError:
        raise error(f"{name} {told} cannot be opened: it is not Unicode") from None
    if b"\0" in encoded:
        raise error(f"{name} {told} cannot be opened: it holds a NUL character")
    if len(encoded) > LONGEST_PATH or max(map(len, encoded.split(os.fsencode(os.sep)))) > LONGEST_NAME:
        raise error(f"{name} {told} cannot be opened: File name too long ({len(given):,} characters)")
    return Path(given)


def require(value: Any, kind: type | tuple[type, ...], name: str, what: str) -> None:
    """Refuse what is no object of that kind; `what` says in words which it must be."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {what}; got {shown(value)}")
