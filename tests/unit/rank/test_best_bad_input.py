"""What data may look like: `best` works on it, and saves, or says in one clear sentence what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt

N = 240  # rows: enough for a blend
TEXTS = [f"hint{i % 4} word{i % 7} text" for i in range(N)]
NAMES = ["bread", "cheese", "soup", "cake"]
LABELS = [[i % 4] for i in range(N)]


def features(texts: list[str]) -> sp.csr_array:
    return sp.csr_array(xt.Vectorizer().fit_transform(texts))


def matrix(labels: list[list[int]]) -> sp.csr_array:
    out = np.zeros((len(labels), 4), np.float32)
    for row, mine in zip(out, labels, strict=True):
        row[mine] = 1
    return sp.csr_array(out)


def numbers(n: int) -> list[str]:
    return [str(2000 + i) for i in range(n)]


LONG = ["soup " * 2_000, "x" * 10_000, "y" * 9_999 + "z", "cake"]
CASES: dict[str, dict[str, Any]] = {
    "one row": {"texts": TEXTS[:1], "labels": [[0]]},
    "two rows": {"texts": TEXTS[:2], "labels": LABELS[:2]},
    "names that are all digits": {"names": numbers(4), "texts": [f"{text} 2001 12" for text in TEXTS]},
    "names of 10,000 characters": {"names": LONG, "texts": [f"{text} soup soup" for text in TEXTS]},
    "names that are equal after folding": {"names": ["Soup", "SOUP", "soup", "ſoup"]},
    "names without letters": {"names": ["!", "§§", "…", "- -"]},
    "texts without letters": {"texts": ["!!! ??? …"] * N, "X": sp.csr_array((N, 5), dtype=np.float32)},
    "some texts are empty": {"texts": ["" if i % 3 else text for i, text in enumerate(TEXTS)]},
    "no label names": {"names": None},
    "no texts": {"texts": None},
    "neither texts nor names": {"texts": None, "names": None},
    "rows without features": {"X": sp.csr_array((N, 5), dtype=np.float32)},
    "some rows without features": {
        "X": sp.csr_array(np.eye(N, 5, dtype=np.float32)), "labels": [[i % 4] if i % 2 else [] for i in range(N)]
    },
    "every row has all labels": {"labels": [[0, 1, 2, 3]] * N},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_best_takes_it(case: str, tmp_path: Path) -> None:
    given = CASES[case]
    texts: list[str] | None = given.get("texts", TEXTS)
    names: list[str] | None = given.get("names", NAMES)
    labels = given.get("labels", LABELS)
    X = given["X"] if "X" in given else features(texts or TEXTS)
    Y = matrix(labels)
    model = xt.preset("best", threads=1).fit(X, Y, texts=texts, label_names=names)
    top = model.predict(X, 3, texts=texts)
    assert np.isfinite(top.scores).all()
    assert ((top.scores >= 0) & (top.scores <= 1)).all()
    assert model.answers_probabilities == (X.shape[0] >= 200)
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m").predict(X, 3, texts=texts)
    assert (again.labels == top.labels).all()
    assert (again.scores == top.scores).all()
    why = model.explain(X[[0]], 0, texts=None if texts is None else texts[:1])
    assert len(why.members) == len(model.members) == (4 if texts is not None and names is not None else 2)


def test_a_text_asked_later_may_be_anything() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset("best", threads=1)).fit(
        TEXTS, [[NAMES[i] for i in row] for row in LABELS]
    )
    odd = ["", " ", "!!!", "\x00\x1b[31m", "ſoup", "x" * 100_000, "soup " * 20_000, "𝕤𝕠𝕦𝕡", "\ud800 soup", "12 34"]
    many = tagger.tag_many(odd)
    for text, tags in zip(odd, many, strict=True):
        assert tagger.tag(text) == tags
        assert all(0 <= tag.probability <= 1 for tag in tags)
        assert bool(tags) != bool(tags.reason)


def test_texts_that_are_missing_later_are_asked_for() -> None:
    X = features(TEXTS)
    model = xt.preset("best", threads=1).fit(X, matrix(LABELS), texts=TEXTS, label_names=NAMES)
    with pytest.raises(xt.InputError, match="texts"):
        model.predict(X, 3)


def test_no_row_has_a_label() -> None:
    with pytest.raises(xt.InputError, match="at least one row with a label; Y is empty"):
        xt.preset("best").fit(features(TEXTS), matrix([[]] * N), texts=TEXTS, label_names=NAMES)
