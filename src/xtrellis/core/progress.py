"""How long work tells that it is alive. The library is silent unless somebody listens.

    with progress.step("training level 2", total=n_nodes, unit="nodes") as advance:
        ... advance(1) ...

The command line installs a listener (bars in a terminal, plain lines otherwise) with `progress.listen(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

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


_listener: ContextVar[Listener | None] = ContextVar("xtrellis_progress", default=None)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Send the progress of everything inside the block to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def step(title: str, *, total: float | None = None, unit: str = "") -> Iterator[Advance]:
    """One long piece of work; yields a function to call with the amount done since the last call."""
    listener = _listener.get()
    if listener is None:
        yield lambda amount: None
        return
    number = listener.begin(title, total, unit)
    try:
        yield lambda amount: listener.advance(number, amount)
    finally:
        listener.end(number)


def note(message: str) -> None:
    """Tell the listener, if there is one, a line worth reading."""
    listener = _listener.get()
    if listener is not None:
        listener.note(message)
