from __future__ import annotations

import copy
import json
import threading

import numpy as np
import pytest

from xtrellis.arrays.inputs import as_features
from xtrellis.core.errors import InputError, NotFittedError, ParameterError, StoreError
from xtrellis.store.state import State
from xtrellis.text import encoding
from xtrellis.text.vectorizer import Vectorizer

TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "Ein Öl-Gemälde, naïve Café",
    "",
    "日本語のテキスト 😀 emoji, the fox",
    "the the the fox " * 5,
]


def same(a, b) -> bool:
    return a.shape == b.shape and all(
        getattr(a, part).tobytes() == getattr(b, part).tobytes() for part in ("indptr", "indices", "data")
    )


def test_matrix_passes_the_door_without_a_copy():
    X = Vectorizer(ngrams=2).fit_transform(TEXTS)
    through = as_features(X)
    assert X.data.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.indptr.dtype == np.int32  # alike, as SciPy needs; only these few become int64 at the door
    for part in ("data", "indices"):
        assert np.shares_memory(getattr(X, part), getattr(through, part))
    assert X.indptr[3] == X.indptr[2]  # an empty text is an empty row
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(norms[[0, 1, 3, 4]], 1, rtol=1e-6)


def test_threads_and_blocks_do_not_matter(monkeypatch):
    words = [f"w{i * 7919 % 1000}" for i in range(4000)]
    texts = [" ".join(words[i : i + 20]) for i in range(0, 4000, 10)]
    params = {"ngrams": 3, "char_ngrams": "2-4", "min_df": 2}
    whole = Vectorizer(**params, threads=1)
    X = whole.fit_transform(texts)
    for size, threads in ((500, 1), (500, 2), (3000, 3)):
        monkeypatch.setattr(encoding, "LARGEST_BLOCK", size)
        monkeypatch.setattr(encoding, "SMALLEST_BLOCK", 1)
        cut = Vectorizer(**params, threads=threads)
        assert len(encoding.blocks(texts, threads)) > 5
        assert same(cut.fit_transform(texts), X)
        assert same(cut.transform(texts), X)
        for name, array in cut.to_state().arrays.items():
            assert array.tobytes() == whole.to_state().arrays[name].tobytes(), name


def test_fit_then_transform_is_fit_transform():
    both = Vectorizer(ngrams=2, char_ngrams="3-4", sublinear_tf=True)
    X = both.fit_transform(TEXTS)
    apart = Vectorizer(ngrams=2, char_ngrams="3-4", sublinear_tf=True).fit(TEXTS)
    assert apart.fitted
    assert same(apart.transform(TEXTS), X)
    assert apart.feature_names == both.feature_names
    assert apart.n_features == X.shape[1]
    for i, text in enumerate(TEXTS):
        assert same(apart.transform_one(text), apart.transform([text]))
        assert apart.transform_one(text).indices.tolist() == X.indices[X.indptr[i] : X.indptr[i + 1]].tolist()


def test_unseen_words_are_ignored_and_no_texts_give_no_rows():
    vectorizer = Vectorizer(ngrams=2).fit(["red car", "blue car"])
    assert list(vectorizer.feature_names) == ["blue", "blue car", "car", "red", "red car"]
    X = vectorizer.transform(["red green car", "nothing"])
    assert X.toarray().astype(bool).tolist() == [[False, False, True, True, False], [False] * 5]
    assert vectorizer.transform([]).shape == (0, 5)
    assert vectorizer.transform(iter(["car"])).nnz == 1


def test_normal_forms_and_accents():
    composed, apart = "caf\u00e9", "cafe\u0301"
    assert list(Vectorizer().fit([composed, apart]).feature_names) == [composed]
    assert list(Vectorizer(fold_accents=True).fit([composed, apart, "CAFE"]).feature_names) == ["cafe"]
    assert list(Vectorizer(fold_accents=True).fit(["ﬁ ²x 한글 Ångström ℝb"]).feature_names) == [
        "2x",
        "angstrom",
        "fi",
        "rb",
        "한글",
    ]
    # A mark that composes with nothing stays in its word; alone it is no word.
    assert list(Vectorizer().fit(["x\u0302y \u0302\u0302 ab"]).feature_names) == ["ab", "x\u0302y"]


