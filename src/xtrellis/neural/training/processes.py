"""One training on several processes (torchrun, gloo): each works on its share of a batch's pieces.

Gradients are added in the order of the pieces, as one process adds them, so all processes hold the same model after
every step, to the bit, and it is the one that a single process would have made. What travels is tensors:

- what everybody needs piece by piece (`gather`: losses, gradients of rows and of the labels they have met) is gathered;
- what is only needed as a sum (`add`: gradients of dense parameters, all of an encoder's) is cut into as many slices as
  there are processes. Each gets its slice of every piece, adds them, and the sums are gathered. With a piece a process
  that is the traffic of a ring all-reduce, 2(n-1)/n of the parameters, whose order of additions would be another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...arrays import Array, Float32
from .pytorch import run_pieces

T = TypeVar("T")
R = TypeVar("R")
DTYPES = (np.float32, np.float64, np.int32, np.int64)
MOST_DIMENSIONS = 4


def n_processes(torch: Any) -> int:
    """How many train together: 1, unless the caller has called torch.distributed.init_process_group."""
    distributed = torch.distributed
    return int(distributed.get_world_size()) if distributed.is_available() and distributed.is_initialized() else 1


class ProcessGroup:
    """The processes of one training; with one of them nothing travels."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.n = torch, n_processes(torch)
        self.rank = int(torch.distributed.get_rank()) if self.n > 1 else 0

    def share(self, tasks: Sequence[T]) -> Sequence[T]:
        """The tasks of this process: every n-th."""
        return tasks[self.rank :: self.n]

    def run(self, function: Callable[[T], R], tasks: Sequence[T], *, threads: int | None) -> list[R]:
        """Results of this process's share."""
        return run_pieces(self.torch, function, self.share(tasks), threads=threads)

    def gather(self, mine: Sequence[Sequence[Array]], count: int) -> list[list[Array]]:
        """The arrays of all `count` tasks, in the order of the tasks, from those of each process's share."""
        if self.n == 1:
            return [list(arrays) for arrays in mine]
        packed = [_pack(arrays) for arrays in mine]
        sizes = self._all(np.array([len(part) for part in packed] + [0] * (-(-count // self.n) - len(packed))))
        longest = int(sizes.sum(axis=1).max())
        buffer = np.zeros(longest, np.uint8)
        whole = np.concatenate([np.zeros(0, np.uint8), *packed])
        buffer[: len(whole)] = whole
        found, ends = self._all(buffer), np.cumsum(sizes, axis=1)
        out = []
        for i in range(count):
            process, place = i % self.n, i // self.n
            end = int(ends[process, place])
            out.append(_unpack(found[process, end - int(sizes[process, place]) : end]))
        return out

    def add(self, mine: Sequence[Sequence[Float32]], like: Sequence[Float32], count: int) -> list[Float32]:
        """The sums over all tasks of float32 arrays that are shaped like `like`, added in the order of the tasks."""
        if self.n == 1:
            return [_sum([arrays[j] for arrays in mine]) for j in range(len(like))]
        length = sum(array.size for array in like)
        slice_size, places = -(-length // self.n), -(-count // self.n)
        # [to whom][which of my tasks][slice]
        send = np.zeros((self.n, places, slice_size), np.float32)
        for place, arrays in enumerate(mine):
            flat = np.zeros(self.n * slice_size, np.float32)
            flat[:length] = np.concatenate([array.reshape(-1) for array in arrays])
            send[:, place] = flat.reshape(self.n, slice_size)
        got = self.torch.empty(send.shape, dtype=self.torch.float32)
        self.torch.distributed.all_to_all_single(got, self.torch.from_numpy(send))
        slices = got.numpy()  # [from whom][which of its tasks][slice]
        mine_summed = _sum([slices[i % self.n, i // self.n] for i in range(count)])
        flat = self._all(mine_summed).reshape(-1)
        ends = np.cumsum([array.size for array in like])
        return [
            flat[end - array.size : end].reshape(array.shape) for array, end in zip(like, ends.tolist(), strict=True)
        ]

    def _all(self, mine: Array) -> Array:
        """One row a process."""
        rows = [self.torch.empty(mine.shape, dtype=self.torch.from_numpy(mine[:0]).dtype) for _ in range(self.n)]
        self.torch.distributed.all_gather(rows, self.torch.from_numpy(mine))
        return np.stack([row.numpy() for row in rows])


def _sum(arrays: Sequence[Float32]) -> Float32:
    """One after another."""
    total: Float32 = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def _pack(arrays: Sequence[Array]) -> Array:
    """Arrays in one row of bytes: how many, a line of dtype and shape each, their content."""
    head = np.full((len(arrays), 2 + MOST_DIMENSIONS), -1, np.int64)
    for line, array in zip(head, arrays, strict=True):
        line[:2] = DTYPES.index(array.dtype.type), array.ndim
        line[2 : 2 + array.ndim] = array.shape
    parts = [np.array([len(arrays)]), head, *(np.ascontiguousarray(array) for array in arrays)]
    return np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])


def _unpack(row: Array) -> list[Array]:
    count = int(row[:8].view(np.int64)[0])
    width = 8 * (2 + MOST_DIMENSIONS)
    head = row[8 : 8 + count * width].view(np.int64).reshape(count, -1)
    out, at = [], 8 + count * width
    for code, ndim, *shape in head.tolist():
        dtype, sizes = np.dtype(DTYPES[code]), shape[:ndim]
        end = at + dtype.itemsize * int(np.prod(sizes, dtype=np.int64))
        out.append(np.frombuffer(row[at:end].tobytes(), dtype).reshape(sizes))  # a copy: bytes need not be aligned
        at = end
    return out
