"""One small thread pool for everything: kernels release the GIL, Python schedules.

No OpenMP: nothing clashes with torch or with fork, progress and Ctrl-C work between tasks, and since a task's result
depends only on its input, the outcome does not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from itertools import pairwise
from typing import TypeVar, cast

from . import progress

T = TypeVar("T")
R = TypeVar("R")
_END = object()  # of an iterable


def thread_count(threads: int | None) -> int:
    """`threads` if given, else the number of cores this process may use."""
    if threads is not None:
        return threads
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
    pool = ThreadPoolExecutor(workers)
    try:
        queue = iter(tasks)
        running: dict[Future[R], tuple[T, float]] = {}
        taken = 0.0
        following = next(queue, _END)
        while running or following is not _END:
            while following is not _END and len(running) < 2 * workers:
                task = cast(T, following)
                needed = room(task) if room else 0.0
                if running and taken + needed > limit:
                    break
                running[pool.submit(function, task)] = task, needed
                taken += needed
                following = next(queue, _END)
            # A timeout keeps the main thread able to notice Ctrl-C on every platform.
            finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                task, needed = running.pop(future)
                taken -= needed
                done(task, future.result())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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
