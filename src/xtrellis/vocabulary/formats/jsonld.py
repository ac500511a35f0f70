"""JSON-LD through rdflib, some nodes at a time, so that its graph never holds all; contexts are not fetched."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...core import DataError, MissingExtraError
from .turtle import TYPE, Literal, Triple

TOGETHER = 2000  # nodes that rdflib reads at once


def json_ld(file: BinaryIO, path: Path) -> Iterator[Triple]:
    """The triples of a document. The JSON itself is read as a whole."""
    try:
        import rdflib
    except ImportError:
        raise MissingExtraError("rdflib", "skos", "reading JSON-LD") from None
    try:
        given = json.loads(file.read())
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON: {error.msg}", path=path, line=error.lineno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"is not JSON: {error}", path=path) from None
    _refuse_fetching(given, path)
    context, nodes = _taken_apart(given)
    del given
    for begin in range(0, max(len(nodes), 1), TOGETHER):
        some = nodes[begin : begin + TOGETHER]
        plain = None if context is not None else _expanded(some)
        yield from _through(rdflib, context, some, path) if plain is None else plain


def _taken_apart(given: Any) -> tuple[Any, list[Any]]:
    """The context and the nodes of a document, if it is a list of nodes or has one; else it is one node."""
    if isinstance(given, list):
        return None, given
    if isinstance(given, dict) and set(given) <= {"@context", "@graph"} and isinstance(given.get("@graph"), list):
        return given.get("@context"), given["@graph"]
    return None, [given]


def _through(rdflib: Any, context: Any, nodes: list[Any], path: Path) -> Iterator[Triple]:
    document: Any = nodes if context is None else {"@context": context, "@graph": nodes}
    graph = rdflib.Graph()
    try:
        with warnings.catch_warnings():  # rdflib's own, about its own
            warnings.simplefilter("ignore")
            graph.parse(data=json.dumps(document), format="json-ld")
    except Exception as error:  # rdflib has no one name for what it does not understand
        raise DataError(f"is not JSON-LD: {type(error).__name__}: {error!s:.200}", path=path) from None

    def name(node: Any) -> str:
        return f"_:{node}" if isinstance(node, rdflib.BNode) else str(node)

    for subject, predicate, value in graph:
        if isinstance(value, rdflib.Literal):
            yield name(subject), str(predicate), Literal(str(value), (value.language or "").lower())
        else:
            yield name(subject), str(predicate), name(value)


def _expanded(nodes: list[Any]) -> list[Triple] | None:
    """The triples of nodes in expanded form, as most programs write it; None if anything is written another way."""
    found: list[Triple] = []
    for node in nodes:
        id = node.get("@id") if isinstance(node, dict) else None
        if not isinstance(id, str) or not (id.startswith("_:") or "://" in id):
            return None
        for key, values in node.items():
            if key == "@id":
                continue
            if not isinstance(values, list) or not (key == "@type" or "://" in key):
                return None
            for value in values:
                term = _term(value, kind=key == "@type")
                if term is None:
                    return None
                found.append((id, TYPE if key == "@type" else key, term))
    return found


def _term(value: Any, *, kind: bool) -> str | Literal | None:
    if kind:
        return value if isinstance(value, str) and "://" in value else None
    if not isinstance(value, dict):
        return None
    if set(value) == {"@id"}:
        id = value["@id"]
        return id if isinstance(id, str) and (id.startswith("_:") or "://" in id) else None
    text, language = value.get("@value"), value.get("@language", "")
    if not set(value) <= {"@value", "@language", "@type"} or not isinstance(text, (str, bool)):
        return None
    if not isinstance(language, str):
        return None
    return Literal(text if isinstance(text, str) else str(text).lower(), language.lower())


def _refuse_fetching(given: Any, path: Path) -> None:
    """rdflib would fetch a context that is an address: a file must not decide whom this program calls."""
    waiting = [given]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, list):
            waiting.extend(thing)
        elif isinstance(thing, dict):
            context = thing.get("@context")
            some = context if isinstance(context, list) else [context]
            imported = [one.get("@import") for one in some if isinstance(one, dict)]
            foreign = next((one for one in [*some, *imported] if isinstance(one, str)), None)
            if foreign is not None:
                raise DataError(f"its @context is at {foreign!r:.80}, which is not fetched: put it into it", path=path)
            waiting.extend(thing.values())
