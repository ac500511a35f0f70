"""Vocabularies in files: what is read, what is written, and which line is wrong."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from vocabulary_world import birds

import xtrellis as xt

HEAD = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://e.org/> .
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, name: str = "v.ttl") -> xt.Vocabulary:
    return xt.Vocabulary.read(written(folder, name, text))


def test_json_lines_keep_everything(tmp_path: Path):
    birds().write(tmp_path / "v.jsonl")
    again = xt.Vocabulary.read(tmp_path / "v.jsonl")
    assert again == birds()
    assert not birds().diff(again)
    birds().write(tmp_path / "v.jsonl.gz")
    assert gzip.decompress((tmp_path / "v.jsonl.gz").read_bytes()) == (tmp_path / "v.jsonl").read_bytes()
    assert xt.Vocabulary.read(tmp_path / "v.jsonl.gz") == again


def test_json_lines_in_short(tmp_path: Path):
    vocab = read(
        tmp_path, '{"id": "a", "name": "birds"}\n\n{"id": "b", "names": {"EN": "owls"}, "broader": "a"}\n', "v.jsonl"
    )
    assert vocab["a"].names == {"": "birds"}
    assert vocab["b"].names == {"en": "owls"}
    assert vocab["b"].broader == ("a",)


def test_annifs_tables(tmp_path: Path):
    vocab = read(tmp_path, "\ufeff<http://e.org/1>\tbirds\t598\n\n<http://e.org/2>\towls\n", "v.tsv")
    assert vocab["http://e.org/1"].notation == ("598",)
    assert vocab["http://e.org/2"].name() == "owls"
    table = 'uri,label_en,label_fi,notation,more\nhttp://e.org/1,"birds, all",linnut,598,x\nhttp://e.org/2,owls,,,\n'
    vocab = read(tmp_path, table, "v.csv")
    assert vocab["http://e.org/1"].names == {"en": "birds, all", "fi": "linnut"}
    assert vocab["http://e.org/2"].names == {"en": "owls"}
    vocab.write(tmp_path / "w.csv")
    assert xt.Vocabulary.read(tmp_path / "w.csv") == vocab
    birds().write(tmp_path / "w.tsv", language="fi")
    lines = (tmp_path / "w.tsv").read_text().splitlines()
    assert lines[1] == "<p2>\tlinnut\t598"
    assert len(lines) == 7  # those in use


@pytest.mark.parametrize(
    ("name", "text", "line", "why"),
    [
        ("v.ttl", HEAD + 'e:a skos:prefLabel "x"@en .\ne:b skos:prefLabel "y"@en\ne:c a e:C .', 5, "expected ';'"),
        ("v.ttl", HEAD + 'e:a skos:prefLabel "x .\n', 3, "not closed"),
        ("v.ttl", HEAD + 'e:a skos:prefLabel """x\n\n\n', 3, "not closed"),
        ("v.ttl", HEAD + "e:a skos:prefLabel", 3, "end of"),
        ("v.ttl", HEAD + 'e:a\n\n f:b "x" .', 5, "prefix 'f:' is not declared"),
        ("v.ttl", HEAD + 'e:a skos:prefLabel "x\\q" .', 3, "no escape"),
        ("v.ttl", HEAD + 'e:a skos:prefLabel "\\U00FFFFFF" .', 3, "no character"),
        ("v.ttl", HEAD + "e:a skos:broader [ a e:b .", 3, "expected ']'"),
        ("v.ttl", HEAD + "\n{ e:a a e:b }", 4, "unexpected"),
        ("v.ttl", HEAD + "e:a skos:broader " + "[ e:p " * 300, 3, "200 brackets"),
        ("v.nt", '<a> <b> "c" .\n<a> <b> <c>\n', 3, "expected ';'"),
        ("v.rdf", '<a xmlns="u">\n<b></a>', 2, "mismatched tag"),
        ("v.rdf", "<rdf>\n</rdf>", 1, "no namespace"),
        ("v.jsonld", '{"a":\n 1,}', 2, "is not JSON"),
        ("v.tsv", "<a>\tx\nb\n", 2, "expected <uri>"),
        ("v.tsv", "<a>\tx\n<a>\ty\n", 2, "is on line 1 already"),
        ("v.csv", "id,name\na,b\n", 1, "expected a first line with the columns uri"),
        ("v.csv", "uri,label_en\na,b\nc\n", 3, "expected 2 columns; got 1"),
        ("v.csv", 'uri,label_en\na,"b\n', 2, "is not CSV"),
        ("v.csv", "uri,label_en\na,b\na,c\n", 3, "is on line 2 already"),
        ("v.jsonl", '{"id": "a"}\n{"id": 1}\n', 2, "needs an id"),
        ("v.jsonl", '{"id": "a"}\n{"id": "a"}\n', 2, "two labels have the id 'a'"),
        ("v.jsonl", '{"id": "a", "nmae": "x"}\n', 1, "a label has no 'nmae'"),
        ("v.jsonl", '{"id": "a", "names": {"en": ["x", "y"]}}\n', 1, "two preferred names in language 'en'"),
        ("v.jsonl", '{"id": "a", "names": 3}\n', 1, "must be a list of strings"),
        ("v.jsonl", "[1]\n", 1, "must be an object with an id"),
        ("v.jsonl", "{\n", 1, "is not JSON"),
    ],
)  # fmt: skip
def test_broken_files_are_told_with_their_line(tmp_path: Path, name: str, text: str, line: int, why: str):
    path = written(tmp_path, name, text)
    with pytest.raises(xt.DataError) as told:
        xt.Vocabulary.read(path)
    assert f"{path}, line {line}: " in str(told.value)
    assert why in str(told.value)


