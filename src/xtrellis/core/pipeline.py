"""Work in stages that overlap: while one block is written, the next is searched, and the one after it is read.

Every stage has a thread of its own and takes blocks in their order, so the order never changes. Little waits between
stages (`AHEAD` blocks), so a stream of any length takes the memory of a few blocks. As in `parallel`, the calling
thread holds no lock written in Python: Ctrl-C may strike it anywhere.
"""

from __future__ import annotations

import _thread
import atexit
import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

from .parallel import PATIENCE, POLL

AHEAD = 1  # blocks that wait between two stages
_END = object()

Hungry = Callable[[], bool]


def staged(source: Callable[[Hungry], Iterable[Any]], *stages: Callable[[Any], Any]) -> Generator[Any]:
    """Blocks of `source`, each handed through all `stages`; they come out in order, on the calling thread.

    `source` is called with a function that tells whether the first stage waits for work: a source that collects what
    comes in slowly then gives what it has. An error of any stage is raised where the blocks come out.
    """
    lines = [_Line() for _ in range(len(stages) + 1)]
    ends: SimpleQueue[bool] = SimpleQueue()
    # What the source has to tell of what it reads is heard by whoever listens here.
    _thread.start_new_thread(copy_context().run, (_feed, [source], lines[0], ends))
    for stage, before, after in zip(stages, lines[:-1], lines[1:], strict=True):
        _thread.start_new_thread(_work, ([stage], before, after, ends))
    late = _Late(ends, len(stages))
    try:
        while True:
            block, error = lines[-1].take()
            if error is not None:
                raise error
            if block is _END:
                return
            yield block
    finally:
        for line in lines:
            line.stop()
        if not late.wait(PATIENCE):
            _late.append(late)


class _Late:
    """The threads of one pipeline. A kernel must have ended before the interpreter does; a source may wait for ever."""

    def __init__(self, ends: SimpleQueue[bool], stages: int) -> None:
        self._ends, self.stages, self._source = ends, stages, 1

    def wait(self, patience: float) -> bool:
        """True if all of them have ended."""
        limit = time.monotonic() + patience
        while self.stages or self._source:
            try:
                of_stage = self._ends.get(timeout=max(0.0, min(POLL, limit - time.monotonic())))
            except Empty:
                if time.monotonic() >= limit:
                    return False
                continue
            self.stages, self._source = self.stages - of_stage, self._source - (not of_stage)
        return True


_late: list[_Late] = []


@atexit.register
def _wait_for_late() -> None:
    for late in _late:
        while not late.wait(PATIENCE) and late.stages:
            pass
    _late.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_late.clear)  # threads are not inherited


class _Line:
    """What waits between two stages: at most `AHEAD` blocks."""

    def __init__(self) -> None:
        self._blocks: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._places: SimpleQueue[bool] = SimpleQueue()
        self._waiting = self._stopped = False
        for _ in range(AHEAD):
            self._places.put(True)

    def put(self, block: Any, error: BaseException | None = None) -> bool:
        """Waits for a place; False if nobody wants blocks any more."""
        if not self._places.get() or self._stopped:
            self._places.put(False)
            return False
        self._blocks.put((block, error))
        return True

    def take(self) -> tuple[Any, BaseException | None]:
        self._waiting = True
        while True:
            try:
                found = self._blocks.get(timeout=POLL)
            except Empty:
                continue
            self._waiting = False
            self._places.put(True)
            return (_END, None) if self._stopped else found

    def hungry(self) -> bool:
        """True if somebody waits for a block and there is none."""
        return self._waiting and self._blocks.empty()

    def stop(self) -> None:
        """Whoever puts or takes next ends; what waits is forgotten."""
        self._stopped = True
        with suppress(Empty):
            while True:
                self._blocks.get_nowait()
        self._places.put(False)
        self._blocks.put((_END, None))


# Functions come in a list, which is emptied, and are forgotten before the end is told: what they hold (a model with
# mapped files) must be let go by a thread that lives, not by one that ends while the interpreter does.


def _feed(given: list[Callable[[Hungry], Iterable[Any]]], line: _Line, ends: SimpleQueue[bool]) -> None:
    _pass_on(given.pop(), line)
    ends.put(False)


def _pass_on(source: Callable[[Hungry], Iterable[Any]], line: _Line) -> None:
    try:
        for block in source(line.hungry):
            if not line.put(block):
                return
        line.put(_END)
    except BaseException as error:
        line.put(None, error)


def _work(given: list[Callable[[Any], Any]], before: _Line, after: _Line, ends: SimpleQueue[bool]) -> None:
    _apply(given.pop(), before, after)
    before.stop()
    ends.put(True)


def _apply(stage: Callable[[Any], Any], before: _Line, after: _Line) -> None:
    over = False
    while not over:
        block, error = before.take()
        if error is None and block is not _END:
            try:
                block = stage(block)
            except BaseException as raised:
                block, error = None, raised
        over = not after.put(block, error) or error is not None or block is _END
        del block, error
