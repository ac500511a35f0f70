"""A vectoriser that grows: columns stay, new ones follow, and what goes leaves nothing behind."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.text import Vectorizer

KINDS = [
    {},
    {"ngrams": 2},
    {"ngrams": 3, "char_ngrams": "2-3"},
    {"ngrams": 0, "char_ngrams": "3-4"},
    {"ngrams": 3, "min_df": 3},
    {"ngrams": 2, "max_df": 0.2},
    {"stop_words": ["w7", "w80"], "ngrams": 2},
]


def texts(n: int, first: int, last: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(f"w{chance.randrange(first, last)}" for _ in range(12)) for _ in range(n)]


OLD, NEW, NEWER, ASKED = texts(200, 0, 60, 0), texts(60, 20, 90, 1), texts(50, 70, 120, 2), texts(80, 0, 130, 3)


def named(vectorizer: Vectorizer) -> list[tuple[str, bool]]:
    """Each feature's text, and whether it is a piece: the same text may be both."""
    known = vectorizer._fitted()
    return list(zip(known.names, known.is_piece(np.arange(len(known.names), dtype=np.int32)).tolist(), strict=True))


def counts(vectorizer: Vectorizer, some: list[str] = ASKED) -> list[dict[tuple[str, bool], float]]:
    plain = vectorizer._with(vectorizer._fitted()).set_params(idf=False, normalize=False)
    X, names = plain.transform(some), named(vectorizer)
    spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [{names[j]: float(v) for j, v in zip(X.indices[a:b], X.data[a:b], strict=True)} for a, b in spans]


@pytest.mark.parametrize("given", KINDS, ids=str)
def test_it_knows_what_a_fit_on_all_knows(given):
    first = Vectorizer(**given).fit(OLD)
    second = first.grown(NEW, 260, OLD)
    third = second.grown(NEWER, 310, OLD + NEW)
    whole = Vectorizer(**given).fit(OLD + NEW + NEWER)
    assert first.n_features < second.n_features < third.n_features
    assert named(third)[: first.n_features] == named(first)
    np.testing.assert_array_equal(third._fitted().idf[: second.n_features], second._fitted().idf)
    if not first.drops_features:
        assert set(named(third)) == set(named(whole))
    assert len(set(named(third))) == third.n_features
    wanted = set(named(whole)) & set(named(third))
    assert [{k: v for k, v in row.items() if k in wanted} for row in counts(third)] == [
        {k: v for k, v in row.items() if k in wanted} for row in counts(whole)
    ]


def test_rows_without_a_new_word_stay_the_same():
    first = Vectorizer(ngrams=2).fit(OLD)
    grown = first.grown(["quite another text"], 201)
    assert grown.n_features == first.n_features + 5
    before, after = first.transform(OLD), grown.transform(OLD)
    np.testing.assert_array_equal(before.indices, after.indices)
    np.testing.assert_array_equal(before.data, after.data)
    assert first.grown(OLD[:3], 203) is first
    assert Vectorizer(max_features=50).fit(OLD).grown(NEW, 260).n_features == 50


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_make_no_difference(threads):
    many = texts(3000, 0, 4000, 4)
    one, other = (Vectorizer(ngrams=2, threads=n).fit(OLD).grown(many, 3200) for n in (1, threads))
    for name, array in one.to_state().arrays.items():
        np.testing.assert_array_equal(array, other.to_state().arrays[name])


@pytest.mark.parametrize("given", KINDS[:5], ids=str)
def test_what_goes_is_gone_and_may_come_again(given):
    grown = Vectorizer(**given).fit(OLD).grown(NEW, 260, OLD).grown(NEWER, 310, OLD + NEW)
    gone = np.flatnonzero(np.random.default_rng(0).random(grown.n_features) < 0.3)
    names = named(grown)
    less = grown.without_features(gone)
    dead = {names[i] for i in gone}
    expected = [{k: v for k, v in row.items() if k not in dead} for row in counts(grown)]
    assert counts(less) == expected
    again = less.grown(OLD + NEW + NEWER, 310)
    assert counts(again) == counts(grown)
    assert counts(copy.deepcopy(less)) == expected  # by the store


def test_the_texts_of_what_is_gone_are_nowhere():
    grown = Vectorizer(ngrams=2, char_ngrams="5-5").fit(OLD).grown(["secret okapi w1"], 201)
    names = list(grown.feature_names)
    less = grown.without_features(np.array([i for i, name in enumerate(names) if "w1" not in name.split()]))
    for array in less.to_state().arrays.values():
        assert b"okapi" not in array.tobytes() or "okapi w1" in list(less.feature_names)
    less = less.without_features(np.array([i for i, name in enumerate(names) if "okapi" in name or "secre" in name]))
    assert all(b"okapi" not in array.tobytes() for array in less.to_state().arrays.values())


def test_a_grown_one_is_stored_explained_and_checked():
    grown = Vectorizer(ngrams=2, char_ngrams="2-3").fit(OLD).grown(NEW, 260)
    loaded = copy.deepcopy(grown)
    for a, b in zip(counts(grown), counts(loaded), strict=True):
        assert a == b
    for start, end, features in loaded.explain(NEW[0]):
        pieces = [named(loaded)[i][1] for i in features]
        assert pieces == sorted(pieces)
        assert all(named(loaded)[i][0].strip() in NEW[0][start:end] for i in features)
    state = grown.to_state()
    for wrong in (-1, 3, 10**6, "9", True):
        state.meta["fitted"] = wrong
        with pytest.raises(xt.StoreError, match=r"fitted|words\.features"):
            Vectorizer.from_state({}, state)
