"""The command line. Light on purpose: `xtrellis --help` loads typer and rich, no NumPy; commands import the rest.

Ctrl-C while even these are being loaded gets one line, as later, and no traceback of half an import.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # of `typing`, which takes a while to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["log_of", "main", "run", "stop_early"]

INTERRUPTED = "interrupted; nothing was left half-written"


def main() -> NoReturn:
    """The entry point of the `xtrellis` program."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # whoever else listens goes on doing so
        signal.signal(signal.SIGINT, stop_early)  # until `interrupt.watch` begins
    from .app import main as start

    start()


def run(args: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing is raised except under `--debug`."""
    from .app import run as run_command

    return run_command(args)


def stop_early(number: int, frame: object) -> None:
    """Nothing was begun: the end needs no unwinding."""
    as_json = log_of(sys.argv) == "json"
    line = f'{{"event": "stopped", "message": "{INTERRUPTED}"}}\n' if as_json else f"\n{INTERRUPTED}\n"
    os.write(2, line.encode())
    os._exit(128 + number)


def log_of(words: Sequence[str]) -> str | None:
    """What `--log` says on a command line that has not been parsed."""
    for i, word in enumerate(words):
        if word == "--log":
            return words[i + 1] if i + 1 < len(words) else None
        if word.startswith("--log="):
            return word.removeprefix("--log=")
    return None
