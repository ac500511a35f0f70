"""JSON-LD: as vocabularies write it, read here; what is written in another way goes through rdflib, some nodes at a
time, so that its graph never holds all. Contexts are not fetched."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...core import DataError, MissingExtraError
from .context import Context, UnusualError
from .turtle import Literal, Triple

TOGETHER = 2000  # nodes that rdflib reads at once


def json_ld(file: BinaryIO, path: Path) -> Iterator[Triple]:
    """The triples of a document. The JSON itself is read as a whole."""
    try:
        given = json.loads(file.read())
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON: {error.msg}", path=path, line=error.lineno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"is not JSON: {error}", path=path) from None
    _refuse_fetching(given, path)
    context, nodes = _taken_apart(given)
    del given
    try:
        terms = Context({} if context is None else context)
    except UnusualError:
        terms = None
    for begin in range(0, max(len(nodes), 1), TOGETHER):
        some = nodes[begin : begin + TOGETHER]
        plain = None if terms is None else _by_terms(terms, some)
        yield from _through(context, some, path) if plain is None else plain


def _by_terms(terms: Context, nodes: list[Any]) -> list[Triple] | None:
    """The triples of nodes; None if anything in them is unusual."""
    try:
        return [triple for node in nodes for triple in terms.triples(node)]
    except UnusualError:
        return None


def _taken_apart(given: Any) -> tuple[Any, list[Any]]:
    """The context and the nodes of a document, if it is a list of nodes or has one; else it is one node."""
    if isinstance(given, list):
        return None, given
    if isinstance(given, dict):
        context, rest = given.get("@context"), {key: value for key, value in given.items() if key != "@context"}
        of_it = context if isinstance(context, dict) else {}
        graph = [key for key in rest if key == "@graph" or of_it.get(key) == "@graph"]
        if len(rest) == 1 and graph and isinstance(rest[graph[0]], list):
            return context, rest[graph[0]]
        if context is not None:
            return context, [rest]
    return None, [given]


def _through(context: Any, nodes: list[Any], path: Path) -> Iterator[Triple]:
    try:
        import rdflib
    except ImportError:
        raise MissingExtraError("rdflib", "skos", "reading this JSON-LD") from None
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
