"""Answers by name: one row and many, with padding and gaps, with ids and probabilities or without."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import StringTable
from xtrellis.tagger.tags import Tag, named_tags

NAMES, IDS = StringTable.of(["birds", "", "owls", "eagles"]), StringTable.of(["p1", "p2", "p3", "p4"])
ROWS = [[2, 0, 3], [1, -1, -1], [-1, 3, -1], [-1, -1, -1], [0, 1, 2]]  # a threshold may leave gaps


def top(rows, of):
    labels = np.array(rows, np.int32).reshape(-1, 3)
    return xt.TopK(labels, of + np.arange(labels.size, dtype=np.float32).reshape(labels.shape) / 64, 4)


@pytest.mark.parametrize("ids", [NAMES, IDS])
@pytest.mark.parametrize("probable", [False, True])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ROWS[1:2], ROWS[3:4], [ROWS[0], ROWS[4]], []])
def test_as_one_by_one(rows, ids, probable):
    scores, known = top(rows, 2), top(rows, 0) if probable else None
    found = named_tags(NAMES, ids, scores, scores, known)
    assert len(found) == len(rows)
    for i, (tags, labels) in enumerate(zip(found, rows, strict=True)):
        there = [j for j, label in enumerate(labels) if label >= 0]
        assert [tag.label for tag in tags] == [NAMES[labels[j]] for j in there]
        assert [tag.score for tag in tags] == [scores.scores[i, j] for j in there]
        assert [tag.id for tag in tags] == [ids[labels[j]] for j in there]
        assert [tag.probability for tag in tags] == [known.scores[i, j] if known else None for j in there]
        assert all(type(tag) is Tag for tag in tags)


def test_a_tag_survives_a_pickle():
    for tag in (Tag("a", 0.5), Tag("a", 0.5, 0.25, "p1")):
        again = pickle.loads(pickle.dumps(tag))
        assert (again, again.id, again.probability) == (tag, tag.id, tag.probability)
