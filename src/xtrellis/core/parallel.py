"""One small thread pool for everything: kernels release the GIL, Python schedules.

No OpenMP: nothing clashes with torch or with fork, progress and Ctrl-C work between tasks, and since a task's result
depends only on its input, the outcome does not depend on the number of threads.

Ctrl-C may strike between any two steps of the main thread. The locks of `threading` and `concurrent.futures` are partly
written in Python: one that is held at that moment stays so, and whoever waits for it next hangs. So here the calling
thread holds none: threads are started, and tasks and results handed over, by single calls of C code.
"""

from __future__ import annotations

import _thread
import atexit
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from . import progress

T = TypeVar("T")
R = TypeVar("R")
_END = object()  # of an iterable
MOST_THREADS = 1024  # more would only wait for each other, and need memory
POLL = 0.5  # seconds after which the calling thread looks up, so that it notices Ctrl-C on every platform
PATIENCE = 0.3  # seconds that threads have to end after Ctrl-C before they are left alone


def thread_count(threads: int | None) -> int:
    """`threads` if given, else the number of cores this process may use."""
    if threads is not None:
        return min(threads, MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    threads: int | None = None,
    size: Callable[[T], float] | None = None,
    done: Callable[[int], object] | None = None,
) -> list[R]:
    """`[function(t) for t in tasks]`, on several threads.

    `size` schedules large tasks first, so that no thread is left with a big one at the end; `done(i)` is called on the
    calling thread as each task ends. The first error stops what has not begun and is raised; so does Ctrl-C.
    """
    order = sorted(range(len(tasks)), key=lambda i: -size(tasks[i])) if size else range(len(tasks))
    results: dict[int, R] = {}

    def keep(i: int, result: R) -> None:
        results[i] = result
        if done:
            done(i)

    each(lambda i: function(tasks[i]), order, keep, threads=min(thread_count(threads), max(1, len(tasks))))
    return [results[i] for i in range(len(tasks))]


def each(
    function: Callable[[T], R],
    tasks: Iterable[T],
    done: Callable[[T, R], object],
    *,
    threads: int | None = None,
    room: Callable[[T], float] | None = None,
    limit: float = math.inf,
) -> None:
    """`done(task, function(task))` for every task: functions on several threads, `done` on the calling one as they end.

    Tasks are drawn from the iterable only shortly before they begin, on the calling thread, so it may prepare them one
    after another. The tasks under way never take more `room` together than `limit` (a single one may).
    """
    workers = thread_count(threads)
    if workers <= 1:
        for task in tasks:
            done(task, function(task))
        return
    team: _Team[T, R] = _Team(function, workers)
    try:
        queue = iter(tasks)
        running: dict[int, tuple[T, float]] = {}
        taken, number = 0.0, 0
        following = next(queue, _END)
        while running or following is not _END:
            while following is not _END and len(running) < 2 * workers:
                task = cast(T, following)
                needed = room(task) if room else 0.0
                if running and taken + needed > limit:
                    break
                running[number] = task, needed
                team.begin(number, task, len(running))
                taken, number = taken + needed, number + 1
                following = next(queue, _END)
            finished, result = team.result()
            task, needed = running.pop(finished)
            taken -= needed
            done(task, result)
    except Exception:
        team.end()
        raise
    except BaseException:  # Ctrl-C: a kernel may take longer than anybody wants to wait
        team.end(PATIENCE)
        raise
    team.end()


class _Team(Generic[T, R]):
    """The threads of one call of `each`; they begin as they are needed."""

    def __init__(self, function: Callable[[T], R], size: int) -> None:
        self._function, self._size = function, size
        self._tasks: SimpleQueue[tuple[int, T] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        self._ends: SimpleQueue[None] = SimpleQueue()
        self._threads, self._stopped = 0, False

    def begin(self, number: int, task: T, at_once: int) -> None:
        """Hand over a task; `at_once` are under way, this one included."""
        if self._threads < min(at_once, self._size):
            try:
                _thread.start_new_thread(self._work, ())
                self._threads += 1
            except RuntimeError:  # the system has no more of them: those that are there do the work
                self._size = self._threads
        if self._threads:
            self._tasks.put((number, task))
        else:
            self._results.put(self._outcome(number, task))

    def result(self) -> tuple[int, R]:
        """The number and the result of the next task that ends; raises what it raised."""
        while True:
            try:
                number, result, error = self._results.get(timeout=POLL)
            except Empty:
                continue
            if error is None:
                return number, result
            try:
                raise error
            finally:
                del error  # its traceback holds this frame

    def end(self, patience: float = math.inf) -> None:
        """Nothing more begins; waits for what is under way. After `patience` it is left to end by itself."""
        self._stopped = True
        self._tasks.put(None)
        limit = time.monotonic() + patience
        while self._threads:
            try:
                self._ends.get(timeout=min(POLL, patience))
                self._threads -= 1
            except Empty:
                if time.monotonic() > limit:
                    _late.append(self)
                    return

    def _work(self) -> None:
        """What a thread does. A task and its result are forgotten before it waits for the next."""
        while (task := self._tasks.get()) is not None and not self._stopped:
            self._results.put(self._outcome(*task))
            del task
        self._tasks.put(None)  # for the next one
        self._ends.put(None)

    def _outcome(self, number: int, task: T) -> tuple[int, Any, BaseException | None]:
        try:
            return number, self._function(task), None
        except BaseException as error:
            return number, None, error


_late: list[_Team[Any, Any]] = []  # left alone after Ctrl-C: their kernels must end before the interpreter does


@atexit.register
def _wait_for_late() -> None:
    while _late:
        _late.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_late.clear)  # threads are not inherited


def spans(n: int, parts: int, *, at_least: int = 1) -> list[tuple[int, int]]:
    """Cut `range(n)` into at most `parts` pieces of nearly equal length, none shorter than `at_least` if n allows."""
    parts = max(1, min(parts, n // max(1, at_least))) if n else 1
    edges = [n * i // parts for i in range(parts + 1)]
    return list(pairwise(edges))


def by_rows(
    work: Callable[[int, int], object], n: int, *, chunk: int, threads: int | None, at_least: int = 64, title: str = ""
) -> None:
    """`work(first, last)` over all of n rows, in pieces of about `chunk` (a title shows their progress)."""
    if n <= 1:
        work(0, n)
        return
    workers = thread_count(threads)
    pieces = spans(n, max(workers, -(-n // chunk)), at_least=at_least)
    if len(pieces) == 1:
        work(0, n)
        return
    with progress.step(title, total=n, unit="rows") if title else nullcontext(_ignore) as advance:
        run(lambda span: work(*span), pieces, threads=workers, done=lambda i: advance(pieces[i][1] - pieces[i][0]))


def _ignore(amount: float) -> None:
    """Progress that nobody watches."""
