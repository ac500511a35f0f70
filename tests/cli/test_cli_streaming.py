"""`predict` and `tag` answer rows as they come, in order, however many there are."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from cli_world import Run, write_jsonl
from scipy.sparse import load_npz

import xtrellis as xt
from xtrellis.data import stream

PROGRAM = [sys.executable, "-c", "from xtrellis.cli import main; main()"]


@contextmanager
def talking(*args: object) -> Iterator[subprocess.Popen[str]]:
    """The program with its stdin and stdout as open pipes."""
    command = [*PROGRAM, *map(str, args)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("args", "asked", "labels"),
    [
        (["predict", "-q", "-"], ['{"text": "violin"}\n', '{"text": "rain"}\n'], lambda row: row["labels"]),
        (["tag", "--lines", "--json"], ["violin\n", "rain\n"], lambda row: [tag["label"] for tag in row["tags"]]),
    ],
)
def test_a_line_is_answered_while_the_next_is_awaited(model: Path, args: list[str], asked: list[str], labels) -> None:
    command, *rest = args
    with talking(command, model, *rest, "-k", "1") as process:
        for line, expected in zip(asked, ["music", "weather"], strict=True):
            process.stdin.write(line)
            process.stdin.flush()
            assert labels(json.loads(process.stdout.readline())) == [expected]
        process.stdin.close()
        assert process.wait(60) == 0


def test_many_rows_keep_their_order(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xtrellis.data.streams.chunks.ROWS", 64)
    monkeypatch.setattr("xtrellis.data.streams.chunks.FIRST_ROWS", 7)
    data = write_jsonl(tmp_path / "d.jsonl", 1000, seed=5)
    texts = [json.loads(line)["text"] for line in data.read_text(encoding="utf-8").splitlines()]
    tagger = xt.load(model)
    expected = [[tag.label for tag in tags] for tags in tagger.tag_many(texts, k=3)]
    code, out, _ = run("predict", model, data, "-k", "3", "-q")
    assert code == 0
    assert [json.loads(line)["labels"] for line in out.splitlines()] == expected
    code, out, _ = run("tag", model, "--lines", "--json", "-k", "3", stdin="\n".join(texts))
    assert [[tag["label"] for tag in json.loads(line)["tags"]] for line in out.splitlines()] == expected
    for suffix in ("txt", "npz"):
        assert run("predict", model, data, "-k", "3", "-q", "--to", tmp_path / f"p.{suffix}").code == 0
    assert (tmp_path / "p.txt").read_text().startswith("1000 36\n")
    assert load_npz(tmp_path / "p.npz").shape == (1000, 36)
    top = tagger.predict(texts, 3)
    np.testing.assert_array_equal(load_npz(tmp_path / "p.npz").toarray(), top.to_csr().toarray())


def test_ids_and_chosen_columns_are_passed_through(run: Run, model: Path, tmp_path: Path) -> None:
    rows = [{"id": 7, "text": "violin", "title": "ü", "n": [1]}, {"text": "rain", "title": None}]
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run("predict", model, data, "-k", "1", "-q", "--keep", "title,n")
    assert code == 0
    first, second = [json.loads(line) for line in out.splitlines()]
    assert list(first) == ["id", "title", "n", "labels", "scores"]
    assert (first["id"], first["title"], first["n"], first["labels"]) == (7, "ü", [1], ["music"])
    assert (second["title"], second["n"], second["labels"], "id" in second) == (None, None, ["weather"], False)
    table = tmp_path / "d.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text", "x"], ["a", 'violin, "piano"\nconcert', "1"], ["b", "rain", "2"]])
    code, out, _ = run("predict", model, table, "-k", "1", "-q", "--keep", "x")
    assert [(r["id"], r["x"], r["labels"][0]) for r in map(json.loads, out.splitlines())] == [
        ("a", "1", "music"),
        ("b", "2", "weather"),
    ]
    code, _, err = run("predict", model, table, "--keep", "y", "-q")
    assert (code, "has no column 'y' to keep" in err) == (2, True)


def test_a_threshold_leaves_labels_out(run: Run, model: Path, test_file: Path) -> None:
    _, out, _ = run("predict", model, test_file, "-k", "5", "--threshold", "0.5", "-q")
    scores = [score for line in out.splitlines() for score in json.loads(line)["scores"]]
    assert scores
    assert min(scores) >= 0.5


def test_bad_rows_stop_the_program_or_are_told_of_in_their_place(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_bytes(b'{"text": "violin"}\n{"text": \n\n{"text": 3}\n{"text": "\xff"}\n{"text": "rain"}\n')
    code, _, err = run("predict", model, data, "-q")
    assert code == 2
    assert f"{data}, line 2" in err
    code, out, err = run("predict", model, data, "-k", "1", "--skip-bad-rows")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["labels"] for row in found] == [["music"], [], [], [], ["weather"]]
    assert [f"line {n}" in row["reason"] for n, row in zip((2, 4, 5), found[1:4], strict=True)] == [True] * 3
    assert "3 rows could not be read" in err
    features = tmp_path / "d.txt"
    features.write_text("4 4 4\n" + "\n".join(f"{i} {i}:1 {(i + 1) % 4}:0.5" for i in range(4)) + "\n")
    assert run("train", features, "--to", tmp_path / "m", "--holdout", "0", "-q").code == 0
    features.write_text("3 4 4\n0 0:1\n1 nonsense\n2 2:1\n")
    assert run("predict", tmp_path / "m", features, "-q").code == 2
    code, out, _ = run("predict", tmp_path / "m", features, "-q", "--skip-bad-rows", "-k", "1")
    assert code == 0
    assert [len(json.loads(line)["labels"]) for line in out.splitlines()] == [1, 0, 1]


def test_texts_without_known_words_are_counted(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "zzz"}\n{"text": "rain"}\n{"text": ""}\n')
    _, out, err = run("predict", model, data, "-k", "1")
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [[], ["weather"], []]
    assert "2 texts have no word that the model knows and got no labels (--guess" in err
    _, out, err = run("predict", model, data, "-k", "1", "--guess")
    assert [len(json.loads(line)["labels"]) for line in out.splitlines()] == [1, 1, 1]
    assert "--guess" not in err


def test_progress_tells_rate_and_time_left(
    run: Run, model: Path, test_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**6))
    monkeypatch.setattr("xtrellis.cli.show._now", lambda: float(next(now)))
    monkeypatch.setattr("xtrellis.data.streams.chunks._CHUNK", 512)
    _, _, err = run("predict", model, test_file)
    assert "bytes/s" in err
    assert " left" in err
    assert "rows/s" in err


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
def test_stdin_of_every_kind(run: Run, model: Path, format: str) -> None:
    rows = {
        "csv": 'text,n\n"violin, ""piano""\nconcert",1\n\nrain 5" snow,2\n',
        "tsv": "n\ttext\n1\tviolin\n2\train\n",
        "jsonl": '\ufeff{"text": "violin"}\r\n{"text": "rain"}',
    }[format]
    for told in ([], ["--format", format]):
        code, out, err = run("predict", model, "-", "-k", "1", "-q", *told, stdin=rows)
        assert code == 0, err
        assert [json.loads(line)["labels"] for line in out.splitlines()] == [["music"], ["weather"]]


def test_a_quoted_cell_may_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.csv"
    cells = [["text", "n"], ["a\nb", "1"], ['c "d" \n\n e, f', "2"], ["g", ""], ["", "4"], ['"', "5"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(cells)
    whole = xt.read(path, unlabelled=True).texts
    for size in (1, 3, 7, 1000):
        monkeypatch.setattr("xtrellis.data.streams.chunks._CHUNK", size)
        assert [text for block in stream(path) for text in block.texts] == whole == [row[0] for row in cells[1:]]
    path.write_text('text,n\nx,1\n"never closed,2\ny,3\n')
    for skip in (False, True):
        with pytest.raises(xt.DataError, match=r"line 3: expected a closing quote"):
            list(stream(path, skip_bad_rows=skip))


def test_streams_end_as_files_do(tmp_path: Path) -> None:
    for content, expected in ((b"", []), (b"a", ["a"]), (b"a\n", ["a"]), (b"a\n\nb\n", ["a", "", "b"])):
        path = tmp_path / "d.txt"
        path.write_bytes(content)
        assert [text for block in stream(path, format="lines") for text in block.texts] == expected
    path = tmp_path / "d.csv"
    path.write_text("")
    with pytest.raises(xt.DataError, match="the file is empty"):
        list(stream(path))


def test_a_quote_that_never_closes_is_no_row_to_skip(run: Run, model: Path, tmp_path: Path) -> None:
    """Everything after it went into one cell: rows must not be lost without a word."""
    data = tmp_path / "data.csv"
    rows = [f"{i},a violin {i}" for i in range(200)]
    rows[50] = '50,"an open quote'
    data.write_text("\n".join(["id,text", *rows]) + "\n")
    code, _, err = run("predict", model, data, "-k", "1", "--skip-bad-rows")
    assert code == 2
    assert "expected a closing quote" in err
    assert "quotes=no" in err
    assert run("predict", model, data, "-k", "1", "-q", "--read", "quotes=no").out.count("\n") == 200
