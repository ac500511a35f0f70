"""Annif's side as ours: texts as the words its analyzer finds, subjects as a vocabulary of ours.

An analyzer makes a list of words of a text. Joined by spaces they are a text again, which our vectoriser takes as it
is, and names of subjects go the same way: so a name is found in a text whatever the analyzer makes of its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from ..core import InputError
from ..vocabulary import Label, Vocabulary

_BRACKETS = re.compile(r"([()\[\]])")
Reader = Callable[[str], str]


def as_it_is(text: str) -> str:
    """Without an analyzer, our vectoriser finds the words."""
    return text


def reader(analyzer: Any) -> Reader:
    """What an analyzer makes of a text: its words, with spaces between them."""

    def read(text: str) -> str:
        return " ".join(map(_joined, analyzer.tokenize_words(text)))

    return read


def _joined(word: str) -> str:
    """A word that stays one word between spaces: signs and spaces within it become underscores."""
    if word.isalnum():
        return word
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else "_" for c in word)


def read_name(name: str, read: Reader) -> str:
    """A name's words; brackets stay, since what is in them only tells it from other names."""
    return " ".join(part if part in "()[]" else read(part) for part in _BRACKETS.split(name) if part.strip())


def vocabulary_of(project: Any, read: Reader, *, all_names: bool) -> Vocabulary:
    """The project's subjects that are in use, by their URIs, with names in its language as the analyzer reads them."""
    language = project.vocab_lang
    more = _other_names(project, language) if all_names else {}
    labels = []
    for _, subject in project.subjects.active:
        name = (subject.labels or {}).get(language)
        others = tuple(filter(None, (read_name(other, read) for other in more.get(subject.uri, ()))))
        names = {language: read_name(name, read) or name} if name else {}
        labels.append(Label(subject.uri, names, alternative={language: others} if others else {}))
    if not labels:
        raise InputError("the project's vocabulary has no subjects in use; annif-xtrellis load-vocab reads one")
    return Vocabulary(labels)


def _other_names(project: Any, language: str) -> dict[str, list[str]]:
    """Alternative and hidden names by URI, where the vocabulary has them."""
    from rdflib.namespace import SKOS

    found: dict[str, list[str]] = {}
    graph = project.vocab.as_graph()
    for kind in (SKOS.altLabel, SKOS.hiddenLabel):
        for subject, _, name in graph.triples((None, kind, None)):
            if getattr(name, "language", None) == language:
                found.setdefault(str(subject), []).append(str(name))
    return {uri: sorted(names) for uri, names in found.items()}
