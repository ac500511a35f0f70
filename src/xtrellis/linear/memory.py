"""Keeping within `memory_limit`: training as it is, with fewer nodes at once, with finished weights on disk, or not."""

from __future__ import annotations

import ctypes
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._native import cluster as native_cluster
from .._native import linear as native
from ..arrays import Array
from ..core import ParameterError, StoreError, size_text
from ..store import DiskScratch, Scratch, add_kernel
from .blocks import INSIDE, SPILLED, Outside
from .estimate import LinearEstimate


@dataclass(frozen=True)
class Plan:
    """How to train: bytes that the nodes under way may take together, and whether finished weights go to disk.

    If they need not, `weights` is what they may take in memory: should they grow beyond, the rest goes there after all.
    """

    room: float = math.inf
    spill: bool = False
    weights: float = math.inf
    outside: Outside = INSIDE  # if its rows are set, label vectors lie in files too

    def __str__(self) -> str:
        where = "; finished weights go to disk" if self.spill else ""
        where += ", and so do label vectors and the rows of large nodes" if self.outside.rows else ""
        where += ", with all that is known of each row, which is slow" if self.outside.known else ""
        return f"at most {size_text(self.room)} for the nodes under way{where}"


def plan(expected: LinearEstimate, limit: int | None, taken: int = 0, *, threads: int = 1) -> Plan:
    """The quickest way that fits beside what the process has `taken` already; ParameterError if there is none.

    A training is not refused because of what was there before it.
    """
    if limit is None:
        return Plan()
    whole, limit = limit, max(0, limit - taken)
    fixed = expected.matrices_bytes + expected.fixed_bytes + expected.routes_bytes
    # What nodes take is known when they begin, but for the weights that they will keep.
    left = limit - fixed - (expected.entries_bytes if expected.scratch_bytes > expected.largest_scratch_bytes else 0)
    if expected.peak_bytes <= limit or (
        expected.least_bytes <= limit and fixed + expected.weights_bytes + expected.largest_scratch_bytes <= limit
    ):
        return Plan(room=max(0, left - expected.weights_bytes), weights=expected.weights_bytes)
    if expected.least_bytes <= limit:
        return Plan(room=max(0, left - expected.segment_bytes), spill=True, weights=0)
    if expected.all_outside_bytes <= whole:
        room = max(0, limit - expected.matrices_bytes - expected.fixed_bytes - expected.outside_routes_bytes)
        large = max(SPILLED, limit // SHARE)
        outside = Outside(large, large)
        if expected.outside_bytes <= limit:
            # What is left is for rows, or they would be read from their files though there is room.
            spare = int(USED * limit) - expected.outside_bytes
            outside = Outside(large, kept=max(0, spare) // threads)
        return Plan(room=max(0, room - expected.segment_bytes), spill=True, weights=0, outside=outside)
    most, cure = _most(expected)
    raise ParameterError(
        f"memory_limit is {size_text(whole)}, but this training needs about {size_text(expected.all_outside_bytes)} "
        f"even with one node at a time and all on disk that can be there (data {size_text(expected.matrices_bytes)}, "
        f"{most}); raise the limit, or use {cure}"
    )


def _most(expected: LinearEstimate) -> tuple[str, str]:
    """What needs most, and what would help."""
    if expected.matrices_bytes + expected.placing_bytes >= expected.least_bytes:
        return f"label vectors and clusters {size_text(expected.placing_bytes)}", "fewer features"
    if expected.matching_bytes > expected.largest_scratch_bytes + expected.segment_bytes:
        return f"leading rows to clusters {size_text(expected.matching_bytes)}", "fewer rows or a smaller beam"
    return f"the largest node {size_text(expected.largest_scratch_bytes)}", "fewer rows or features"


class Overflow(Scratch):
    """Finished weights in memory as long as they take no more than `room`; from then on, on disk."""

    def __init__(self, disk: DiskScratch, room: float) -> None:
        self._disk, self._room, self._held, self._full = disk, room, 0, room <= 0

    def begin(self, held: int) -> None:
        """Of what was put before, so many bytes are still there."""
        self._held = held

    def put(self, name: str, arrays: dict[str, Array]) -> dict[str, Array]:
        n_bytes = sum(array.nbytes for array in arrays.values())
        self._full = self._full or self._held + n_bytes > self._room
        if self._full:
            return self._disk.put(name, arrays)
        self._held += n_bytes
        return arrays

    def empty(self, length: int, dtype: Any) -> Array:
        """For what is joined from arrays that were put: it takes their place."""
        return self._disk.empty(length, dtype) if self._full else super().empty(length, dtype)

    def settle(self, array: Array) -> None:
        self._disk.settle(array)


@contextmanager
def spilling(outside: Outside) -> Iterator[None]:
    """Meanwhile kernels put such arrays into files."""
    for kernel in (native, native_cluster):
        add_kernel(kernel.drop_spilled)
    native.spill_to(tempfile.gettempdir(), *outside)
    native_cluster.spill_to(tempfile.gettempdir(), outside.rows, outside.known)
    try:
        yield
    except RuntimeError as error:
        if "cannot put arrays" not in str(error):
            raise
        raise StoreError(f"{error}; let TMPDIR name a folder with more room") from None
    finally:
        for kernel in (native, native_cluster):
            kernel.spill_to("", 0, 0)


# glibc's <malloc.h>: from what size on an array is the system's as soon as it is freed; how much of the rest may wait.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE = 1 << 20
USED = 0.8  # of the limit, for rows of large nodes: mapped pages come and go beside them, up to 0.85 of it
SHARE = 256  # of the limit, which an array may take before it goes to a file: a node has several of them


def keep_little() -> None:
    """From now on, have freed memory returned to the system soon.

    By itself the allocator learns from large arrays to keep them for later, up to 64 MB in a pool for each thread that
    `give_back` cannot reach: as much again as a training of middle size needs. Other allocators keep little anyway.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, LARGE)
        set_option(M_TRIM_THRESHOLD, LARGE)


def give_back() -> None:
    """Return freed memory to the system. The allocator keeps it for later, in a pool for each thread: with a limit to
    keep, what one phase has freed must not count beside what the next one takes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others return memory by themselves
    if trim is not None:
        trim(0)
