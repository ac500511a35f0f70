"""The few best entries of each row, without sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest

from xtrellis.linear.living.moves import _best_of_each


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("values", [3, 1000])
def test_the_best_of_each_row_are_those_of_a_full_sort(n, values):
    rng = np.random.default_rng(n)
    row = np.sort(rng.integers(0, 30, 700))  # some rows have fewer than n, some none
    cluster = rng.integers(0, 50, 700)
    worth = rng.integers(-values, values, 700) / 7
    order = np.lexsort((cluster, -worth, row))
    rank = np.arange(700) - np.searchsorted(row[order], row[order])
    np.testing.assert_array_equal(_best_of_each(row, cluster, worth, n), order[rank < n])
    nothing = np.zeros(0, np.int64)
    assert not len(_best_of_each(nothing, nothing, np.zeros(0), n))
