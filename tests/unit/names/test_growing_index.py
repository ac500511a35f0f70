"""Names that are added to an index: the same arrays as of all names at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from xtrellis.names.index import MOST_LABELS, NameIndex
from xtrellis.names.parse import parse
from xtrellis.names.updating import HowFound
from xtrellis.text import WordReader

READER = WordReader()
WORDS = Counter({f"w{i}": 1 + 3 * i for i in range(60)} | {"fish": 2, "food": 7, "lake": 300, "binding": 3, "site": 1})
NAMES = [
    ("lake fish",), ("fish (food)", "lake"), ("binding_site",), ("fish (food)",), (), ("Web/CSS/color", "Web/CSS/a b"),
    ("bindingSite", "w1 w2 w1"), ("42",),
    *(tuple(f"w{(7 * i + j) % 60} w{i % 9}" for j in range(1 + i % 3)) for i in range(50)),
]  # fmt: skip


def how(read: list[int] | None = None) -> HowFound:
    def words() -> Counter[str]:
        if read is not None:
            read.append(1)
        return WORDS

    return HowFound(READER, 0.3, 0.7, 1000, words, 1)


def whole(names) -> NameIndex:
    flat = [name for of_label in names for name in of_label]
    labels = [label for label, of_label in enumerate(names) for _ in of_label]
    return NameIndex.build(
        flat, labels, parse(flat, READER, WORDS), known=WORDS, n_texts=1000, label_rows=np.arange(len(names)),
        partial=0.3, likeness=0.7,
    )  # fmt: skip


def same(a: NameIndex, b: NameIndex) -> None:
    left, right = a.to_arrays(), b.to_arrays()
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    assert a.n_labels == b.n_labels


@pytest.mark.parametrize("n", [0, 1, 4, 5, 20, 57, 58])
def test_an_index_that_grows_is_that_of_all_names(n):
    known = whole(NAMES[:n])
    stored = NameIndex.from_arrays(known.to_arrays(), n_labels=n, partial=0.3, likeness=0.7)
    for before in (known, stored):
        same(how().index_with(before, NAMES, np.arange(len(NAMES))), whole(NAMES))


def test_one_after_another_as_well():
    index = whole(NAMES[:3])
    for n in range(4, len(NAMES) + 1):
        index = how().index_with(index, NAMES[:n], np.arange(n))
    same(index, whole(NAMES))


def test_names_that_are_read_otherwise_now_are_read_again():
    keys = [(f"lib:w{i}",) for i in range(7)]  # five of them make "lib:" a qualifier
    same(how().index_with(whole(keys[:3]), keys, np.arange(7)), whole(keys))
    coded = [(f"p{i} w{i}",) for i in range(9)]
    same(how().index_with(whole([("w1",), *coded]), [("w1",), *coded, ("w2",), ("w3",), ("w4",)], np.arange(13)),
         whole([("w1",), *coded, ("w2",), ("w3",), ("w4",)]))  # fmt: skip


def test_labels_that_are_called_otherwise_are_read_again():
    other = [("lake w5",), *NAMES[1:]]
    same(how().index_with(whole(NAMES[:20]), other, np.arange(len(NAMES))), whole(other))
    moved = [("lake fish", "fish (food)"), ("lake",), *NAMES[2:]]  # the same names, of other labels
    same(how().index_with(whole(NAMES[:20]), moved, np.arange(len(NAMES))), whole(moved))


def test_a_name_of_very_many_labels_loses_none_of_them():
    many = [("fish",)] * MOST_LABELS + [("lake",)]
    same(how().index_with(whole(many), [*many, ("fish",)], np.arange(len(many) + 1)), whole([*many, ("fish",)]))


def test_words_are_counted_for_new_names_alone():
    read: list[int] = []
    known = whole(NAMES)
    assert how(read).index_with(known, NAMES, np.arange(len(NAMES))) is known
    assert not read
    how(read).index_with(known, [*NAMES, ("new",)], np.arange(len(NAMES) + 1))
    assert read


def test_some_labels_alone_are_found_as_among_all():
    index = whole(NAMES)
    some = np.array([1, 3, 5, 20, 21])
    among = how().index_among(index, some, NAMES, np.arange(5))
    assert among.n_labels == 5
    texts = READER.read(["w1 w2 fish in a lake", "CSS color", "w35 w2 w12 w0 food fish", "binding site"])
    for found, ids in ((index, np.arange(len(NAMES))), (among, some)):
        offsets, labels, *_ = found.native.candidates(texts.blob, texts.offsets, texts.settings)
        rows = np.repeat(np.arange(4), np.diff(offsets))
        pairs = {(r, int(ids[label])) for r, label in zip(rows.tolist(), labels.tolist(), strict=True)}
        wanted = {(r, label) for r, label in pairs if label in some}
        if found is index:
            expected = wanted
    assert wanted == expected
    assert expected
