"""Rows of features made block by block, one below the other: in memory, or in files if the texts lie in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..arrays import Csr, Float32, Int32, Int64, StringTable, assemble, for_scipy, is_on_disk, known_good
from ..store import GrowingArray

BlockRows = tuple[Int64, Int32, Float32]  # where rows begin, columns, values


def lie_in_files(texts: Sequence[str]) -> bool:
    """True of the texts of an opened data folder: there may be more of them than memory."""
    return isinstance(texts, StringTable) and is_on_disk(texts.text)


def stack(blocks: list[BlockRows], n_features: int) -> Csr:
    """In memory; each block is freed as soon as it is copied."""
    if len(blocks) == 1:
        offsets, ids, values = blocks[0]
        return for_scipy(assemble(values, ids, offsets, (len(offsets) - 1, n_features)))
    rows, nnz = sum(len(b[0]) - 1 for b in blocks), sum(len(b[1]) for b in blocks)
    indptr, indices, data = np.zeros(rows + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, np.float32)
    row = at = 0
    blocks.reverse()
    while blocks:
        offsets, ids, values = blocks.pop()
        indptr[row : row + len(offsets)] = offsets + at
        indices[at : at + len(ids)], data[at : at + len(ids)] = ids, values
        row, at = row + len(offsets) - 1, at + len(ids)
    return for_scipy(assemble(data, indices, indptr, (rows, n_features)))


def stack_in_files(groups: Iterable[list[BlockRows]], n_features: int) -> Csr:
    """In files without names, group by group; kernels made the rows, so nobody looks through them again."""
    begins, columns, numbers = GrowingArray(np.int64), GrowingArray(np.int32), GrowingArray(np.float32)
    begins.append(np.zeros(1, np.int64))
    rows = at = 0
    for group in groups:
        for offsets, ids, values in group:
            begins.append(offsets[1:] + at)
            columns.append(ids)
            numbers.append(values)
            rows, at = rows + len(offsets) - 1, at + len(ids)
    return known_good(assemble(numbers.finish(), columns.finish(), begins.finish(), (rows, n_features)))
