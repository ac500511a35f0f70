"""Contexts of JSON-LD as vocabularies have them: what short names stand for, and the triples of nodes that use them.

Prefixes, terms, types, languages and aliases of keywords are understood. What is written in any other way (contexts
within nodes, lists, reverse properties) is left to a library that knows all of JSON-LD, which takes far longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urljoin

from .turtle import TYPE, Literal, Term, Triple

KEYWORDS = {"@id", "@type", "@value", "@language", "@graph", "@set"}
NAMED = {"@id", "@type", "@container", "@language", "@prefix"}  # what a term may say of itself
CONTAINERS = (None, "@set", "@language")
DEEPEST = 100  # nodes within each other


class UnusualError(Exception):
    """Something is written in a way that this reader does not know."""


class _Defined(NamedTuple):
    iri: str
    kind: str = ""  # @id, @vocab, the IRI of a datatype, or none
    by_language: bool = False
    language: str | None = None  # None: that of the context


class Context:
    """A context, or `UnusualError`."""

    def __init__(self, given: Any) -> None:
        self.base, self.vocab, self.language = "", "", ""
        self.terms: dict[str, _Defined | None] = {}  # None: passed over
        self._given: dict[str, Any] = {}
        self._known: dict[str, str | None] = {}  # properties and types
        self._blank = 0
        for one in given if isinstance(given, list) else [given]:
            if not isinstance(one, dict):
                raise UnusualError
            self._given |= one
        for key, value in self._given.items():
            if key in ("@base", "@vocab", "@language"):
                if not isinstance(value, str | None):
                    raise UnusualError
                setattr(self, key[1:], value or "")
            elif key.startswith("@") and key != "@version":
                raise UnusualError
        for term in self._given:
            if not term.startswith("@"):
                self._define(term, ())

    def keyword(self, key: str) -> str:
        """What a key of an object is: a keyword, by its alias too, or itself."""
        found = self.terms.get(key)
        return found.iri if found is not None and found.iri in KEYWORDS else key

    def _define(self, term: str, under_way: tuple[str, ...]) -> None:
        if term in self.terms:
            return
        if term in under_way or len(under_way) > DEEPEST:
            raise UnusualError
        value = self._given[term]
        if isinstance(value, str):
            value = {"@id": value}
        if value is None or (isinstance(value, dict) and "@id" in value and value["@id"] is None):
            self.terms[term] = None
            return
        if not isinstance(value, dict) or not set(value) <= NAMED:
            raise UnusualError
        iri = self._absolute(str(value.get("@id", term)), (*under_way, term), own="@id" not in value)
        container = value.get("@container")
        kinds = container if isinstance(container, list) else [container]
        kind, language = value.get("@type", ""), value.get("@language")
        known = all(one in CONTAINERS for one in kinds) and isinstance(kind, str) and isinstance(language, str | None)
        if not known or (kind.startswith("@") and kind not in ("@id", "@vocab")):
            raise UnusualError
        own = language or "" if "@language" in value else None
        self.terms[term] = _Defined(iri, kind, "@language" in kinds, own)

    def _absolute(self, text: str, under_way: tuple[str, ...], *, own: bool = False) -> str:
        """What a term stands for, by others of the context if need be."""
        if text.startswith("@"):
            if text not in KEYWORDS:
                raise UnusualError
            return text
        prefix, colon, rest = text.partition(":")
        if colon:
            if not rest.startswith("//") and prefix in self._given and prefix not in under_way[-1:]:
                self._define(prefix, under_way)
                found = self.terms[prefix]
                if found is None:
                    raise UnusualError
                return found.iri + rest
            return text
        if not own and text in self._given:
            self._define(text, under_way)
            if (found := self.terms[text]) is None:
                raise UnusualError
            return found.iri
        if not self.vocab:
            raise UnusualError
        return self.vocab + text

    def iri(self, text: str) -> str | None:
        """Of a property or a type; None for what means nothing."""
        if text not in self._known:
            self._known[text] = self._iri(text)
        return self._known[text]

    def _iri(self, text: str) -> str | None:
        if text in self.terms:
            found = self.terms[text]
            return None if found is None else found.iri
        if ":" in text:
            return self._expanded(text)
        return self.vocab + text if self.vocab else None

    def _expanded(self, text: str) -> str:
        prefix, _, rest = text.partition(":")
        found = self.terms.get(prefix)
        return found.iri + rest if found is not None and not rest.startswith("//") else text

    def resource(self, text: str) -> str:
        """What an @id names."""
        if ":" in text:
            return text if text.startswith("_:") else self._expanded(text)
        if not self.base:
            raise UnusualError
        return urljoin(self.base, text)

    # ── nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def triples(self, node: Any) -> list[Triple]:
        """All that a node says, and those within it."""
        found: list[Triple] = []
        self._node(node, found, 0)
        return found

    def _node(self, node: Any, found: list[Triple], depth: int) -> str:
        if not isinstance(node, dict) or depth > DEEPEST:
            raise UnusualError
        keys = {key: self.keyword(key) for key in node}
        subject = next((node[key] for key, word in keys.items() if word == "@id"), None)
        if subject is None:
            self._blank += 1
            id = f"_:in-context-{self._blank}"
        elif isinstance(subject, str):
            id = self.resource(subject)
        else:
            raise UnusualError
        for key, word in keys.items():
            value = node[key]
            if word == "@id":
                continue
            if word == "@type":
                for kind in value if isinstance(value, list) else [value]:
                    if not isinstance(kind, str):
                        raise UnusualError
                    if (iri := self.iri(kind)) is not None:
                        found.append((id, TYPE, iri))
                continue
            if word.startswith("@"):
                raise UnusualError
            iri = self.iri(key)
            if iri is None:
                continue
            defined = self.terms.get(key)
            said = list(self._values(value, defined, found, depth))
            found += ((id, iri, term) for term in said)
        return id

    def _values(self, value: Any, defined: _Defined | None, found: list[Triple], depth: int) -> Iterator[Term]:
        if value is None:
            return
        if isinstance(value, list):
            for one in value:
                yield from self._values(one, defined, found, depth)
        elif isinstance(value, dict):
            if defined is not None and defined.by_language:
                yield from _by_language(value)
                return
            words = {self.keyword(key): inner for key, inner in value.items()}
            if "@set" in words:
                yield from self._values(words["@set"], defined, found, depth)
            elif "@value" in words:
                if not set(words) <= {"@value", "@language", "@type"}:
                    raise UnusualError
                yield from _literal(words["@value"], words.get("@language") or "")
            else:
                yield self._node(value, found, depth + 1)
        elif isinstance(value, str) and defined is not None and defined.kind in ("@id", "@vocab"):
            if defined.kind == "@id":
                yield self.resource(value)
            else:
                yield self.iri(value) or self.resource(value)
        else:
            said = self.language if defined is None or defined.language is None else defined.language
            yield from _literal(value, "" if defined is not None and defined.kind else said)


def _by_language(value: dict[str, Any]) -> Iterator[Literal]:
    for language, some in value.items():
        for text in some if isinstance(some, list) else [some]:
            if text is not None:
                yield from _literal(text, "" if language == "@none" else language)


def _literal(value: Any, language: Any) -> Iterator[Literal]:
    if value is None:
        return
    if isinstance(value, bool):
        yield Literal(str(value).lower())
    elif isinstance(value, int):
        yield Literal(str(value))
    elif isinstance(value, str) and isinstance(language, str):
        yield Literal(value, language.lower())
    else:
        raise UnusualError  # other numbers have a form of their own
