"""From names as people write them to the words that are looked for in texts.

A name has main words and, maybe, words that only tell it from others: "fish (food)", "biology:translation",
"Web/CSS/color". Where a name's word occurs in no training text it may be several words in one ("libfreetype6",
"addEventListener", "binding_site", compounds of two known words): such a name gets a second form, cut into them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from .._native import names as native
from ..arrays import StringTable
from ..text import WordReader

SHARED = 5  # names that begin alike up to a colon or slash: what is before it is a qualifier
CODES = 0.8  # share of names that begin with a code of their own, such as "p10": it is no part of the name then
MOST_MAIN, MOST_QUALIFIERS = 32, 16  # words of a name that count
SHORTEST_PART = 3  # characters of a part of a compound
SHORTEST_COMPOUND = 7

_BRACKETS = re.compile(r"(.*\S)\s*[(\[]([^()\[\]]*)[)\]]\s*", re.DOTALL)
_SIGNS = re.compile(r"[:/(\[]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PIECES = re.compile(r"[^\W\d_]+|\d+")

Words = tuple[str, ...]


class Form(NamedTuple):
    """A name as words: those that are looked for, and those that tell it from others."""

    main: Words
    qualifiers: Words


def parse(names: Sequence[str], reader: WordReader, known: Mapping[str, int]) -> list[list[Form]]:
    """The forms of every name; `known` are the words of the training texts and in how many of them they are."""
    return forms_of(split(names), reader, known)


def forms_of(parts: Sequence[tuple[str, str]], reader: WordReader, known: Mapping[str, int]) -> list[list[Form]]:
    """The forms of names that are split."""
    mains, qualifiers = _words([p[0] for p in parts], reader), _words([p[1] for p in parts], reader)
    apart = _camel(parts, reader, known)
    out = []
    for i, (main, others) in enumerate(zip(mains, qualifiers, strict=True)):
        forms, pieces = [_form(main, others)], _cut(apart.get(i, main), known)
        if pieces != main:
            forms.append(_form(pieces, others))
        out.append([form for form in dict.fromkeys(forms) if form is not None])
    return out


def split(names: Sequence[str]) -> list[tuple[str, str]]:
    """Main part and qualifier of each name, which depend on what others begin with."""
    names = _without_codes(names)
    signed = [name for name in names if _SIGNS.search(name)]  # most names are what they are
    heads = Counter(head for name in signed for head in _heads(name))
    return [_main(name, heads) if _SIGNS.search(name) else (name, "") for name in names]


def _without_codes(names: Sequence[str]) -> Sequence[str]:
    """Names without the codes in front of them, if nearly all have such: one word with a digit, of no other name."""
    enough = max(2, CODES * len(names))
    apart = [name.split(None, 1) for name in names]
    if sum(len(words) == 2 and not words[0].isalpha() for words in apart) < enough:
        return names
    firsts = Counter(words[0] for words in apart if len(words) == 2)
    coded = [len(w) == 2 and firsts[w[0]] == 1 and any(map(str.isdigit, w[0])) for w in apart]
    if sum(coded) < enough:
        return names
    return [words[1] if code else name for name, words, code in zip(names, apart, coded, strict=True)]


def _heads(name: str) -> Iterator[str]:
    """What a name begins with up to a colon or slash, if it looks like a path or a key."""
    for sign in ":/":
        head, found, rest = name.partition(sign)
        if found and head and rest and not rest[0].isspace() and not head[-1].isspace() and " " not in head:
            yield head + sign


def _main(name: str, heads: Mapping[str, int]) -> tuple[str, str]:
    qualifier = ""
    for head in _heads(name):
        if heads[head] >= SHARED:
            cut = name.find(":") if head[-1] == ":" else name.rstrip("/").rfind("/")
            name, qualifier = name[cut + 1 :], name[:cut]
            break
    brackets = _BRACKETS.fullmatch(name)
    if brackets:
        name, qualifier = brackets[1], f"{qualifier} {brackets[2]}"
    return name, qualifier


def _words(strings: Sequence[str], reader: WordReader) -> list[Words]:
    texts = reader.read(strings)
    offsets, ids, text, text_offsets = native.words(texts.blob, texts.offsets, texts.settings)
    words = list(StringTable(text, text_offsets))
    edges, numbers = offsets.tolist(), ids.tolist()
    return [tuple(words[j] for j in numbers[a:b]) for a, b in pairwise(edges)]


def _camel(parts: Sequence[tuple[str, str]], reader: WordReader, known: Mapping[str, int]) -> dict[int, Words]:
    """Names in camel case, cut: by their number, those of which some word is in no text."""
    cut = {i: _CAMEL.sub(" ", main) for i, (main, _) in enumerate(parts) if _CAMEL.search(main)}
    whole, apart = (_words(list(given), reader) for given in ((parts[i][0] for i in cut), cut.values()))
    unknown = ((i, b) for i, a, b in zip(cut, whole, apart, strict=True) if not all(word in known for word in a))
    return dict(unknown)


def _cut(words: Words, known: Mapping[str, int]) -> Words:
    return tuple(part for word in words for part in ((word,) if word in known else _pieces(word, known)))


def _pieces(word: str, known: Mapping[str, int]) -> Words:
    """A word that no text has, cut where letters meet digits, and into two known words if it is made of such."""
    found = _PIECES.findall(word)
    if len(found) > 1:
        return tuple(p for piece in found if len(piece) > 1 for p in _pair(piece, known))
    return _pair(word, known)


def _pair(word: str, known: Mapping[str, int]) -> Words:
    if word in known:
        return (word,)
    best: tuple[tuple[int, int], Words] | None = None
    if SHORTEST_COMPOUND <= len(word) <= 64:
        for i in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
            a, b = word[:i], word[i:]
            if a in known and b in known:
                worth = min(i, len(word) - i), min(known[a], known[b])
                best = max(best or (worth, (a, b)), (worth, (a, b)))
    return (word,) if best is None else best[1]


def _form(main: Words, qualifiers: Words) -> Form | None:
    """None if there is no word with a letter; numbers beside words only tell names apart."""
    letters = tuple(word for word in main if not word.isdigit())
    if not letters:
        return None
    numbers = tuple(word for word in main if word.isdigit())
    others = dict.fromkeys(word for word in (*numbers, *qualifiers) if word not in letters)
    return Form(letters[:MOST_MAIN], tuple(others)[:MOST_QUALIFIERS])
