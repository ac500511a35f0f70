"""Memory that is free, but not yet given back."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Return freed memory to the system. The allocator keeps it for later, in a pool for each thread: with a limit to
    keep, what one phase has freed must not count beside what the next one takes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others return memory by themselves
    if trim is not None:
        trim(0)