@pytest.mark.parametrize(
    ("name", "line"),
    [("v.ttl", "# a"), ("v.nt", "# a"), ("v.tsv", "<a>\tb"), ("v.csv", "uri,label_en"), ("v.jsonl", "")],
)
def test_bytes_that_are_no_text(tmp_path: Path, name: str, line: str):
    path = tmp_path / name
    path.write_bytes(line.encode() + b"\n\n\xff\xfe\n")
    with pytest.raises(xt.DataError, match=r"line 3: expected UTF-8 text; byte 0xff is not"):
        xt.Vocabulary.read(path)


def test_files_without_labels(tmp_path: Path):
    for name in ("v.ttl", "v.nt", "v.tsv", "v.jsonl"):
        with pytest.raises(xt.DataError, match="has no label"):
            read(tmp_path, "\n", name)
    with pytest.raises(xt.DataError, match="there is no such file"):
        xt.Vocabulary.read(tmp_path / "nothing.ttl")
    with pytest.raises(xt.DataError, match="is no vocabulary that is known by its name"):
        xt.Vocabulary.read(tmp_path / "v.pdf")
    with pytest.raises(xt.ParameterError, match="format must be one of turtle"):
        xt.Vocabulary.read(tmp_path / "v.ttl", format="turtel")
    with pytest.raises(xt.DataError, match=r"is written to \.jsonl, \.tsv or \.csv"):
        birds().write(tmp_path / "v.ttl")


def test_what_skos_says_of_labels(tmp_path: Path):
    vocab = read(
        tmp_path,
        HEAD
        + """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:scheme a skos:ConceptScheme ; skos:prefLabel "all of it"@en .
e:group a skos:Collection ; skos:prefLabel "a group"@en ; skos:member e:a .
e:a a skos:Concept ; skos:prefLabel "birds"@en ; skos:narrower e:b ; skos:related e:c ; skos:definition "d"@en .
e:b skos:prefLabel "owls"@en .
e:c a skos:Concept ; xl:prefLabel [ a xl:Label ; xl:literalForm "wings"@en ] ; owl:deprecated true .
e:d a skos:Concept ; rdfs:label "only this"@en ; dct:isReplacedBy e:a .
e:f a skos:Concept ; skos:prefLabel 'f' . e:a dct:replaces e:f .
""",
    )
    assert [label.id.rpartition("/")[2] for label in vocab] == ["a", "b", "c", "d", "f"]
    assert vocab["http://e.org/b"].broader == ("http://e.org/a",)
    assert vocab["http://e.org/c"].names == {"en": "wings"}
    assert vocab["http://e.org/c"].state == "retired"
    assert vocab["http://e.org/c"].related == ("http://e.org/a",)
    assert vocab["http://e.org/d"].names == {"en": "only this"}
    assert vocab["http://e.org/d"].replaced_by == vocab["http://e.org/f"].replaced_by == "http://e.org/a"
    assert vocab["http://e.org/a"].notes[0].kind == "definition"


