"""What `predict` and `explain` take beside features: anything else is refused in one sentence, never by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.model import check_label, check_label_ids

NO_IDS: list[Any] = [
    [[1], [2, 3]], [None], [1, None], None, [], "12", ["1"], [1.0], {1, 2}, [2**70], [1, "a"], [True], 1j
]  # fmt: skip


@pytest.mark.parametrize("labels", NO_IDS, ids=repr)
def test_label_ids(labels: Any) -> None:
    with pytest.raises(xt.InputError, match="labels must be a list of at least one label id; got"):
        check_label_ids(labels, 5)


def test_label_ids_of_any_integers() -> None:
    for labels in ([3, 1, 3], (1, 3), np.array([3, 1], ">i4"), np.array([[1], [3]], np.uint8), range(1, 4, 2)):
        assert check_label_ids(labels, 5).tolist() == [1, 3]
    for wrong in ([5], [-1], np.array([2**64 - 1], np.uint64)):
        with pytest.raises(xt.InputError, match="ids from 0 to 4; got"):
            check_label_ids(wrong, 5)


NO_COUNTS: list[Any] = [
    ["a", "b", "c"], [1, 2], [[1], [2], [3, 4]], [None, 1, 2], "abc", 3, [1, 2, np.nan], [1, 2, -1], [1j, 2, 3],
    [2**70, 1, 2], {}, [True, False, True],
]  # fmt: skip


@pytest.mark.parametrize("counts", NO_COUNTS, ids=repr)
def test_label_counts(counts: Any) -> None:
    with pytest.raises(xt.InputError, match="label_counts must be 3 numbers"):
        check_label(1, counts, 3)


@pytest.mark.parametrize(
    "counts", [[1, 0, 7], (1.0, 0.5, 7.0), np.array([1, 0, 7], np.uint8), np.array([1, 0, 7], ">i8")]
)
def test_label_counts_that_are(counts: Any) -> None:
    label, found = check_label(np.int64(1), counts, 3)
    assert (label, type(label)) == (1, int)
    assert found is not None
    assert (-found).argmin() == 2  # unsigned ones would wrap around


def test_no_features_at_all() -> None:
    model = xt.LinearTree(threads=1).fit(np.eye(4), np.eye(4))
    for each in (model, xt.Ensemble.of([model, model])):
        for wrong in (None, 3, "text", {}, np.array(3.0), object()):
            with pytest.raises(xt.InputError, match="X must"):
                each.predict(wrong)
    with pytest.raises(xt.InputError, match="X must be a scipy sparse matrix or a NumPy array; got NoneType"):
        xt.Ensemble.of([model]).score(None, np.eye(4))
    with pytest.raises(xt.InputError, match=r"validation must be a pair \(X, Y\); got int"):
        xt.Ensemble.of([model], combine="calibrated", validation=3)
