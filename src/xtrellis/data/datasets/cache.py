"""Files that can be made again: kept in the user's cache folder if there is one, made anew if they are damaged."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def folder() -> Path:
    """`XTRELLIS_CACHE`, else `xtrellis` in `XDG_CACHE_HOME` or `~/.cache`."""
    chosen = os.environ.get("XTRELLIS_CACHE")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path("~/.cache").expanduser()) / "xtrellis"


def remembered(name: str, build: Callable[[], Any], sound: Callable[[Any], bool]) -> Any:
    """The JSON value kept under `name`; if there is none, or it is not sound, `build` it and keep it.

    A folder that cannot be read or written is no error: the value is then built each time.
    """
    try:
        path = folder() / name
        value = json.loads(path.read_text("utf-8"))
        if sound(value):
            return value
    except (OSError, ValueError, RuntimeError, RecursionError):  # RuntimeError: there is no home folder
        pass
    value = build()
    with contextlib.suppress(OSError, RuntimeError):
        _write(folder() / name, json.dumps(value))
    return value


def _write(path: Path, text: str) -> None:
    """Whole or not at all: other processes may be reading or writing the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
