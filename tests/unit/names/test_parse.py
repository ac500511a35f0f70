"""From names as people write them to the words that are looked for."""

from __future__ import annotations

import pytest

from xtrellis.names.parse import MOST_MAIN, Form, parse
from xtrellis.text import WordReader


def forms(names, *known, stem=None):
    return parse(names, WordReader(stem=stem), dict.fromkeys(known, 1))


def test_brackets_hold_a_qualifier():
    assert forms(["Fish (food)", "fish [animals]", "(food)"]) == [
        [Form(("fish",), ("food",))],
        [Form(("fish",), ("animals",))],
        [Form(("food",), ())],
    ]


def test_what_many_names_begin_with_is_a_qualifier():
    names = [f"biology:{word}" for word in ("cell", "gene", "translation", "rna", "binding-sites")]
    assert forms(names)[2] == [Form(("translation",), ("biology",))]
    assert forms(names)[4] == [Form(("binding", "sites"), ("biology",))]
    assert forms(["war: a history", "AC/DC"]) == [[Form(("war", "a", "history"), ())], [Form(("ac", "dc"), ())]]
    paths = [f"Web/CSS/{word}" for word in ("color", "margin", "border", "padding", "float")]
    assert forms(paths)[0] == [Form(("color",), ("web", "css"))]


def test_codes_before_names_are_left_out():
    names = [f"p{i} {word}" for i, word in enumerate(["ponds", "lakes", "rivers", "seas", "wells"], 10)]
    assert [f[0].main for f in forms(names)] == [("ponds",), ("lakes",), ("rivers",), ("seas",), ("wells",)]
    assert forms(["windows 95", "linux"])[0] == [Form(("windows",), ("95",))]


def test_words_that_no_text_has_are_cut_where_their_parts_are_known():
    (given, cut) = forms(["libfreetype6"], "lib", "freetype")[0]
    assert given.main == ("libfreetype6",)
    assert cut.main == ("lib", "freetype")
    assert forms(["libfreetype6"], "libfreetype6", "lib", "freetype")[0] == [Form(("libfreetype6",), ())]
    assert forms(["addEventListener"], "event")[0][1].main == ("add", "event", "listener")
    assert forms(["kirjastoauto"], "kirjasto", "auto")[0][1].main == ("kirjasto", "auto")
    assert forms(["binding_site"], "binding")[0][1].main == ("binding", "site")


def test_words_keep_the_rules_of_texts():
    assert forms(["C++", "C#", "the R language", "Ünïcode", "中文书"]) == [
        [Form(("c++",), ())],
        [Form(("c#",), ())],
        [Form(("the", "r", "language"), ())],
        [Form(("ünïcode",), ())],
        [Form(("中文", "文书"), ())],
    ]


def test_stems():
    pytest.importorskip("snowballstemmer")
    assert forms(["running boats"], stem="english")[0][0].main == ("run", "boat")


@pytest.mark.parametrize("name", ["", "  ", "123", "2001 2002", "…", "(((", "a" * 0])
def test_names_without_letters_have_no_form(name):
    assert forms([name]) == [[]]


def test_a_long_name_is_cut():
    assert all(len(form.main) <= MOST_MAIN for form in forms(["word" + " word" * 2000])[0])
    assert all(len(form.main) <= MOST_MAIN for form in forms(["x" * 10_000])[0])
