"""torch, where it is needed: imported late, kept to the threads we give it, on the device that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ...core import MissingExtraError, ParameterError, run

T = TypeVar("T")
R = TypeVar("R")


def import_torch(what: str) -> Any:
    """The torch module, or an error that says what needs it and how to get it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch", "deep", what) from None
    return torch


def device_of(torch: Any, wanted: str) -> Any:
    """`auto` is a GPU if torch can use one, else the CPU; anything else is a name that torch knows."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:200]
        raise ParameterError(
            f"device must be 'auto', 'cpu' or one that torch can use here; got {wanted!r:.80} ({reason})"
        ) from None
    return device


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Every operation on one thread, for sums of the same bits everywhere; `run_pieces` spreads whole operations."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_pieces(torch: Any, function: Callable[[T], R], tasks: Sequence[T], *, threads: int | None) -> list[R]:
    """`run`, with every operation on the thread of its task.

    How many threads an operation takes is a matter of the thread that asks for it. torch tells a new one with the first
    operation that looks, which a product of matrices does not: the first product of each of our threads was made by
    as many as there are cores, and which piece of a batch came first on a thread was chance.
    """

    def alone(task: T) -> R:
        torch.set_num_threads(1)
        return function(task)

    return run(alone, tasks, threads=threads)
