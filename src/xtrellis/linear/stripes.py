"""A wide block of a node with many rows, trained in stripes of children on several threads and put together again.

The solver works on groups of up to 32 children, whatever is beside them, and a group's random order depends only on the
number of its first child. So cut at multiples of 32, a block is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .packed import PlainBlock

STRIPE = 32  # children; native/linear/train.cpp solves so many at once
LARGE = 1 << 20  # rows × children from which a block is worth the second copy of its rows


def cut(first: int, count: int, n_rows: int) -> list[tuple[int, int]]:
    """The stripes of a block, as (first child, how many); one, if it is small."""
    if n_rows * count < LARGE:
        return [(first, count)]
    return [(at, min(STRIPE, first + count - at)) for at in range(first, first + count, STRIPE)]


def join(stripes: Sequence[PlainBlock]) -> PlainBlock:
    """The block, by feature again; a feature's children stay ascending, since the stripes are."""
    features = np.concatenate([np.repeat(f, np.diff(starts)) for f, starts, _, _ in stripes])
    children = np.concatenate([c + np.uint8(STRIPE * i) for i, (_, _, c, _) in enumerate(stripes)])
    order = np.argsort(features, kind="stable")
    kept, counts = np.unique(features, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return kept, starts, children[order], np.concatenate([w for *_, w in stripes])[order]
