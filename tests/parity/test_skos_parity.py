"""Our readers of Turtle, N-Triples and RDF/XML against rdflib, triple by triple and label by label."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import graph_diff

import xtrellis as xt
from xtrellis.vocabulary.formats.jsonld import json_ld
from xtrellis.vocabulary.formats.rdfxml import RdfXml
from xtrellis.vocabulary.formats.turtle import Literal, Turtle

SKOS = "http://www.w3.org/2004/02/skos/core#"
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . # a comment . with "marks"
PREFIX e: <http://e.org/>
@prefix : <http://d.org/x#> .
@base <http://b.org/dir/> .
e:a.b a skos:Concept ; ; skos:prefLabel "it's \\"quoted\\" \\u00e4 \\U0001F600"@en-GB , 'single "x"'@fi ;
  skos:altLabel \"\"\"long "" text
of two lines\\n\"\"\"@en, '''other ' quotes'''@sv, ""@en, '' ;
  :p 1, -2.5, true, false, "3"^^<http://www.w3.org/2001/XMLSchema#integer>, "x"^^e:t ;
  skos:broader e:c\\-d, <rel>, <#frag>, <../up>, e:%41b, :, e:a:b, <> .
_:n1 skos:related _:n1.x , [ a e:T ; e:q [ ] ; e:list ( 1 "two" ( e:three ) [ e:p 4 ] ) ; ] .
[ e:lonely e:b ] . [] e:p e:q . ( e:x ) e:p () .
e:é_1 skos:prefLabel "é".
<http://e.org/\\u0041> e:p e:\\~x .
e:last a e:T
."""
XML = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY e "http://e.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:e="http://e.org/" xml:base="http://b.org/dir/file" xml:lang="en">
  <skos:Concept rdf:about="&e;a" e:short="said in short">
    <skos:prefLabel xml:lang="fi">lin&amp;nut &lt;ä&gt;</skos:prefLabel>
    <skos:prefLabel>birds</skos:prefLabel>
    <skos:prefLabel xml:lang=""></skos:prefLabel>
    <skos:broader rdf:resource="rel"/>
    <skos:narrower><skos:Concept rdf:ID="frag"><skos:prefLabel>inner</skos:prefLabel></skos:Concept></skos:narrower>
    <skos:related><rdf:Description rdf:nodeID="n1"/></skos:related>
    <e:many rdf:parseType="Collection"><e:T rdf:about="&e;1"/><rdf:Description rdf:about="&e;2"/></e:many>
    <e:none rdf:parseType="Collection"></e:none>
    <e:thing rdf:parseType="Resource"><e:p>1</e:p><e:q rdf:resource="&e;z"/></e:thing>
    <e:typed rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">3</e:typed>
    <e:attrs e:k="v"/>
  </skos:Concept>
  <rdf:Description rdf:nodeID="n1"><rdf:type rdf:resource="&e;T"/><e:p rdf:nodeID="n2"/></rdf:Description>
  <rdf:Seq><rdf:li>a</rdf:li><rdf:li rdf:resource="&e;b"/></rdf:Seq>