def test_contradictions_are_put_right_counted_and_refused_if_strict(tmp_path: Path):
    text = (
        HEAD
        + """
e:a a skos:Concept ; skos:prefLabel "x"@en, "y"@en ; skos:broader e:b .
e:b a skos:Concept ; skos:prefLabel "b"@en ; skos:broader e:a, e:nowhere .
e:A a skos:Concept ; skos:prefLabel "B"@en ; <http://purl.org/dc/terms/isReplacedBy> e:gone .
e:c a skos:Concept ; skos:prefLabel "b"@en .
"""
    )
    path = written(tmp_path, "v.ttl", text)
    heard: list[xt.ProgressEvent] = []
    with xt.listen(heard.append):
        vocab = xt.Vocabulary.read(path)
    assert any("two names" in str(event) and "vocabulary check" in str(event) for event in heard)
    assert vocab["http://e.org/a"].names == {"en": "x"}
    assert vocab["http://e.org/a"].alternative == {"en": ("y",)}
    assert vocab["http://e.org/A"].state == "retired"
    faults = vocab.check()
    assert faults.counts == {
        "two names": 1, "unknown label": 1, "replaced by unknown": 1, "ring": 1, "ids alike": 1, "shared name": 1,
    }  # fmt: skip
    assert faults.n_errors == 4
    assert (
        "'http://e.org/a' → 'http://e.org/b' → 'http://e.org/a'" in next(f for f in faults if f.kind == "ring").message
    )
    with pytest.raises(xt.DataError, match="two preferred names in language 'en', 'x' and 'y'"):
        xt.Vocabulary.read(path, strict=True)


def test_a_label_above_itself_and_long_rings():
    ring = [xt.Label(f"l{i}", broader=(f"l{(i + 1) % 50}",)) for i in range(50)]
    faults = xt.Vocabulary([*ring, xt.Label("self", broader=("self",))]).check()
    assert faults.counts["ring"] == 2
    assert faults.counts["no name"] == 51
    assert "(50 labels)" in next(f.message for f in faults if f.kind == "ring")


def test_a_hundred_thousand_names_and_forty_languages(tmp_path: Path):
    names = "".join(f', "name {i}"@en' for i in range(100_000))
    many = ", ".join(f'"nimi {i}"@x{chr(97 + i // 10)}{chr(97 + i % 10)}' for i in range(40))
    vocab = read(tmp_path, HEAD + f'e:a skos:prefLabel {many} ; skos:altLabel "alt"@en{names} .\n')
    assert len(vocab.languages) == 41
    assert len(vocab.names_of(0)) == 100_041
    assert vocab.find("NAME 77777") == 0
    assert vocab.name_of(0, "xbh") == "nimi 17"
    vocab.write(tmp_path / "w.jsonl")
    assert xt.Vocabulary.read(tmp_path / "w.jsonl") == vocab


def test_a_context_from_elsewhere_is_not_fetched(tmp_path: Path):
    with pytest.raises(xt.DataError, match=r"its @context is at 'http://127\.0\.0\.1:9/c', which is not fetched"):
        read(tmp_path, '{"@graph": [{"@context": ["http://127.0.0.1:9/c"]}]}', "v.jsonld")


def test_entities_cannot_blow_up(tmp_path: Path):
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">\n' for i in range(1, 12))
    bomb = f'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY e0 "lol">\n{levels}]>\n<x xmlns="u">&e11;</x>'
    with pytest.raises(xt.DataError, match=r"is not XML|has no label|is not RDF"):
        read(tmp_path, bomb, "v.rdf")
    outside = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>\n<x xmlns="u">&e;</x>'
    with pytest.raises(xt.DataError, match=r"line 2: is not XML"):
        read(tmp_path, outside, "v.rdf")


def test_json_ld_without_rdflib_names_the_extra(tmp_path: Path):
    path = written(tmp_path, "v.jsonld", '[{"@id": "http://e.org/a", "http://e.org/p": [{"@list": []}]}]')
    script = (
        "import sys; sys.modules['rdflib'] = None\n"
        "import xtrellis as xt\n"
        "try: xt.Vocabulary.read(sys.argv[1])\n"
        "except xt.MissingExtraError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True).stdout
    assert "pip install 'xtrellis[skos]'" in told
