"""An index builder of a user's own: what it must return is told at once, in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.core import integer, param

X, Y = np.eye(6, dtype=np.float32), np.eye(6, dtype=np.float32)


class Returning(xt.Index):
    """Builds whatever it is told."""

    result: Any = None

    def build(self, labels: Any, *, seed: int) -> Any:
        return type(self).result


class Halves(xt.Index):
    """Labels in equal groups, by their numbers."""

    groups: int = param(integer(at_least=1), "groups of labels", default=2)

    def build(self, labels: Any, *, seed: int) -> xt.LabelTree:
        n = labels.n_labels
        return xt.LabelTree.from_parents([-1] + [0] * self.groups, np.arange(n), 1 + np.arange(n) % self.groups, n)

    @property
    def needs_vectors(self) -> bool:
        return False


@pytest.mark.parametrize("model", [xt.LinearTree, xt.SoftmaxTree])
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "Returning.build must return an xt.LabelTree; got None"),
        ([[0, 1], [2, 3]], r"must return an xt.LabelTree; got \[\[0, 1\], \[2, 3\]\]"),
        (xt.LabelTree([0, 2], [~0, ~1], 2), "Returning.build must place all 6 labels; its tree is of 2"),
    ],
)
def test_what_is_no_tree_of_these_labels(model: Any, result: Any, message: str) -> None:
    Returning.result = result
    with pytest.raises(xt.InputError, match=message):
        model(index=Returning(), threads=1).fit(X, Y)


def test_an_own_builder_is_trained_saved_and_loaded(tmp_path: Any) -> None:
    model = xt.LinearTree(index=Halves(groups=3), threads=1).fit(X, Y)
    assert [model.tree.labels_below(v).tolist() for v in range(1, 4)] == [[0, 3], [1, 4], [2, 5]]
    model.save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m", kind=xt.LinearTree)
    assert loaded.index == Halves(groups=3)
    assert (loaded.predict(X, 2).labels == model.predict(X, 2).labels).all()
