"""Contexts of JSON-LD as our reader understands them, against rdflib; what it does not, rdflib still reads."""

from __future__ import annotations

import io
import json
import sys
import warnings
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import graph_diff

import xtrellis as xt
from xtrellis.vocabulary.formats.context import Context, UnusualError
from xtrellis.vocabulary.formats.jsonld import json_ld
from xtrellis.vocabulary.formats.turtle import Literal

SKOS = "http://www.w3.org/2004/02/skos/core#"
NODES = [
    {
        "@id": "e:p1", "@type": ["skos:Concept", "e:Other"], "name": {"en": "birds", "fi": ["linnut", "lintu"]},
        "also": ["fowl", {"@value": "Vögel", "@language": "de"}], "above": "e:p0", "near": ["e:p2", "e:p3"],
        "skos:notation": 598, "skos:note": {"@value": "1", "@type": "e:t"}, "unknown": "nobody knows",
        "http://x.org/flag": True, "kind": "Local", "skos:related": {"@id": "e:p4", "name": {"en": "inner"}},
        "skos:topConceptOf": {"also": "a node without a name"}, "nothing": "left out", "skos:example": None,
    },
    {"@id": "http://e.org/p0", "@type": "skos:Concept", "also": {"@set": ["x", "y"]}, "plain": "no language"},
]  # fmt: skip
CONTEXT = {
    "skos": SKOS, "e": "http://e.org/", "@language": "sv",
    "name": {"@id": "skos:prefLabel", "@container": "@language"}, "also": {"@id": "skos:altLabel", "@language": "en"},
    "above": {"@id": "skos:broader", "@type": "@id"},
    "near": {"@id": "skos:related", "@type": "@id", "@container": "@set"},
    "kind": {"@id": "e:kind", "@type": "@vocab"}, "Local": "e:Local", "nothing": None,
    "plain": {"@id": "e:plain", "@language": None},
}  # fmt: skip
ALIASED = {
    "uri": "@id", "type": "@type", "lang": "@language", "value": "@value", "graph": "@graph", "skos": SKOS,
    "prefLabel": "skos:prefLabel", "broader": "skos:broader", "@vocab": "http://v.org/", "@base": "http://b.org/dir/",
}  # fmt: skip
ALIASED_NODES = [
    {"uri": "http://e.org/a", "type": "skos:Concept", "prefLabel": [{"lang": "en", "value": "a"}],
     "broader": {"uri": "b"}},
    {"uri": "b", "type": "Thing", "prefLabel": {"lang": "FI", "value": "b"}, "free": "text"},
]  # fmt: skip


def ours(document: object) -> rdflib.Graph:
    out = rdflib.Graph()

    def node(name: str):
        return rdflib.BNode("b" + name[2:]) if name.startswith("_:") else rdflib.URIRef(name)

    for subject, predicate, value in json_ld(io.BytesIO(json.dumps(document).encode()), Path("x")):
        made = rdflib.Literal(value.text, lang=value.language or None) if isinstance(value, Literal) else node(value)
        out.add((node(subject), rdflib.URIRef(predicate), made))
    return out


def theirs(document: object) -> rdflib.Graph:
    out = rdflib.Graph()
    with warnings.catch_warnings():  # rdflib's own, about its own
        warnings.simplefilter("ignore")
        found = rdflib.Graph().parse(data=json.dumps(document), format="json-ld")
    for subject, predicate, value in found:
        text = isinstance(value, rdflib.Literal)
        out.add((subject, predicate, rdflib.Literal(str(value), lang=value.language) if text else value))
    return out


@pytest.mark.parametrize(
    "document",
    [
        {"@context": CONTEXT, "@graph": NODES},
        {"@context": [{"skos": SKOS}, CONTEXT], "@graph": NODES},
        {"@context": CONTEXT, **NODES[0]},
        {"@context": ALIASED, "graph": ALIASED_NODES},
        {"@context": {"@vocab": SKOS}, "@graph": [{"@id": "http://e.org/a", "prefLabel": "a"}]},
    ],
    ids=["terms", "list", "one node", "aliases", "vocab"],
)
def test_the_same_triples_without_rdflib(monkeypatch, document):
    expected = theirs(document)
    monkeypatch.setattr("xtrellis.vocabulary.formats.jsonld._through", None)  # it does not come to that
    _, only_ours, only_theirs = graph_diff(ours(document), expected)
    assert not sorted(only_ours)
    assert not sorted(only_theirs)
    assert len(expected)


@pytest.mark.parametrize(
    ("context", "node"),
    [
        ({"p": {"@id": "http://e.org/p", "@container": "@list"}}, {"@id": "http://e.org/a", "p": ["x", "y"]}),
        ({"p": {"@reverse": "http://e.org/p", "@type": "@id"}}, {"@id": "http://e.org/a", "p": "http://e.org/b"}),
        ({"p": "http://e.org/p"}, {"@id": "http://e.org/a", "p": {"@list": ["x"]}}),
        ({"p": "http://e.org/p"}, {"@id": "http://e.org/a", "p": 2.5}),
        ({"p": "http://e.org/p"}, {"@context": {"p": "http://e.org/q"}, "@id": "http://e.org/a", "p": "x"}),
        ({"p": "http://e.org/p"}, {"@id": "http://e.org/a", "@reverse": {"p": {"@id": "http://e.org/b"}}}),
    ],
    ids=["list", "reverse", "list within", "number", "context within", "reverse within"],
)
def test_what_is_unusual_is_left_to_rdflib(context, node):
    document = {"@context": context, "@graph": [node]}
    with pytest.raises(UnusualError):
        Context(context).triples(node)
    _, only_ours, only_theirs = graph_diff(ours(document), theirs(document))
    assert not len(only_ours)
    assert not len(only_theirs)


def test_terms_that_go_round_in_circles_and_nodes_that_are_too_deep():
    with pytest.raises(UnusualError):
        Context({"a": "b", "b": "a"})
    deep: dict = {"@id": "http://e.org/a"}
    for _ in range(150):
        deep = {"@id": "http://e.org/a", "http://e.org/p": deep}
    with pytest.raises(UnusualError):
        Context({}).triples(deep)


def test_with_a_context_no_library_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    path = tmp_path / "v.jsonld"
    path.write_text(json.dumps({"@context": CONTEXT, "@graph": NODES}))
    vocab = xt.Vocabulary.read(path)
    assert vocab["http://e.org/p1"].names == {"en": "birds", "fi": "linnut"}
    assert vocab["http://e.org/p1"].broader == ("http://e.org/p0",)
    path.write_text('{"@context": {"p": {"@id": "http://e.org/p", "@container": "@list"}}, "@graph": [{"p": "x"}]}')
    with pytest.raises(xt.MissingExtraError, match=r"xtrellis\[skos\]"):
        xt.Vocabulary.read(path)
