"""Looking some features up in a packed block finds what unpacking the block finds."""

from __future__ import annotations

import numpy as np
import pytest
from test_pack_parity import SHAPES, a_block, flat

from xtrellis.arrays import ranges
from xtrellis.linear.packed import PackedTree


def by_unpacking(packed: PackedTree, block: int, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    features, starts, children, weights = packed.block(block)
    at = np.searchsorted(features, wanted)
    met = np.flatnonzero(at < len(features))
    met = met[features[at[met]] == wanted[met]]
    begin = starts[at[met]].astype(np.int64)
    counts = starts[at[met] + 1].astype(np.int64) - begin
    where = ranges(begin, counts)
    return np.repeat(met, counts), children[where], weights[where]


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize(("n_features", "rows", "n_children"), SHAPES)
def test_the_same_entries(n_features, rows, n_children, storage):
    block, _ = a_block(rows, n_features, rows, n_children)
    packed = PackedTree.pack(flat(n_children), [block], np.zeros(n_children, np.float32), n_features, storage=storage)
    rng = np.random.default_rng(2)
    some = np.union1d(rng.choice(n_features, min(n_features, 50)), rng.choice(block[0], 20)).astype(np.int32)
    for wanted in (some, some[:0], block[0]):
        found, expected = packed.look_up(0, wanted), by_unpacking(packed, 0, wanted)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_there_is_no_such_block():
    block, _ = a_block(0, 50, 20, 4)
    packed = PackedTree.pack(flat(4), [block], np.zeros(4, np.float32), 50)
    with pytest.raises(IndexError, match="block 1 is outside 1 blocks"):
        packed.look_up(1, np.zeros(1, np.int32))
