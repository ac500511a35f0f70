"""A NameMatcher that learns on: what is counted of new labels is what a training on all rows would count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis.data import TrainingData

NAMES = ["grey owl", "river trout", "oak tree", "mountain lake"]
OLD = ["a grey owl", "the oak tree and a mountain lake", "an oak tree", "grey owl in an oak tree", "river trout"] * 6
NEW = ["a mountain lake", "mountain lake with river trout", "grey owl at a mountain lake"] * 4
NOTHING = np.zeros(0, np.int64)


def labels(texts: list[str], known: int) -> csr_array:
    """A label is right where the text has its name; but the last one before it was known is not."""
    table = [[float(name in text and i < known) for i, name in enumerate(NAMES)] for text in texts]
    return csr_array(np.array(table, np.float32))


@pytest.mark.parametrize(("opening", "before", "after"), [(None, 6, 12), (20, 0, 8)])
def test_names_of_new_labels_are_counted_in_all_rows(opening, before, after):
    old, new = labels(OLD, 3), labels(NEW, 4)
    X = csr_array((len(OLD) + len(NEW), 0), dtype=np.float32)
    Y = csr_array(np.concatenate([old.toarray(), new.toarray()]))
    first = xt.NameMatcher(threads=1, opening=opening).fit(None, old[:, :3], texts=OLD, label_names=NAMES[:3])
    data = TrainingData.of(X, Y, texts=[*OLD, *NEW], label_names=NAMES)
    fresh = np.arange(len(OLD), len(OLD) + len(NEW))
    found, full = first.updated(data, fresh, NOTHING).scorer, first.clone().fit(data).scorer
    np.testing.assert_array_equal(found.rows, full.rows)
    np.testing.assert_array_equal(found.matches[0], full.matches[0])
    np.testing.assert_array_equal(found.hits[0], full.hits[0])
    assert found.matches[0, 3] == before + after  # six rows had the name before the label was there
    assert found.hits[0, 3] == after


def test_labels_that_are_learned_again_are_counted_anew():
    Y = labels(OLD, 3)[:, :3]
    first = xt.NameMatcher(threads=1).fit(None, Y, texts=OLD, label_names=NAMES[:3])
    kept = [i for i, text in enumerate(OLD) if "owl" not in text]  # these rows were forgotten
    X = csr_array((len(kept), 0), dtype=np.float32)
    data = TrainingData.of(X, Y[kept], texts=[OLD[i] for i in kept], label_names=NAMES[:3])
    found = first.updated(data, NOTHING, np.array([0])).scorer
    assert (found.rows[0], found.matches[0, 0], found.hits[0, 0]) == (0, 0, 0)
    np.testing.assert_array_equal(found.matches[:, 1:], first.scorer.matches[:, 1:])