def test_odd_texts_work():
    long = "a" * 3_000_000
    odd = ["\ud800 lone \udfff", "nul\0byte", "😀👍🏽", long, f"{long} b{long}", "İstanbul", "\x01\x02"]
    vectorizer = Vectorizer(ngrams=2, threads=2)
    X = vectorizer.fit_transform(odd)
    assert {"lone", "nul", "byte", "nul byte", "i\u0307stanbul"} <= {n for n in vectorizer.feature_names if len(n) < 99}
    assert vectorizer.feature_names.find(long) is not None
    assert same(vectorizer.transform(odd), X)
    chars = Vectorizer(ngrams=0, char_ngrams="2-3").fit(["\ud800x", "😀", "中文字", "\0\x01"])
    assert {" \ud800", "\ud800x", " 😀 ", "中文", "文字 ", " \0\x01"} <= set(chars.feature_names)


def test_explain_gives_places_in_the_original():
    text = "Red cafe\u0301s, RED  wine: cafe\u0301"
    vectorizer = Vectorizer(ngrams=2).fit(["red wine", "caf\u00e9 red", "red cafés"])
    names = vectorizer.feature_names
    found = [(text[start:end], [names[f] for f in features]) for start, end, features in vectorizer.explain(text)]
    assert found == [
        ("Red", ["red"]),
        ("Red cafe\u0301s", ["red caf\u00e9s"]),
        ("cafe\u0301s", ["caf\u00e9s"]),
        ("RED", ["red"]),
        ("RED  wine", ["red wine"]),
        ("wine", ["wine"]),
        ("cafe\u0301", ["caf\u00e9"]),
    ]
    chars = Vectorizer(ngrams=0, char_ngrams="3").fit(["abc"])
    assert [(s, e, chars.feature_names[f[0]]) for s, e, f in chars.explain("x abc")] == [
        (2, 4, " ab"),
        (2, 5, "abc"),
        (3, 5, "bc "),
    ]
    # Hangul typed as jamo, and a decomposition that NFC never composes again.
    jamo = Vectorizer().fit(["한글 क़लम"])
    text = "\u1112\u1161\u11ab\u1100\u1173\u11af \u0958लम"
    assert [text[s:e] for s, e, _ in jamo.explain(text)] == [text[:6], text[7:]]


def test_wrong_input_is_named():
    vectorizer = Vectorizer()
    with pytest.raises(NotFittedError, match="call fit first"):
        vectorizer.transform(["a"])
    with pytest.raises(InputError, match=r"texts\[1\] is None \(NoneType\)"):
        vectorizer.fit(["a", None])
    with pytest.raises(InputError, match="put it in a list"):
        vectorizer.fit("one text")
    with pytest.raises(InputError, match="got int"):
        vectorizer.fit(3)
    with pytest.raises(InputError, match="no texts"):
        vectorizer.fit([])
    with pytest.raises(InputError, match="no features are left of 2 texts"):
        vectorizer.fit(["", "!?"])
    vectorizer.fit(["some words"])
    for method in (vectorizer.transform_one, vectorizer.explain):
        with pytest.raises(InputError, match="must be a string; got bytes"):
            method(b"x")
    assert vectorizer.transform([np.str_("some")]).nnz == 1


@pytest.mark.parametrize(
    "params",
    [
        {"char_ngrams": "5-3"},
        {"char_ngrams": "0-3"},
        {"char_ngrams": (3, 5)},
        {"char_ngrams": "3-99"},
        {"min_df": 0},
        {"min_df": 1.5},
        {"max_df": -0.1},
        {"max_df": True},
        {"ngrams": -1},
        {"min_token_length": 0},
        {"max_features": 0},
        {"ngram": 2},
    ],
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ParameterError):
        Vectorizer(**params)


def test_parameters_that_do_not_go_together():
    with pytest.raises(ParameterError, match="leaves no features"):
        Vectorizer(ngrams=0).fit(["a b"])
    with pytest.raises(ParameterError, match="more than max_df"):
        Vectorizer(min_df=3, max_df=0.5).fit(["a b"] * 4)


def test_parameters_from_text():
    vectorizer = Vectorizer()
    for name, text in (("min_df", "3"), ("max_df", "0.5"), ("char_ngrams", "3-5"), ("ngrams", "2")):
        vectorizer.set_from_text(name, text)
    assert vectorizer.get_params()["min_df"] == 3
    assert vectorizer == Vectorizer(min_df=3, max_df=0.5, char_ngrams="3-5", ngrams=2)


def test_copies_of_a_fitted_one_work():
    vectorizer = Vectorizer(ngrams=2).fit(TEXTS)
    twin = copy.deepcopy(vectorizer)
    assert same(twin.transform(TEXTS), vectorizer.transform(TEXTS))
    assert not vectorizer.clone().fitted


