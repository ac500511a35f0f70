"""What becomes of Annif's words, subjects and parameters, without Annif."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import xtrellis as xt
from xtrellis import annif
from xtrellis.annif import wanted
from xtrellis.annif.words import as_it_is, read_name, reader, vocabulary_of

PARAMS = {**wanted.DEFAULTS, "preset": "xr-linear", "name": "p", "language": "en", "backend": "xtrellis", "vocab": "v"}


class Lower:
    """An analyzer: words of three letters at least, in lower case."""

    def tokenize_words(self, text: str) -> list[str]:
        return [word.lower() for word in text.split() if len(word) > 2]


class Subjects(list[Any]):
    @property
    def active(self) -> list[tuple[int, Any]]:
        return list(enumerate(self))


def project(*names: str | None) -> Any:
    subjects = Subjects(
        SimpleNamespace(uri=f"u:{i}", labels={} if name is None else {"en": name}) for i, name in enumerate(names)
    )
    return SimpleNamespace(subjects=subjects, vocab_lang="en")


def test_words_stay_words() -> None:
    read = reader(Lower())
    assert read("The E-mail of AC/DC is हिन्दी") == "the e_mail ac_dc हिन्दी"
    found = xt.Vectorizer(words="runs", min_token_length=1).fit([read("E-mail AC/DC naïve")])
    assert list(found.feature_names) == ["ac_dc", "e_mail", "naïve"]


def test_what_stands_in_brackets_stays_there() -> None:
    assert read_name("Fish (Food made)", reader(Lower())) == "fish ( food made )"
    assert read_name("Fish (Food)", as_it_is) == "Fish  ( Food )"


def test_subjects_become_a_vocabulary() -> None:
    made = vocabulary_of(project("Cats", None, "Of"), reader(Lower()), all_names=False)
    assert list(made.ids) == ["u:0", "u:1", "u:2"]
    assert made["u:0"].names == {"en": "cats"}
    assert made["u:1"].names == {}
    assert made["u:2"].names == {"en": "Of"}  # an analyzer that leaves nothing of a name does not take it away
    with pytest.raises(xt.InputError, match="has no subjects in use"):
        vocabulary_of(project(), as_it_is, all_names=False)


def test_parameters_reach_their_parts() -> None:
    made = wanted.untrained(
        {**PARAMS, "ngram": "2", "min_df": "3", "vectorizer.sublinear_tf": "yes", "beam": "7", "index.arity": "4"},
        analysed=False,
        threads=1,
    )
    assert (made.vectorizer.ngrams, made.vectorizer.min_df, made.vectorizer.sublinear_tf) == (2, 3, True)
    assert (made.model.beam, made.model.index.arity, made.model.threads) == (7, 4, 1)
    assert not made.keep_rows
    assert wanted.untrained({**PARAMS, "allow_learn": "True"}, analysed=True).keep_rows


def test_without_a_preset_all_witnesses_are_asked() -> None:
    made = wanted.untrained({**PARAMS, "preset": wanted.DEFAULTS["preset"]}, analysed=True)
    assert repr(made.model) == repr(xt.preset("best"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bem": "4"}, "has no parameter 'bem'; did you mean 'beam'"),
        ({"cluster_balanced": "False"}, "has no parameter 'cluster_balanced'"),
        ({"preset": "bestt"}, "there is no preset 'bestt'"),
        ({"limit": "ten"}, "limit must be an integer ≥ 1; got 'ten'"),
        ({"vectorizer.ngrams": "2"}, "it is called ngram here"),
        ({"threads": "2"}, "annif-xtrellis train --jobs 2"),
        ({"beam": "0"}, "beam must be an integer ≥ 1"),
    ],
)
def test_what_nobody_knows_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(xt.ParameterError) as refused:
        wanted.untrained({**PARAMS, **given}, analysed=True)
    assert says in str(refused.value)


def test_without_annif_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "annif", None)
    with pytest.raises(SystemExit, match=r"error: xtrellis\.annif needs annif; install it with: pip install"):
        annif.main()
