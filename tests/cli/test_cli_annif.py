"""Annif's own files, and tables without header, with columns by number and quotes that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli_world import TOPICS, Run, rows

import xtrellis as xt

URI = "http://www.yso.fi/onto/yso/p{}"


def uri(topic: str) -> str:
    return URI.format(sorted(TOPICS).index(topic))


def corpus(n: int, seed: int) -> str:
    """Lines as Annif has them; a quote that is never closed, and two subjects in some."""
    out = []
    for i, row in enumerate(rows(n, seed)):
        subjects = f"<{uri(row['labels'][0])}>" + (f" <{URI.format(99)}>" if i % 3 == 0 else "")
        out.append(f'5" {row["text"]}\t{subjects}\n')
    return "".join(out)


@pytest.mark.parametrize("name", ["short.tsv", "short.tsv.gz"])
def test_a_short_text_corpus(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = corpus(200, 1).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = xt.read(path)
    assert (data.n_rows, list(data.label_names)) == (200, sorted([*map(uri, TOPICS), URI.format(99)]))
    assert data.texts[0].startswith('5" ')
    code, _, err = run("train", path, "--to", tmp_path / "m", "-q")
    assert code == 0, err
    new = tmp_path / "new.tsv"
    new.write_text(f"violin piano concert\t<{uri('music')}>\nrain snow wind\t<{uri('weather')}>\textra\n")
    code, out, _ = run("predict", tmp_path / "m", new, "-k", "1", "-q")
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [[uri("music")], [uri("weather")]]
    code, out, _ = run("predict", tmp_path / "m", "-", "-k", "1", "-q", stdin=new.read_text())
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [[uri("music")], [uri("weather")]]
    code, out, _ = run("evaluate", tmp_path / "m", new, "--metrics", "P@1", "--json", "-q")
    assert json.loads(out)["metrics"]["P@1"] == 100


def test_a_folder_of_full_texts(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for i, row in enumerate(rows(120, 1)):
        topic = row["labels"][0]
        (folder / f"d{i:03}.txt").write_text(row["text"])
        (folder / f"d{i:03}.tsv").write_text(f"<{uri(topic)}>\t{topic}\n\n")
    (folder / "alone.txt").write_text("no subjects")
    code, _, err = run("train", folder, "--to", tmp_path / "m")
    assert code == 0, err
    assert "120 rows" in err
    assert "1 texts have no .tsv or .key beside them and were left out" in err
    code, out, _ = run("predict", tmp_path / "m", folder, "-k", "1", "-q")
    answers = {row["id"]: row["labels"] for row in map(json.loads, out.splitlines())}
    assert len(answers) == 121
    assert answers["d000.txt"] == xt.read(folder).labels_of(0)
    code, out, err = run("tag", tmp_path / "m", folder, "-k", "1", "--json")
    assert (code, len(out.splitlines())) == (0, 121)  # labels beside a text are no texts
    assert f"reading 121 text files of {folder}" in err


def test_subjects_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("violin")
    (tmp_path / "a.key").write_text("music\nold music \n")
    data = xt.read(tmp_path)
    assert (data.texts, data.labels_of(0)) == (["violin"], ["music", "old music"])
    assert xt.read(tmp_path, format="annif-folder").n_rows == 1


def test_columns_by_number_without_header_and_quotes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("".join(f'{i},say "{row["text"]},{row["labels"][0]}\n' for i, row in enumerate(rows(100, 1))))
    options = ["header=no", "quotes=off", "text_column=2", "label_column=3"]
    how = [word for option in options for word in ("--read", option)]
    code, _, err = run("train", path, "--to", tmp_path / "m", "-q", *how)
    assert code == 0, err
    assert sorted(xt.load(tmp_path / "m").label_names) == sorted(TOPICS)
    code, out, err = run("predict", tmp_path / "m", path, "-k", "1", "-q", *how, "--keep", "1")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["1"] for row in found] == [str(i) for i in range(100)]
    named = tmp_path / "named.csv"
    named.write_text("n,body,topic\n" + path.read_text().replace('"', ""))
    data = xt.read(named, text_column="2", label_column="topic")
    assert data.n_rows == 100
    assert xt.read(path, header=False, quotes=False, text_column="2", label_column="3").n_rows == 100
    with pytest.raises(xt.ParameterError, match="header is for csv, tsv"):
        xt.read(tmp_path / "x.jsonl" if (tmp_path / "x.jsonl").write_text("{}") else "", header=False)


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("d.csv", "body,tags\nx,y\n", "say which with --read text_column=NAME"),
        ("d.csv", "text,tags\nx,y\n", "say which with --read label_column=NAME"),
        ("d.csv", "text,labels\nx,a|b\n", "with --read 'label_separator=…'"),
        ("d.svm", "1 1:0.5\n", "give --read index_base=0 or --read index_base=1"),
        ("d.data", "hello world\n", "give --format, one of"),
    ],
)
def test_a_hint_names_what_is_typed(run: Run, tmp_path: Path, name: str, content: str, hint: str) -> None:
    (tmp_path / name).write_text(content)
    code, _, err = run("train", tmp_path / name, "--to", tmp_path / "m", "-q")
    assert code == 2
    assert hint in err
