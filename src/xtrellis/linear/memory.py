"""Keeping within `memory_limit`: training as it is, with fewer nodes at once, with finished weights on disk, or not."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

from ..core import ParameterError, size_text
from .estimate import LinearEstimate


@dataclass(frozen=True)
class Plan:
    """How to train: bytes that the nodes under way may take together, and whether finished weights go to disk."""

    room: float = math.inf
    spill: bool = False

    def __str__(self) -> str:
        where = "; finished weights go to disk" if self.spill else ""
        return f"at most {size_text(self.room)} for the nodes under way{where}"


def plan(expected: LinearEstimate, limit: int | None) -> Plan:
    """The quickest way that fits; ParameterError if there is none."""
    if limit is None:
        return Plan()
    fixed = expected.matrices_bytes + expected.routes_bytes
    placing = expected.matrices_bytes + expected.placing_bytes
    if placing <= limit and fixed + expected.weights_bytes + expected.largest_scratch_bytes <= limit:
        return Plan(room=limit - fixed - expected.weights_bytes)
    if expected.least_bytes <= limit:
        return Plan(room=limit - fixed - expected.segment_bytes, spill=True)
    if placing >= expected.least_bytes:
        most, cure = f"label vectors {size_text(expected.placing_bytes)}", "fewer features"
    else:
        most, cure = f"the largest node {size_text(expected.largest_scratch_bytes)}", "fewer rows or features"
    raise ParameterError(
        f"memory_limit is {size_text(limit)}, but this training needs about {size_text(expected.least_bytes)} even "
        f"with one node at a time and finished weights on disk (data {size_text(expected.matrices_bytes)}, {most}); "
        f"raise the limit, or use {cure}"
    )


def give_back() -> None:
    """Return freed memory to the system. The allocator keeps it for later, in a pool for each thread: with a limit to
    keep, what one phase has freed must not count beside what the next one takes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others return memory by themselves
    if trim is not None:
        trim(0)
