"""One training on several processes (torchrun, gloo): each works on its share of a batch's pieces.

Everybody gets everybody's gradients and adds them in the same order, so all processes hold the same model after every
step, and it is the one that a single process would have made. What travels is objects of our own making, between
processes that the user has started together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..parallel import run

T = TypeVar("T")
R = TypeVar("R")


def n_processes(torch: Any) -> int:
    """How many train together: 1, unless the caller has called torch.distributed.init_process_group."""
    distributed = torch.distributed
    return int(distributed.get_world_size()) if distributed.is_available() and distributed.is_initialized() else 1


def run_together(torch: Any, function: Callable[[T], R], tasks: Sequence[T], *, threads: int | None) -> list[R]:
    """`parallel.run` on all processes; each gets all results."""
    n = n_processes(torch)
    if n == 1:
        return run(function, tasks, threads=threads)
    rank = torch.distributed.get_rank()
    shares: list[Any] = [None] * n
    torch.distributed.all_gather_object(shares, run(function, tasks[rank::n], threads=threads))
    return [shares[i % n][i // n] for i in range(len(tasks))]
