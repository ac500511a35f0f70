"""Where independent tasks run: on threads of this process, or somewhere else. Rooms to the right bring the engines.

A training asks `current()`; a model's `fit(engine=…)` sets it for the time being. Functions that are given to an engine
are plain functions of a module and their tasks plain values, since both may travel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Engine(ABC):
    """Runs a function on many tasks. Use as a context, or give it to `fit`, which does so."""

    far = False  # True if tasks run in other processes
    kept: tuple[Any, Any] | None = None  # what it has shared last, and of what it was made: until it ends

    def __enter__(self) -> Self:
        return self

    def __exit__(  # noqa: B027  # most have nothing to close
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing of its own is left behind."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Tasks that run at once."""

    @property
    def room(self) -> float:
        """Bytes of memory that one task may take."""
        return math.inf

    @abstractmethod
    def share(self, value: Any) -> Any:
        """A handle on something large that many tasks need; it is what the function gets."""

    @abstractmethod
    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[T, tuple[Any, ...]]],
        done: Callable[[T, Any], None],
        *,
        split: Callable[[T], list[tuple[T, tuple[Any, ...]]]] | None = None,
    ) -> None:
        """`done(name, function(*arguments))` for every task (name, arguments), in whatever order they end.

        Tasks are drawn as there is room for them. One that has too little memory is done again as what `split` makes of
        it: smaller tasks, or one that gets by with less; nothing, if that cannot be.
        """


_current: ContextVar[Engine | None] = ContextVar("xtrellis_engine", default=None)


def current() -> Engine | None:
    """The engine that a training shall use; None for threads."""
    return _current.get()


@contextmanager
def using(engine: Engine | None) -> Iterator[None]:
    """Trainings meanwhile use this engine."""
    if engine is None:
        yield
        return
    with engine:
        token = _current.set(engine)
        try:
            yield
        finally:
            _current.reset(token)
