"""`NameMatcher` on what people have and on what nobody should have."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.data import TrainingData
from xtrellis.names.index import MOST_LABELS, MOST_POSTS
from xtrellis.store import State

TEXTS = ["a boat on the lake", "fish in the lake", "the boats race", "salmon soup", "cooking fish soup"] * 6
LABELS = ["boats", "lakes", "fish (food)", "fish (animals)", "soups", "volcanoes"]
GIVEN = [
    ["boats", "lakes"],
    ["fish (animals)", "lakes"],
    ["boats"],
    ["fish (food)", "soups"],
    ["fish (food)", "soups"],
] * 6


def matrix(rows=GIVEN, names=LABELS):
    return sp.csr_array(np.array([[name in row for name in names] for row in rows], np.float32))


def fitted(**params):
    return xt.NameMatcher(**params).fit(None, matrix(), texts=TEXTS, label_names=LABELS)


def answers(model, text, k=5, names=LABELS):
    return [names[label] for label, _ in next(iter(model.predict(None, k, texts=[text])))]


def test_inflected_names_are_found():
    model = fitted()
    assert answers(model, "a new boat")[0] == "boats"
    assert "lakes" in answers(model, "lake")
    assert answers(model, "nothing of it") == []


def test_a_label_without_rows_is_found_by_its_name():
    assert answers(fitted(), "volcanoes of the north") == ["volcanoes"]


def test_only_equal_words_where_likeness_is_1():
    model = fitted(likeness=1)
    assert answers(model, "a new boat") == []
    assert answers(model, "new boats") == ["boats"]


def test_stems_of_a_language():
    pytest.importorskip("snowballstemmer")
    assert set(answers(fitted(stem="english", likeness=1), "the boat and a lake")) == {"boats", "lakes"}


def test_several_names_for_a_label():
    names = [["boats", "vessels"], ["lakes"], ["fish"], [], ["soups"], "volcanoes"]
    model = xt.NameMatcher().fit(None, matrix(), texts=TEXTS, names=names)
    assert answers(model, "old vessels") == ["boats"]
    assert model.explain(None, 0, texts=["old vessels"]).matches[0].name == "vessels"
    with pytest.raises(xt.InputError, match=r"names\[1\] is 7"):
        xt.NameMatcher().fit(None, matrix(), texts=TEXTS, names=[["a"], 7])
    with pytest.raises(xt.InputError, match="one for each of 6 labels; got 2"):
        xt.NameMatcher().fit(None, matrix(), texts=TEXTS, names=[["a"], ["b"]])


def test_names_beyond_the_labels_of_the_rows():
    model = xt.NameMatcher().fit(None, matrix(), texts=TEXTS, names=[[n] for n in [*LABELS, "glaciers"]])
    assert model.n_labels == len(LABELS) + 1
    assert answers(model, "a glacier", names=[*LABELS, "glaciers"]) == ["glaciers"]


def test_names_are_needed():
    with pytest.raises(xt.InputError, match="pass label_names="):
        xt.NameMatcher().fit(None, matrix(), texts=TEXTS)
    with pytest.raises(xt.InputError, match="reads texts; pass texts="):
        xt.NameMatcher().fit(sp.csr_array((30, 2)), matrix(), label_names=LABELS)
    with pytest.raises(xt.InputError, match="reads texts; pass texts="):
        fitted().predict(sp.csr_array((1, 2)))
    with pytest.raises(xt.InputError, match="one text for each row"):
        fitted().predict(sp.csr_array((2, 2)), texts=["a"])


@pytest.mark.parametrize("names", [["0", "1", "2", "3", "4", "5"], [" ", "", "…", "7", "(8)", "9"]])
def test_names_without_letters_find_nothing_and_it_is_said(names):
    said = []
    with xt.listen(lambda event: said.append(event)):
        model = xt.NameMatcher().fit(None, matrix(), texts=TEXTS, label_names=names)
    assert any("no label name has a word with a letter" in str(event) for event in said)
    assert answers(model, "1 2 3 boats") == []


def test_one_row_and_texts_without_letters():
    one = xt.NameMatcher().fit(None, matrix()[:1], texts=TEXTS[:1], label_names=LABELS)
    assert "boats" in answers(one, "boats")
    silent = xt.NameMatcher().fit(None, matrix(), texts=["… 1", ""] * 15, label_names=LABELS)
    assert answers(silent, "boats") == ["boats"]
    assert answers(silent, "?!") == []


def test_a_name_of_10_000_characters():
    names = [*LABELS[:4], "soup " * 2000, "x" * 10_000]
    model = xt.NameMatcher().fit(None, matrix(), texts=TEXTS, label_names=names)
    assert model.predict(None, 5, texts=["soup " * 5000, "x" * 10_000]).labels[:, 0].tolist() == [4, 5]


def test_very_many_equal_names_cost_no_more_than_some():
    n = 4 * MOST_LABELS
    names = [["Lake", "LAKE", "lake"][i % 3] for i in range(n)]
    Y = sp.csr_array((np.ones(30, np.float32), (np.arange(30), np.arange(30) + n - 30)), shape=(30, n))
    model = xt.NameMatcher().fit(None, Y, texts=TEXTS, label_names=names)
    top = model.predict(None, n, texts=["lake"])
    assert (top.labels >= 0).sum() == MOST_LABELS
    assert set(range(n - 30, n)) <= set(top.labels[0].tolist())  # those with rows are among them


def test_a_word_of_very_many_names_leads_to_some():
    names = [f"lake {chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}z" for i in range(2 * MOST_POSTS)]
    Y = sp.csr_array((np.ones(30, np.float32), (np.arange(30), np.arange(30))), shape=(30, len(names)))
    model = xt.NameMatcher(partial=0.1).fit(None, Y, texts=TEXTS, label_names=names)
    assert (model.predict(None, len(names), texts=["lake"]).labels >= 0).sum() <= MOST_POSTS
    assert next(iter(model.predict(None, 1, texts=[names[-1]])))[0][0] == len(names) - 1


def test_training_rows_can_be_left_out():
    model = fitted()
    texts, Y = TEXTS[:5], matrix()[:5]
    # Without its own row: one match and, if it has the label, one hit and one row less.
    scorer = model.scorer
    pairs = sp.csr_array(np.ones((5, 6), np.float32))
    left = model.score(None, pairs, texts=texts, leave_out=Y).toarray()
    for row in range(5):
        has = Y[[row]].toarray()[0].astype(np.int32)
        saved = scorer.rows, scorer.matches, scorer.hits
        scorer.rows = scorer.rows - has
        scorer.matches = np.maximum(scorer.matches - 1, 0)
        scorer.hits = np.maximum(scorer.hits - has, 0)
        vars(scorer).pop("native", None)
        expected = model.score(None, pairs[[row]], texts=texts[row : row + 1]).toarray()[0]
        scorer.rows, scorer.matches, scorer.hits = saved
        vars(scorer).pop("native", None)
        np.testing.assert_allclose(left[row], expected, rtol=1e-6)
    with pytest.raises(xt.InputError, match="leave_out must be the labels of these 5 rows"):
        model.predict(None, texts=texts, leave_out=Y[:3])


def test_an_explanation_says_where_and_why():
    text = "Zwei Sätze é. The fish soup: food for all"
    why = fitted().explain(None, 2, texts=[text])
    (match,) = why.matches
    assert match.whole
    assert match.exact
    assert [(text[w.start : w.end], w.qualifier) for w in match.words] == [("fish", False), ("food", True)]
    assert match.log_odds == pytest.approx(match.bias + sum(reason.amount for reason in match.reasons), abs=1e-12)
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(why.render(LABELS))
    console.print(why.render(LABELS, compact=True, top=3))
    said = console.file.getvalue()
    assert "“fish (food)” found as it is: fish, food" in said
    assert "more" in said
    missing = fitted().explain(None, 5, texts=[text])
    assert not missing.reached
    console.print(missing.render(LABELS))
    assert "the text does not have its name" in console.file.getvalue()
    assert missing.open_score == 0


def test_parts_of_names_say_so():
    names = ["boat races", "lakes", "fish", "fish", "soups", "volcanoes"]
    model = xt.NameMatcher(partial=0.3).fit(None, matrix(), texts=TEXTS, label_names=names)
    (match,) = model.explain(None, 0, texts=["the boat"]).matches
    assert (match.whole, match.exact, [word.word for word in match.words]) == (False, False, ["boat"])


def test_in_an_ensemble_and_a_tagger(tmp_path):
    texts, labels = TEXTS, GIVEN
    tagger = xt.Tagger(xt.Vectorizer(), xt.Ensemble(models=[xt.LinearTree(), xt.NameMatcher()])).fit(texts, labels)
    tagger.save(tmp_path / "tagger")
    again = xt.load(tmp_path / "tagger")
    assert again.tag("boats", k=1)[0].label == "boats"
    why = again.explain("boats", "boats").explanation
    assert [bool(member.matches) for member in why.members] == [False, True]
    alone = xt.Tagger(xt.Vectorizer(), xt.NameMatcher()).fit(texts, labels)
    assert alone.tag("soups", k=1)[0].label == "soups"
    why = alone.explain("hot soups", "soups")
    assert why.explanation.matches[0].exact
    assert [word.text for word in why.words.that_push()] == ["soups"]


ARRAYS = (
    "words.offsets words.table weights near.offsets near.words near.likeness forms.offsets forms.words forms.main "
    "forms.ambiguity forms.name forms.label_offsets forms.labels posts.offsets posts.forms posts.shares posts.others "
    "posts.other_shares curves.at curves.values curves.used curves.bias labels.rows labels.matches labels.hits general"
)


@pytest.mark.parametrize("name", ARRAYS.split())
def test_damaged_arrays_are_refused(name):
    names = [*LABELS[:5], "lake fishing"]
    state = xt.NameMatcher().fit(None, matrix(), texts=TEXTS, label_names=names).to_state()
    array = state.arrays[name]
    damages = [np.zeros(0, array.dtype), array[:-1] if array.ndim == 1 else array[:, :-1], array.astype(np.complex128)]
    wild = array.copy()
    wild.flat[-1] = np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max - 1
    if array.dtype.kind == "i" and name not in ("labels.rows", "labels.matches", "labels.hits"):
        damages.append(wild)
        low = array.copy()
        low.flat[-1] = -2
        damages.append(low)
    if array.dtype.kind == "f":
        damages.append(wild)
    if name == "words.table":
        full = array.copy()
        full[:] = 0
        damages += [full, wild]
    for damage in damages:
        with pytest.raises(xt.StoreError):
            xt.NameMatcher.from_state({}, State(meta=state.meta, arrays={**state.arrays, name: damage}))
    rest = {key: value for key, value in state.arrays.items() if key != name}
    with pytest.raises(xt.StoreError):
        xt.NameMatcher.from_state({}, State(meta=state.meta, arrays=rest))


def test_a_wrong_number_of_labels_is_refused():
    state = fitted().to_state()
    for wrong in (0, -1, 5, 2**40, True, None, "6"):
        with pytest.raises(xt.StoreError):
            xt.NameMatcher.from_state({}, State(meta={"n_labels": wrong}, arrays=state.arrays))


def test_openings_are_whole_words_of_the_beginning():
    model = fitted(opening=12)
    assert model.may_deny
    assert not fitted().may_deny
    assert answers(model, "the boat on the lake") == ["boats"]  # 'the boat on' are eleven characters
    assert answers(model, "boats and a lot of lakes") == ["boats"]
    assert answers(model, "a lake boating") == ["lakes"]  # a cut word is no word
    assert answers(model, "volcanoes of Iceland") == ["volcanoes"]
    why = model.explain(None, 0, texts=["the boat on the lake"])
    assert why.rank == 1
    assert xt.NameMatcher(opening=4).fit(None, matrix(), texts=TEXTS, label_names=LABELS).n_labels == 6
    with pytest.raises(xt.ParameterError, match="opening"):
        xt.NameMatcher(opening=0)


def test_progress_is_told():
    titles = []

    class Listener:
        def begin(self, title, total, unit):
            titles.append(title)
            return 0

        def advance(self, step, amount):
            pass

        def end(self, step):
            pass

        def note(self, message):
            pass

    with progress.listen(Listener()):
        fitted()
    assert {"counting words", "looking for names", "learning from names found"} <= set(titles)


def test_matchers_of_one_training_share_their_index():
    data = TrainingData.of(sp.csr_array((30, 0), dtype=np.float32), matrix(), texts=TEXTS, label_names=LABELS)
    whole, title = xt.NameMatcher(threads=1).fit(data), xt.NameMatcher(threads=1, opening=12).fit(data)
    assert title.index is whole.index
    assert xt.NameMatcher(threads=1, partial=0.5).fit(data).index is not whole.index
    alone = xt.NameMatcher(threads=1, opening=12).fit(None, matrix(), texts=TEXTS, label_names=LABELS)
    found, again = (model.to_state().arrays for model in (title, alone))
    assert all(np.array_equal(found[name], again[name]) for name in found)
