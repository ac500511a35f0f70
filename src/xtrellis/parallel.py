"""One small thread pool for everything: kernels release the GIL, Python schedules.

No OpenMP: nothing clashes with torch or with fork, progress and Ctrl-C work between tasks, and since a task's result
depends only on its input, the outcome does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice, pairwise
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


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
    workers = min(thread_count(threads), len(tasks))
    if workers <= 1:
        for i in order:
            results[i] = function(tasks[i])
            if done:
                done(i)
        return [results[i] for i in range(len(tasks))]

    pool = ThreadPoolExecutor(workers)
    try:
        queue = iter(order)
        running: dict[Future[R], int] = {}
        for i in islice(queue, 2 * workers):
            running[pool.submit(function, tasks[i])] = i
        while running:
            # A timeout keeps the main thread able to notice Ctrl-C on every platform.
            finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                i = running.pop(future)
                results[i] = future.result()
                if done:
                    done(i)
                for following in islice(queue, 1):
                    running[pool.submit(function, tasks[following])] = following
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [results[i] for i in range(len(tasks))]


def spans(n: int, parts: int, *, at_least: int = 1) -> list[tuple[int, int]]:
    """Cut `range(n)` into at most `parts` pieces of nearly equal length, none shorter than `at_least` if n allows."""
    parts = max(1, min(parts, n // max(1, at_least))) if n else 1
    edges = [n * i // parts for i in range(parts + 1)]
    return list(pairwise(edges))
