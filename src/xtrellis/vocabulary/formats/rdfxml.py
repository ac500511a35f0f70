"""RDF/XML, read as a stream of triples by expat: what was read is forgotten as soon as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin
from xml.parsers import expat

from ...core import DataError
from .turtle import FIRST, NIL, RDF, REST, TYPE, Literal, Triple

XML = "http://www.w3.org/XML/1998/namespace"
PIECE = 1 << 18
DEEPEST = 1000
_SYNTAX = {RDF + name for name in ("about", "ID", "nodeID", "resource", "datatype", "parseType")}


class _Frame:
    """An element that is open: a node with a subject, or a property of one."""

    __slots__ = ("base", "language", "last", "literal", "node", "predicate", "resource", "subject", "text")

    def __init__(self, node: bool, language: str, base: str) -> None:
        self.node, self.language, self.base = node, language, base
        self.subject = self.predicate = ""
        self.resource: str | None = None  # what a property leads to, once that is known
        self.text: list[str] = []
        self.literal = 0  # depth within parseType="Literal", whose elements are text
        self.last: str | None = None  # of parseType="Collection": the list so far


class RdfXml:
    """The triples of one file: iterate over it."""

    def __init__(self, file: BinaryIO, path: Path, base: str = "") -> None:
        self._file, self._path, self._base = file, path, base
        self._frames: list[_Frame] = []
        self._found: list[Triple] = []
        self._blanks = 0
        self._members: dict[str, int] = {}
        parser = self._parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        # Entities of the file itself are shorthands for addresses, and common; nothing outside it is ever fetched.
        parser.ExternalEntityRefHandler = lambda *_: 0

    def __iter__(self) -> Iterator[Triple]:
        try:
            while piece := self._file.read(PIECE):
                self._parser.Parse(piece, False)
                yield from self._taken()
            self._parser.Parse(b"", True)
            yield from self._taken()
        except expat.ExpatError as error:
            raise DataError(
                f"is not XML: {expat.ErrorString(error.code)}", path=self._path, line=error.lineno
            ) from None

    def _taken(self) -> list[Triple]:
        found, self._found = self._found, []
        return found

    def _wrong(self, message: str) -> DataError:
        return DataError(f"is not RDF/XML: {message}", path=self._path, line=self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        above = self._frames[-1] if self._frames else None
        if above is not None and above.literal > 0:
            above.literal += 1
            return
        if len(self._frames) > DEEPEST:
            raise self._wrong(f"more than {DEEPEST} elements within each other")
        tag = name.replace(" ", "", 1)
        language = attributes.pop(f"{XML} lang", above.language if above else "").lower()
        base = attributes.pop(f"{XML} base", above.base if above else self._base)
        given = {key.replace(" ", "", 1): value for key, value in attributes.items() if not key.startswith(XML)}
        if above is None and tag == RDF + "RDF":
            frame = _Frame(False, language, base)
            frame.literal = -1  # the root: holds nodes, is no property
            self._frames.append(frame)
            return
        if " " not in name:
            raise self._wrong(f"the element <{name[:60]}> has no namespace: RDF begins with <rdf:RDF xmlns:rdf=…>")
        if above is None or not above.node:
            self._frames.append(self._node(tag, given, language, base))
            if above is not None and above.literal != -1:
                self._led_to(above, self._frames[-1].subject)
        else:
            self._frames.append(self._property(above, tag, given, language, base))

    def _node(self, tag: str, given: dict[str, str], language: str, base: str) -> _Frame:
        frame = _Frame(True, language, base)
        frame.subject = self._subject(given, base)
        if tag != RDF + "Description":
            self._found.append((frame.subject, TYPE, tag))
        self._attributes(frame.subject, given, language, base)
        return frame

    def _subject(self, given: dict[str, str], base: str) -> str:
        if RDF + "about" in given:
            return _joined(base, given[RDF + "about"])
        if RDF + "ID" in given:
            return _joined(base, "#" + given[RDF + "ID"])
        if RDF + "nodeID" in given:
            return "_:" + given[RDF + "nodeID"]
        return self._blank()

    def _attributes(self, subject: str, given: dict[str, str], language: str, base: str) -> None:
        """Attributes that are properties in short."""
        for key, value in given.items():
            if key == TYPE:
                self._found.append((subject, TYPE, _joined(base, value)))
            elif key not in _SYNTAX:
                self._found.append((subject, key, Literal(value, language)))

    def _property(self, above: _Frame, tag: str, given: dict[str, str], language: str, base: str) -> _Frame:
        frame = _Frame(False, language, base)
        if tag == RDF + "li":
            self._members[above.subject] = self._members.get(above.subject, 0) + 1
            tag = f"{RDF}_{self._members[above.subject]}"
        frame.subject, frame.predicate = above.subject, tag
        if RDF + "datatype" in given:
            frame.language = ""
        kind = given.get(RDF + "parseType")
        if kind == "Resource":
            frame.resource = self._blank()
            self._found.append((frame.subject, tag, frame.resource))
            inner = _Frame(True, language, base)
            inner.subject = frame.resource
            inner.predicate = tag  # marks that one end tag closes both
            self._frames.append(frame)
            return inner
        if kind == "Collection":
            frame.last = ""
        elif kind is not None:
            frame.literal = 1
        elif RDF + "resource" in given:
            frame.resource = _joined(base, given[RDF + "resource"])
        elif RDF + "nodeID" in given:
            frame.resource = "_:" + given[RDF + "nodeID"]
        elif any(key not in _SYNTAX for key in given):
            frame.resource = self._blank()
        if frame.resource is not None:
            self._attributes(frame.resource, given, language, base)
            self._found.append((frame.subject, tag, frame.resource))
        return frame

    def _led_to(self, frame: _Frame, node: str) -> None:
        """A property's element has a node inside."""
        if frame.last is None:
            frame.resource = node
            self._found.append((frame.subject, frame.predicate, node))
            return
        cell = self._blank()
        if frame.last:
            self._found.append((frame.last, REST, cell))
        else:
            self._found.append((frame.subject, frame.predicate, cell))
        self._found.append((cell, FIRST, node))
        frame.last = cell

    def _end(self, name: str) -> None:
        frame = self._frames[-1]
        if frame.literal > 1:
            frame.literal -= 1
            return
        self._frames.pop()
        if frame.node:
            if frame.predicate:  # of parseType="Resource"
                self._frames.pop()
            return
        if frame.literal == -1:
            return
        if frame.last is not None:
            tail = (frame.last, REST, NIL) if frame.last else (frame.subject, frame.predicate, NIL)
            self._found.append(tail)
        elif frame.resource is None:
            self._found.append((frame.subject, frame.predicate, Literal("".join(frame.text), frame.language)))

    def _characters(self, text: str) -> None:
        if self._frames and not self._frames[-1].node and self._frames[-1].literal != -1:
            self._frames[-1].text.append(text)

    def _blank(self) -> str:
        self._blanks += 1
        return f"_:[{self._blanks}]"


def _joined(base: str, iri: str) -> str:
    return urljoin(base, iri) if base and "://" not in iri[:20] else iri