def test_two_threads_share_one():
    vectorizer = Vectorizer(ngrams=2, threads=1)
    X = vectorizer.fit_transform(TEXTS)
    failed = []

    def work():
        failed.extend(i for i in range(50) if not same(vectorizer.transform(TEXTS), X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def stored(**params) -> tuple[dict, State]:
    """A fitted vectoriser as a store would hand it back: JSON, and read-only arrays."""
    vectorizer = Vectorizer(**params).fit(TEXTS)
    state = vectorizer.to_state()
    arrays = {}
    for name, array in state.arrays.items():
        arrays[name] = array.copy()
        arrays[name].flags.writeable = False
    return json.loads(json.dumps(vectorizer.to_config()["params"])), State(json.loads(json.dumps(state.meta)), arrays)


def test_store_round_trip():
    params = {"ngrams": 3, "char_ngrams": "2-3", "max_features": 40}
    vectorizer = Vectorizer(**params).fit(TEXTS)
    config, state = stored(**params)
    again = Vectorizer.from_state(config, state)
    assert again == vectorizer
    assert same(again.transform(TEXTS), vectorizer.transform(TEXTS))
    assert again.feature_names == vectorizer.feature_names
    assert again.explain(TEXTS[0]) == vectorizer.explain(TEXTS[0])
    for name, array in again.to_state().arrays.items():
        assert array is state.arrays[name]  # nothing was copied or made anew
    odd = State(state.meta, {n: _shifted(a) for n, a in state.arrays.items()})
    assert same(Vectorizer.from_state(config, odd).transform(TEXTS), vectorizer.transform(TEXTS))


def _shifted(array):
    """The same numbers at an odd address."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def _with(name, change):
    def attack(state):
        array = state.arrays[name].copy()
        state.arrays[name] = change(array)

    return attack


def _set(index, value):
    def change(array):
        array[index] = value
        return array

    return change


ATTACKS = {
    "no array": lambda s: s.arrays.pop("words.table"),
    "no names": lambda s: s.arrays.pop("names.text"),
    "not an array": lambda s: s.arrays.update(idf=[1.0]),
    "hash": lambda s: s.meta.update(hash=2),
    "no meta": lambda s: s.meta.clear(),
    "first_piece negative": lambda s: s.meta.update(first_piece=-1),
    "first_piece large": lambda s: s.meta.update(first_piece=10**6),
    "first_piece huge": lambda s: s.meta.update(first_piece=2**70),
    "first_piece small": lambda s: s.meta.update(first_piece=1),
    "first_piece text": lambda s: s.meta.update(first_piece="1"),
    "idf short": _with("idf", lambda a: a[:-1]),
    "idf nan": _with("idf", _set(0, np.nan)),
    "idf double": _with("idf", lambda a: a.astype(np.float64)),
    "word slot": _with("words.table", lambda a: np.where(a == a.max(), a, a | np.uint64(0xFFFF))),
    "word slot none": _with("words.table", lambda a: np.where(a == a.max(), np.uint64(0xFFFFFFFF), a)),
    "full table": _with("words.table", lambda a: np.zeros_like(a)),
    "full pieces": _with("pieces.table", lambda a: np.zeros_like(a)),
    "full grams": _with("grams.table", lambda a: np.zeros_like(a)),
    "table size": _with("words.table", lambda a: a[:-1]),
    "table empty": _with("words.table", lambda a: a[:0]),
    "table type": _with("words.table", lambda a: a.view(np.int64)),
    "gram shape": _with("grams.table", lambda a: a.reshape(-1, 2)),
    "gram rank": _with("grams.table", lambda a: a.ravel()),
    "gram feature": _with("grams.table", _set((0, 3), 10**6)),
    "word feature": _with("words.features", _set(0, 10**6)),
    "word feature low": _with("words.features", _set(0, -2)),
    "word features": _with("words.features", lambda a: a[:-1]),
    "offsets fall": _with("words.offsets", _set(1, 10**9)),
    "offsets end": _with("names.offsets", _set(-1, 10**9)),
    "params": lambda s: None,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_states_are_refused(attack):
    config, state = stored(ngrams=2, char_ngrams="3")
    ATTACKS[attack](state)
    if attack == "params":
        config["ngrams"] = -5
    with pytest.raises(StoreError):
        Vectorizer.from_state(config, state)


def test_nonsense_that_passes_the_checks_stays_inside():
    # Every number is in range but none is where it belongs: answers are wrong, reads are not.
    rng = np.random.default_rng(0)
    config, state = stored(ngrams=3, char_ngrams="2-3")
    for name in ("words.table", "pieces.table", "grams.table"):
        table = state.arrays[name].copy()
        rng.shuffle(table)
        state.arrays[name] = table
    out = Vectorizer.from_state(config, state)
    X = out.transform(TEXTS)
    assert X.indices.size == 0 or X.indices.max() < out.n_features
    out.explain(TEXTS[0])