</rdf:RDF>"""


def graph_of(triples) -> rdflib.Graph:
    out = rdflib.Graph()

    def node(name: str):
        return rdflib.BNode("b" + name[2:]) if name.startswith("_:") else rdflib.URIRef(name)

    for subject, predicate, value in triples:
        made = rdflib.Literal(value.text, lang=value.language or None) if isinstance(value, Literal) else node(value)
        out.add((node(subject), rdflib.URIRef(predicate), made))
    return out


def without_types(graph: rdflib.Graph) -> rdflib.Graph:
    """As ours: types of literals play no part, languages have no case."""
    out = rdflib.Graph()
    for subject, predicate, value in graph:
        made = rdflib.Literal(str(value), lang=value.language) if isinstance(value, rdflib.Literal) else value
        out.add((subject, predicate, made))
    return out


def alike(ours: rdflib.Graph, others: rdflib.Graph) -> bool:
    """Whatever nodes without a name are called."""
    _, only_ours, only_others = graph_diff(ours, others)
    return not len(only_ours) and not len(only_others)


def theirs(text: str, format: str) -> rdflib.Graph:
    return without_types(rdflib.Graph().parse(data=text, format=format))


@pytest.mark.parametrize("piece", [1 << 20, 1, 7, 64])
def test_turtle(monkeypatch: pytest.MonkeyPatch, piece: int):
    """Wherever the pieces end that it is read in."""
    monkeypatch.setattr("xtrellis.vocabulary.formats.turtle.PIECE", piece)
    ours = graph_of(Turtle(io.BytesIO(TURTLE.encode()), Path("x")))
    assert alike(ours, theirs(TURTLE, "turtle"))
    assert len(ours) > 40


@pytest.mark.parametrize("piece", [1 << 18, 1, 50])
def test_rdf_xml(monkeypatch: pytest.MonkeyPatch, piece: int):
    monkeypatch.setattr("xtrellis.vocabulary.formats.rdfxml.PIECE", piece)
    ours = graph_of(RdfXml(io.BytesIO(XML.encode()), Path("x")))
    assert alike(ours, theirs(XML, "xml"))
    assert len(ours) > 25


def test_what_rdflib_writes_is_read_alike(tmp_path: Path):
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    read = {}
    for format, suffix in (("turtle", "ttl"), ("nt", "nt"), ("xml", "rdf"), ("json-ld", "jsonld")):
        path = tmp_path / f"v.{suffix}"
        graph.serialize(path, format=format, encoding="utf-8")
        if format != "json-ld":
            parse = RdfXml if format == "xml" else Turtle
            with path.open("rb") as file:
                assert alike(graph_of(parse(file, path)), without_types(graph)), format
        read[format] = {label.id: label for label in xt.Vocabulary.read(path) if not label.id.startswith("_:")}
    for format in ("nt", "xml", "json-ld"):
        assert read[format].keys() == read["turtle"].keys()
        for id, label in read[format].items():
            other = read["turtle"][id]
            assert sorted(label.names.items()) == sorted(other.names.items())
            assert {k: sorted(v) for k, v in label.alternative.items()} == {
                k: sorted(v) for k, v in other.alternative.items()
            }


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
IRIS = st.sampled_from([f"http://e.org/{name}" for name in ("a", "b.c", "d-e", "ä", "%20x", "q?x=1&y=2", "x#y")])
TRIPLES = st.lists(
    st.tuples(IRIS, IRIS, st.one_of(IRIS, st.tuples(TEXT, st.sampled_from(["", "en", "zh-hant"])))), min_size=1
)


@settings(deadline=None)
@given(TRIPLES, st.sampled_from(["turtle", "nt", "longturtle"]))
def test_any_graph_that_rdflib_writes(triples, format: str):
    graph = rdflib.Graph()
    for subject, predicate, value in triples:
        made = rdflib.URIRef(value) if isinstance(value, str) else rdflib.Literal(value[0], lang=value[1] or None)
        graph.add((rdflib.URIRef(subject), rdflib.URIRef(predicate), made))
    text = graph.serialize(format=format)
    assert set(graph_of(Turtle(io.BytesIO(text.encode()), Path("x")))) == set(graph)


@settings(deadline=None)
@given(st.text(st.sampled_from(list("\"'\\<>@.;,[]()_:a b\n#^1e-\t")), max_size=40))
def test_what_is_no_turtle_is_refused_and_nothing_worse(text: str):
    told = "x, line 1: "
    try:
        list(Turtle(io.BytesIO(text.encode()), Path("x")))
    except xt.DataError as error:
        told = str(error)
    assert told.startswith("x, line ")


@pytest.mark.parametrize("together", [2000, 1])
def test_json_ld(monkeypatch: pytest.MonkeyPatch, together: int):
    """Expanded, and with a context; however many nodes are read at once, those without a name stay the same."""
    monkeypatch.setattr("xtrellis.vocabulary.formats.jsonld.TOGETHER", together)
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    for list_of in graph.subject_objects(rdflib.RDF.first):  # lists are written inside the nodes that have them
        graph.remove((list_of[0], None, None))
    context = {"skos": SKOS, "label": {"@id": "skos:prefLabel", "@language": "en"}}
    for said in (None, context):
        text = graph.serialize(format="json-ld", context=said, encoding="utf-8")
        assert (b"@context" in text) is (said is not None)
        assert alike(graph_of(json_ld(io.BytesIO(text), Path("x"))), without_types(graph))
    with pytest.raises(xt.DataError, match="x: is not JSON-LD"):
        list(json_ld(io.BytesIO(b'{"@context": {"a": {"@id": 3}}, "@graph": [{"a": 1}]}'), Path("x")))
