"""torch, where it is needed: imported late, kept to the threads we give it, on the device that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core import MissingExtraError, ParameterError


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
            f"device must be 'auto', 'cpu' or one that torch can use here; got {wanted!r} ({reason})"
        ) from None
    return device


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Every operation on one thread, for sums of the same bits everywhere; parallel.run spreads whole operations."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
