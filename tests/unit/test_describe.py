from __future__ import annotations

import io
import json

import numpy as np
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.data.describe import describe


def shown(stats: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(stats.render())  # type: ignore[attr-defined]
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_numbers_of_a_small_set() -> None:
    Y = np.zeros((10, 4))
    Y[:9, 0] = 1  # 9 rows
    Y[:2, 1] = 1  # 2 rows
    Y[0, 2] = 1  # 1 row; label 3 has none; row 9 has none
    X = np.eye(10, 12)
    X[4] = 0
    stats = describe(xt.Dataset(X, Y, name="small"))
    assert (stats.rows, stats.features, stats.labels) == (10, 12, 4)
    assert (stats.label_entries, stats.feature_entries) == (12, 9)
    assert stats.labels_per_row.mean == 1.2
    assert (stats.rows_per_label.min, stats.rows_per_label.median, stats.rows_per_label.max) == (1, 2, 9)
    assert stats.tail_labels == 2 / 3
    assert stats.tail_entries == 3 / 12
    assert (stats.rows_without_labels, stats.rows_without_features) == (1, 1)
    assert (stats.labels_without_rows, stats.features_without_rows) == (1, 3)
    assert [(b.first, b.last, b.labels) for b in stats.histogram] == [(1, 1, 1), (2, 3, 1), (4, 7, 0), (8, 15, 1)]
    assert json.loads(json.dumps(stats.to_dict()))["rows_per_label"]["max"] == 9
    text = shown(stats)
    assert "66.7%" in text
    assert "8–15" in text
    assert "█" in text


def test_texts_and_nothing() -> None:
    texts = describe(xt.Dataset(None, np.ones((2, 1)), texts=["abc", ""]))
    assert texts.text_characters.max == 3
    assert texts.rows_without_features == 1
    assert "characters per text" in shown(texts)
    empty = describe(xt.Dataset(np.zeros((0, 3)), np.zeros((0, 2))))
    assert empty.histogram == ()
    assert empty.labels_without_rows == 2
    assert "rows" in shown(empty)


def test_memory_follows_the_entries_not_the_columns() -> None:
    huge = 2**31 - 1
    Y = sp.csr_array((np.ones(3), np.array([0, 5, 5]), np.array([0, 2, 3])), shape=(2, huge))
    stats = describe(xt.Dataset(sp.csr_array((2, huge)), Y))
    assert stats.labels_without_rows == huge - 2
    assert stats.features_without_rows == huge
