"""Turtle and N-Triples, read as a stream of triples: a piece of the file is in memory, never the whole.

A resource is a string: an IRI, or `_:name` for one without. A literal is a `Literal`. Only syntax is looked at here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import urljoin

from ...core import DataError, shown

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE, FIRST, REST, NIL = RDF + "type", RDF + "first", RDF + "rest", RDF + "nil"
PIECE = 1 << 20  # characters read at a time
LARGEST = 1 << 26  # characters that one literal may have
MARGIN = 8  # characters after a token that may still belong to it
DEEPEST = 200  # blank nodes and lists within each other
MOST_REMEMBERED = 1 << 16


class Literal(NamedTuple):
    """A text, and its language ("" if none is said)."""

    text: str
    language: str = ""


Term = str | Literal
Triple = tuple[str, str, Term]

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:\#[^\r\n]*[ \t\r\n]*)*(?:
      (?P<iri><[^\x00-\x20<>"{}|^`]*>)
    | (?P<long>\"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*''')
    | (?P<short>"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"(?!")|'[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'(?!'))
    | (?P<word>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<blank>_:[\w0-9](?:[\w.·-]*[\w·-])?)
    | (?P<name>(?:[^\W\d_](?:[\w.·-]*[\w·-])?)?:(?:(?:[\w:·-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])
        (?:(?:[\w:.·-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*(?:[\w:·-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]))?)?)
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+|[+-]?\d*\.\d+|[+-]?\d+)
    | (?P<mark>\^\^|[.;,()\[\]])
    | (?P<key>[A-Za-z]+)
    | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class _SyntaxError(Exception):
    """Something that is no Turtle; the reader adds file and line."""


class Turtle:
    """The triples of one file: iterate over it."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer, self._at, self._ended = "", 0, False
        self._line, self._token_at = 1, 0
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._terms: dict[str, str] = {}  # of prefixed names, most of which come again
        self._blanks = 0

    def __iter__(self) -> Iterator[Triple]:
        try:
            yield from self._statements()
        except _SyntaxError as wrong:
            raise DataError(f"is not Turtle: {wrong}", path=self._path, line=self._here()) from None

    def _here(self) -> int:
        return self._line + self._buffer.count("\n", 0, self._token_at)

    # ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _next(self) -> tuple[str, str]:
        """The kind and the text of the next token; the kind is 'end' after the last."""
        while True:
            found = _TOKEN.match(self._buffer, self._at)
            if found is None or (found.end() > len(self._buffer) - MARGIN and not self._ended):
                if self._ended:
                    rest = self._buffer[self._at : self._at + 200].lstrip()
                    self._token_at = self._at + (len(self._buffer[self._at :]) - len(self._buffer[self._at :].lstrip()))
                    opened = rest[:1] in "\"'<"
                    raise _SyntaxError(
                        f"{'a quote or bracket is not closed' if opened else 'unexpected'}: {rest[:40]!r}"
                    )
                self._refill()
                continue
            kind = found.lastgroup or "end"
            self._at = found.end()
            self._token_at = found.start(kind)
            return kind, found[kind]

    def _refill(self) -> None:
        self._line += self._buffer.count("\n", 0, self._at)
        rest = self._buffer[self._at :]
        if len(rest) > LARGEST:
            self._buffer, self._at, self._token_at = rest, 0, 0
            raise _SyntaxError(f"a quote is not closed, or what it holds has more than {LARGEST:,} characters")
        raw = self._file.read(max(PIECE, len(rest)))
        self._ended = not raw
        try:
            more = self._decoder.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            line = self._line + rest.count("\n") + error.object.count(b"\n", 0, error.start)
            raise DataError(
                f"expected UTF-8 text; byte 0x{error.object[error.start]:02x} is not", path=self._path, line=line
            ) from None
        self._buffer, self._at, self._token_at = rest + more, 0, 0

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _statements(self) -> Iterator[Triple]:
        while True:
            kind, token = self._next()
            if kind == "end":
                return
            if kind == "word" and token in ("@prefix", "@base"):
                self._declare(token[1:])
                self._expect(".")
            elif kind == "key" and token.lower() in ("prefix", "base"):
                self._declare(token.lower())
            else:
                found: list[Triple] = []
                lone = token == "["
                subject = self._resource(kind, token, found, 0)
                kind, token = self._next()
                if not (lone and found and token == "." and kind == "mark"):
                    kind, token = self._about(subject, kind, token, found, 0)
                if (kind, token) != ("mark", "."):
                    raise _SyntaxError(
                        f"expected ';', ',' or '.'; got {shown(token) if token else 'the end of the file'}"
                    )
                yield from found

    def _expect(self, mark: str) -> None:
        kind, token = self._next()
        if (kind, token) != ("mark", mark):
            raise _SyntaxError(f"expected {mark!r}; got {shown(token) if token else 'the end of the file'}")

    def _declare(self, what: str) -> None:
        if what == "prefix":
            kind, token = self._next()
            if kind != "name" or not token.endswith(":") or token.count(":") > 1:
                raise _SyntaxError(f"expected a prefix such as skos:; got {shown(token)}")
            prefix = token[:-1]
        kind, token = self._next()
        if kind != "iri":
            raise _SyntaxError(f"expected <an address>; got {shown(token)}")
        if what == "prefix":
            self._prefixes[prefix] = self._iri(token)
            self._terms.clear()
        else:
            self._base = self._iri(token)

    def _about(self, subject: str, kind: str, token: str, found: list[Triple], depth: int) -> tuple[str, str]:
        """Predicates and objects, until something else comes, which is returned."""
        while True:
            if kind == "key" and token == "a":
                predicate = TYPE
            elif kind in ("iri", "name"):
                predicate = self._resource(kind, token, found, depth)
            else:
                raise _SyntaxError(
                    f"expected what is said of it; got {shown(token) if token else 'the end of the file'}"
                )
            while True:
                kind, token = self._next()
                value, kind, token = self._object(kind, token, found, depth)
                found.append((subject, predicate, value))
                if (kind, token) != ("mark", ","):
                    break
            if (kind, token) != ("mark", ";"):
                return kind, token
            while (kind, token) == ("mark", ";"):
                kind, token = self._next()
            if kind == "mark" and token in ".]":
                return kind, token

    def _object(self, kind: str, token: str, found: list[Triple], depth: int) -> tuple[Term, str, str]:
        """An object, and the token after it."""
        if kind in ("short", "long"):
            edge = 3 if kind == "long" else 1
            text = token[edge:-edge]
            if "\\" in text:
                text = _ESCAPE.sub(_unescaped, text)
            kind, token = self._next()
            if kind == "word":
                following = self._next()
                return Literal(text, token[1:].lower()), *following
            if token == "^^":
                kind, token = self._next()
                if kind not in ("iri", "name"):
                    raise _SyntaxError(f"expected a type after ^^; got {shown(token)}")
                following = self._next()
                return Literal(text), *following
            return Literal(text), kind, token
        if kind == "number" or (kind == "key" and token in ("true", "false")):
            value: Term = Literal(token)
        else:
            value = self._resource(kind, token, found, depth)
        following = self._next()
        return value, *following

    def _resource(self, kind: str, token: str, found: list[Triple], depth: int) -> str:
        if kind == "name":
            known = self._terms.get(token)
            if known is None:
                prefix, _, local = token.partition(":")
                if prefix not in self._prefixes:
                    raise _SyntaxError(f"the prefix {shown(prefix + ':')} is not declared: add @prefix {prefix}: <…> .")
                known = self._prefixes[prefix] + (re.sub(r"\\(.)", r"\1", local) if "\\" in local else local)
                if len(self._terms) > MOST_REMEMBERED:
                    self._terms.clear()
                self._terms[token] = known
            return known
        if kind == "iri":
            return self._iri(token)
        if kind == "blank":
            return token
        if depth > DEEPEST:
            raise _SyntaxError(f"more than {DEEPEST} brackets within each other")
        if token == "[":
            return self._anonymous(found, depth + 1)
        if token == "(":
            return self._list(found, depth + 1)
        raise _SyntaxError(f"unexpected {shown(token) if token else 'end of the file'}")

    def _anonymous(self, found: list[Triple], depth: int) -> str:
        node = self._blank()
        kind, token = self._next()
        if (kind, token) != ("mark", "]"):
            kind, token = self._about(node, kind, token, found, depth)
            if (kind, token) != ("mark", "]"):
                raise _SyntaxError(f"expected ']'; got {shown(token) if token else 'the end of the file'}")
        return node

    def _list(self, found: list[Triple], depth: int) -> str:
        kind, token = self._next()
        head = last = ""
        while (kind, token) != ("mark", ")"):
            node = self._blank()
            if last:
                found.append((last, REST, node))
            head, last = head or node, node
            value, kind, token = self._object(kind, token, found, depth)
            found.append((node, FIRST, value))
        if last:
            found.append((last, REST, NIL))
        return head or NIL

    def _blank(self) -> str:
        self._blanks += 1
        return f"_:[{self._blanks}]"  # no name that a file could have

    def _iri(self, token: str) -> str:
        iri = token[1:-1]
        if "\\" in iri:
            iri = _ESCAPE.sub(_unescaped, iri)
        if self._base and not _SCHEME.match(iri):
            return urljoin(self._base, iri)
        return iri


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code is not None:
        number = int(code, 16)
        if number > 0x10FFFF:
            raise _SyntaxError(f"there is no character {found[0]}")
        return chr(number)
    if found[3] not in _ESCAPED:
        raise _SyntaxError(f"there is no escape {found[0]!r}; a backslash is written \\\\")
    return _ESCAPED[found[3]]
