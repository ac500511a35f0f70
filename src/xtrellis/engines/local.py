"""`Local`: tasks on threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..core import Engine, clear_calls, each, integer, thread_count

T = TypeVar("T")


@clear_calls
class Local(Engine):
    """Threads of this process: what trainings use if nothing is said. `threads` are for tasks given to it directly; a
    model's own parameter says how many train it."""

    def __init__(self, threads: int | None = None) -> None:
        integer(at_least=1, or_none=True)("threads", threads)
        self.threads = threads

    @property
    def workers(self) -> int:
        return thread_count(self.threads)

    def share(self, value: Any) -> Any:
        return value

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[T, tuple[Any, ...]]],
        done: Callable[[T, Any], None],
        *,
        split: Callable[[T], list[tuple[T, tuple[Any, ...]]]] | None = None,
    ) -> None:
        each(
            lambda task: function(*task[1]),
            iter(tasks),
            lambda task, result: done(task[0], result),
            threads=self.workers,
        )

    def __repr__(self) -> str:
        return f"Local(threads={self.threads})"
