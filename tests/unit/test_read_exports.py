"""Files as other programs export them: spreadsheets of many countries, UTF-16, JSON arrays, rows that are broken."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import xtrellis as xt

ROWS = [("red apple", ["fruit", "red"]), ("a bus; late", ["traffic"]), ("café, old", ["place", "red"])]


@pytest.fixture
def notes() -> Iterator[list[str]]:
    heard: list[str] = []
    with xt.listen(lambda event: heard.append(event.title) if event.kind == "note" else None):
        yield heard


def table(delimiter: str) -> str:
    rows = [f'"{text}"{delimiter}"{"; ".join(labels)}"' for text, labels in ROWS]
    return "\r\n".join([f"text{delimiter}labels", *rows, ""])


def content(data: xt.Dataset) -> list[tuple[str, list[str]]]:
    return [(text, data.labels_of(i)) for i, text in enumerate(data.texts or [])]


def streamed(path: Path, **options: object) -> list[str]:
    return [text for block in xt.data.stream(path, **options) for text in block.texts or []]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ""])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, notes: list[str], delimiter: str, suffix: str) -> None:
    path = tmp_path / f"export{suffix}"
    path.write_text(table(delimiter), encoding="utf-8-sig", newline="")
    assert content(xt.read(path)) == ROWS
    usual = {".csv": ",", ".tsv": "\t"}.get(suffix, {"\t": "\t"}.get(delimiter, ","))
    assert [note for note in notes if "columns are separated by" in note] == (
        []
        if delimiter == usual
        else [f"{path.name}: columns are separated by {'tabs' if delimiter == chr(9) else repr(delimiter)}"]
    )
    assert streamed(path) == [text for text, _ in ROWS]


def test_the_delimiter_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text,x;labels\na,b;c\n")
    assert content(xt.read(path, text_column="text,x", delimiter=";")) == [("a,b", ["c"])]
    assert streamed(path, text_column="text,x", delimiter=";") == ["a,b"]
    path.write_text("a\tb\n")
    assert content(xt.read(path, header=False, delimiter="tab")) == [("a", ["b"])]
    for wrong in ("", ";;", '"', "\n"):
        with pytest.raises(xt.ParameterError, match="delimiter must be one character"):
            xt.read(path, delimiter=wrong)
    with pytest.raises(xt.ParameterError, match="delimiter is for csv, tsv files"):
        xt.read(path, format="jsonl", delimiter=";")


def test_a_line_that_names_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_text("sep=;\r\n" + table(";"), newline="")
    assert content(xt.read(path)) == ROWS
    assert streamed(path) == [text for text, _ in ROWS]
    path.write_text("sep=;\ntext;labels\na;b\nbroken\n")
    with pytest.raises(xt.DataError, match="line 4: expected 2 columns; got 1"):
        xt.read(path)


def test_other_names_of_columns_are_at_least_shown(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("body;topic\na;b\n")
    with pytest.raises(xt.DataError, match="the columns are 'body', 'topic'"):
        xt.read(path)
    assert content(xt.read(path, text_column="body", label_column="topic")) == [("a", ["b"])]
    assert content(xt.read(path, text_column="1", label_column="2")) == [("a", ["b"])]


def test_names_of_columns_tell_that_it_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("body\ttopic\na\tb\n")
    assert content(xt.read(path, text_column="body", label_column="topic")) == [("a", ["b"])]
    assert content(xt.read(path, header=False)) == [("body", ["topic"]), ("a", ["b"])]
    assert streamed(path, text_column="body") == ["a"]
    path.write_text("body|topic\na|b\n")
    assert content(xt.read(path, delimiter="|", text_column="body", label_column="topic")) == [("a", ["b"])]


def test_a_quote_that_is_a_character_like_others(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('text,labels\n"so called" art,x\n')
    with pytest.raises(
        xt.DataError, match=r"line 2: expected a closing quote .* say quotes=no if quotes are characters"
    ):
        xt.read(path)
    assert content(xt.read(path, quotes=False)) == [('"so called" art', ["x"])]


def test_names_of_columns_are_compared_without_case_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("ID; Text ;Labels\n1;a;b\n")
    assert content(xt.read(path)) == [("a", ["b"])]
    assert streamed(path) == ["a"]
    path.write_text("Text,text,LABELS\n1,a,b\n")  # the exact name comes first
    assert content(xt.read(path)) == [("a", ["b"])]
    path.write_text("Text,TEXT,labels\n1,a,b\n")
    with pytest.raises(xt.DataError, match="expected one column named 'text'"):
        xt.read(path)


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("book.xlsx", b"PK\x03\x04...", "spreadsheet program; save it as CSV"),
        ("mac.csv", b"text,labels\ra,b\rc,d\r", "carriage returns alone"),
        ("nothing.txt", b"\xef\xbb\xbf\n", "the file is empty"),
        ("t.jsonl", b'{"title": "a", "labels": []}', "the fields are 'title', 'labels': say which with text_column"),
        ("d.json", b'{"rows": [{"text": "a", "labels": []}]}', r"jq -c '\.rows\[\]' FILE"),
    ],
)
def test_what_is_not_read_comes_with_the_cure(tmp_path: Path, name: str, written: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(written)
    with pytest.raises(xt.DataError, match=message):
        xt.read(tmp_path / name)
    with pytest.raises(xt.DataError, match=message):
        streamed(tmp_path / name)


@pytest.mark.parametrize("name", ["cooking.train", "cooking.txt", "cooking.txt.gz"])
def test_lines_as_fasttext_has_them(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    written = b"__label__fruit __label__red a  red apple\n\n__label__bus\nlate __label__bus again\r\nno label\n"
    path.write_bytes(gzip.compress(written) if name.endswith("gz") else written)
    expected = [("a red apple", ["fruit", "red"]), ("", ["bus"]), ("late again", ["bus"]), ("no label", [])]
    assert content(xt.read(path)) == expected
    assert streamed(path) == [text for text, _ in expected]
    assert content(xt.read(path, unlabelled=True)) == [(text, []) for text, _ in expected]
    assert content(xt.read(path, labels=["bus"])) == [(t, [n for n in names if n == "bus"]) for t, names in expected]


def test_a_damaged_line_of_fasttext_is_told_or_left_out(tmp_path: Path, notes: list[str]) -> None:
    path = tmp_path / "train.ft"
    path.write_bytes(b"__label__a one\n__label__b \xff two\n__label__ three\n__label__a four\n")
    with pytest.raises(xt.DataError, match="line 2"):
        xt.read(path)
    assert content(xt.read(path, skip_bad_rows=True)) == [("one", ["a"]), ("four", ["a"])]
    assert any("2 rows" in note for note in notes)
    with pytest.raises(xt.ParameterError, match="this one is fasttext"):
        xt.read(path, text_column="x")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be-bom", "utf-8-sig"])
@pytest.mark.parametrize("name", ["unicode.txt", "u.csv"])
def test_text_with_a_mark_is_read_as_it_says(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name  # as Excel saves "Unicode text"
    text = table("\t")
    path.write_bytes(("\ufeff" + text).encode("utf-16-be") if encoding == "utf-16-be-bom" else text.encode(encoding))
    assert content(xt.read(path)) == ROWS
    assert streamed(path) == [text for text, _ in ROWS]


def test_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(table(",").encode("latin-1"))
    with pytest.raises(xt.DataError, match="line 4: expected UTF-8 text; byte 0xe9"):
        xt.read(path)
    assert content(xt.read(path, encoding="latin-1")) == ROWS
    with pytest.raises(xt.DataError, match="is not ascii text"):
        xt.read(path, encoding="ascii")
    for wrong in ("klingon", "rot13", "base64"):
        with pytest.raises(xt.ParameterError, match="encoding must be the name of a text encoding"):
            xt.read(path, encoding=wrong)
    rows = tmp_path / "d.jsonl"
    rows.write_bytes('{"text": "café", "labels": ["é"]}\n'.encode("utf-16-le"))
    assert content(xt.read(rows, encoding="utf-16-le")) == [("café", ["é"])]
    folder = tmp_path / "annif"
    folder.mkdir()
    (folder / "a.txt").write_bytes("café".encode("latin-1"))
    (folder / "a.key").write_bytes("é".encode("latin-1"))
    assert content(xt.read(folder, encoding="latin-1")) == [("café", ["é"])]


BROKEN = {
    "d.jsonl": (
        b'{"text": "a", "labels": ["x"]}\n{"text": "b", \n\xff\n{"text": "c", "labels": ["y", 7]}\n[1]\n'
        b'{"text": "d", "labels": ["z"]}\n'
    ),
    "d.csv": b'text,labels\na,x\nb\n"c\xff",y\n"open, it is,\nc,d,e\nd,z\n',
    "d.tsv": b"a\t<x>\nno tab\nc\xff\t<y>\nd\t<z>\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_rows_can_be_left_out(tmp_path: Path, notes: list[str], name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    with pytest.raises(xt.DataError):
        xt.read(path)
    assert content(xt.read(path, skip_bad_rows=True)) == [("a", ["x"]), ("d", ["z"])]
    count = {"d.jsonl": 4, "d.csv": 4, "d.tsv": 2}[name]
    assert len(notes) == 1
    assert notes[0].startswith(f"{name}: without {count} rows that cannot be read; the first: {path}, line ")


def test_bad_rows_of_features_are_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("2 3 2\n0 0:1\n1 x\n")
    with pytest.raises(xt.ParameterError, match="skip_bad_rows is for jsonl, csv"):
        xt.read(path, skip_bad_rows=True)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "d"])
def test_a_json_array(tmp_path: Path, indent: int | None, name: str) -> None:
    path = tmp_path / name
    rows = [{"id": i, "text": text, "labels": labels} for i, (text, labels) in enumerate(ROWS)]
    path.write_text("\n" + json.dumps(rows, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    assert content(xt.read(path)) == ROWS
    blocks = list(xt.data.stream(path))
    assert [text for block in blocks for text in block.texts] == [text for text, _ in ROWS]
    assert [row["id"] for block in blocks for row in block.passed] == [0, 1, 2]
    with path.open("rb") as pipe:
        assert [text for block in xt.data.stream(pipe) for text in block.texts] == [text for text, _ in ROWS]


def test_a_long_json_array(tmp_path: Path) -> None:
    rows = [{"text": f"{i} " + "é" * 300, "labels": [str(i % 7)]} for i in range(6000)]
    for indent in (None, 1):
        (tmp_path / "d.json").write_text(json.dumps(rows, indent=indent), encoding="utf-8")
        assert xt.read(tmp_path / "d.json").texts == [row["text"] for row in rows]
        assert streamed(tmp_path / "d.json") == [row["text"] for row in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"text": "a", "labels": []}', "line 1: expected ] at the end of the array"),
        ('[{"text": "a", "labels": []}\n{"text": "b"}]', "line 2: expected ',' between the objects"),
        ('[{"text": "a", "labels": []},\n 7]', "line 2: expected a JSON object; got 7"),
        ('[{"text": "a", "labels": []}]\n{}', "line 2: expected the end of the file after the array"),
        ('[{"text": "a",\n "labels": [x]}]', "line 2: expected a JSON object"),
        ('{\n "text": "a"}', "line 1: expected a JSON object.*one object each"),
    ],
)
def test_what_is_wrong_with_an_array(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(xt.DataError, match=message):
        xt.read(tmp_path / "d.json")
    with pytest.raises(xt.DataError, match=message):
        streamed(tmp_path / "d.json")


def test_elements_that_are_no_rows_can_be_left_out(tmp_path: Path, notes: list[str]) -> None:
    (tmp_path / "d.json").write_text('[{"text": "a", "labels": ["x"]}, 7, {"text": 1}, {"text": "b", "labels": []}]')
    assert content(xt.read(tmp_path / "d.json", skip_bad_rows=True)) == [("a", ["x"]), ("b", [])]
    assert "without 2 rows" in notes[0]
    blocks = list(xt.data.stream(tmp_path / "d.json", skip_bad_rows=True))
    assert [sorted(block.faults) for block in blocks] == [[1, 2]]


@pytest.mark.parametrize("first", ["An apple\t", "An apple\t\tmore"])
def test_an_annif_corpus_whose_first_text_has_no_subject(tmp_path: Path, first: str) -> None:
    (tmp_path / "d.tsv").write_text(f"{first}\nA bus\t<http://x/p1> <http://x/p2>\n")
    assert content(xt.read(tmp_path / "d.tsv")) == [("An apple", []), ("A bus", ["http://x/p1", "http://x/p2"])]
    assert streamed(tmp_path / "d.tsv") == ["An apple", "A bus"]
    (tmp_path / "h.tsv").write_text("text\tlabels\nA bus\t<http://x/p1>\n")
    assert content(xt.read(tmp_path / "h.tsv")) == [("A bus", ["<http://x/p1>"])]


def test_labels_that_go_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a", "tags": ["b"]}\n')
    with pytest.raises(xt.DataError, match="it is missing; the fields are 'text', 'tags': say which with label_column"):
        xt.read(tmp_path / "d.jsonl")
