"""How long work tells that it is alive. The library is silent unless somebody listens.

    with progress.step("training level 2", total=n_nodes, unit="nodes") as advance:
        ... advance(1) ...

Who may listen: whoever calls `listen` with a function, or with a `Listener` (the command line does: bars in a terminal,
plain lines otherwise); and the logger `xtrellis` of Python's `logging`, which hears of notes and of steps that ended
(INFO) or begin (DEBUG).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, Protocol, cast

from .calls import clear_calls
from .errors import InputError, shown

Advance = Callable[[float], None]


class Listener(Protocol):
    """Somebody who shows progress."""

    def begin(self, title: str, total: float | None, unit: str) -> int:
        """A step begins; the number returned names it in the calls below."""

    def advance(self, step: int, amount: float) -> None:
        """`amount` more units are done."""

    def end(self, step: int) -> None:
        """The step is over, finished or not."""

    def note(self, message: str) -> None:
        """One line worth reading: what was found, what will be built."""


class ProgressEvent(NamedTuple):
    """What a function given to `listen` is called with."""

    kind: Literal["begin", "advance", "end", "note"]
    title: str
    """Of the step; of a note, the line itself."""
    done: float = 0.0
    """Units so far."""
    total: float | None = None
    """Units to come in all, if that is known."""
    unit: str = ""


_listener: ContextVar[Listener | None] = ContextVar("xtrellis_progress", default=None)


@clear_calls
@contextmanager
def listen(listener: Listener | Callable[[ProgressEvent], object] | None) -> Iterator[None]:
    """Send the progress of everything inside the block (and its thread) to `listener`, most simply a function.

    It is called with a `ProgressEvent` whenever a step begins, gets on, or ends, and for notes. An error that it raises
    stops the work: so can a program that wants no more of it.
    """
    if listener is not None and not callable(listener) and not hasattr(listener, "begin"):
        raise InputError(f"listener must be a function, which is called with a ProgressEvent; got {shown(listener)}")
    heard = listener if listener is None or hasattr(listener, "begin") else _Calls(listener)
    token = _listener.set(cast("Listener | None", heard))
    try:
        yield
    finally:
        _listener.reset(token)


class _Calls:
    """A function as a listener."""

    def __init__(self, function: Callable[[ProgressEvent], object]) -> None:
        self._function = function
        self._steps: dict[int, ProgressEvent] = {}
        self._count = 0

    def begin(self, title: str, total: float | None, unit: str) -> int:
        self._count += 1
        event = self._steps[self._count] = ProgressEvent("begin", title, 0.0, total, unit)
        self._function(event)
        return self._count

    def advance(self, step: int, amount: float) -> None:
        before = self._steps[step]
        event = self._steps[step] = before._replace(kind="advance", done=before.done + amount)
        self._function(event)

    def end(self, step: int) -> None:
        self._function(self._steps.pop(step)._replace(kind="end"))

    def note(self, message: str) -> None:
        self._function(ProgressEvent("note", message))


@contextmanager
def step(title: str, *, total: float | None = None, unit: str = "") -> Iterator[Advance]:
    """One long piece of work; yields a function to call with the amount done since the last call."""
    listener, begun = _listener.get(), time.monotonic()
    _log("DEBUG", "%s …", title)
    if listener is None:
        try:
            yield _nobody
        finally:
            _log("INFO", "%s: %.3f s", title, time.monotonic() - begun)
        return
    number = listener.begin(title, total, unit)
    try:
        yield lambda amount: listener.advance(number, amount)
    finally:
        listener.end(number)
        _log("INFO", "%s: %.3f s", title, time.monotonic() - begun)


def note(message: str) -> None:
    """Tell the listener, if there is one, a line worth reading."""
    _log("INFO", "%s", message)
    listener = _listener.get()
    if listener is not None:
        listener.note(message)


def _log(level: str, message: str, *values: object) -> None:
    """To the logger `xtrellis`. If nobody has loaded `logging` nobody listens, and it need not be loaded now."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("xtrellis").log(getattr(logging, level), message, *values)


def _nobody(amount: float) -> None:
    """Progress that nobody watches."""
