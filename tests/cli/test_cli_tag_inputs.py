"""What people give to `tag`: files, folders, pipes, text that is not UTF-8, words that nobody knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_world import Run

import xtrellis as xt

PROGRAM = [sys.executable, "-c", "from xtrellis.cli import main; main()"]


def shell(line: str, **variables: object) -> subprocess.CompletedProcess[bytes]:
    """A line of bash, in which `xtrellis` is this program."""
    quoted = " ".join(f"'{word}'" for word in PROGRAM)
    script = f'xtrellis() {{ {quoted} "$@"; }}; {line}'
    env = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    return subprocess.run(["bash", "-c", script], capture_output=True, timeout=120, check=False, env=env)


def test_an_existing_file_is_read_and_said_to_be(run: Run, model: Path, tmp_path: Path) -> None:
    notes = tmp_path / "violin.txt"  # the name itself would be music
    notes.write_text("rain snow\nwind storm\n", encoding="utf-8")
    code, out, err = run("tag", model, notes, "-k", "1")
    assert (code, out.split()[1]) == (0, "weather")
    assert err == f"reading the file {notes} (--text tags these words themselves)\n"
    assert json.loads(run("tag", model, notes, "-k", "1", "--json").out)["file"] == str(notes)
    assert run("tag", model, notes, "-k", "1", "-q").err == ""


def test_the_name_of_a_file_can_be_meant(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("violin").write_text("rain snow")
    assert run("tag", model, "violin", "-k", "1").out.split()[1] == "weather"
    code, out, err = run("tag", model, "--text", "violin", "-k", "1")
    assert (code, out.split()[1], err) == (0, "music", "")


def test_a_file_that_is_not_there_is_told_of(run: Run, model: Path) -> None:
    for word in ("no/such/violin.txt", "violin.pdf", "violin/", "./violin", "/violin", "https://violin.org/x"):
        code, out, err = run("tag", model, word, "-k", "1", "-q")
        assert (code, out) == (2, "")
        assert err.startswith(f"error: there is no file '{word}'")
        assert err.endswith("; --text tags the words themselves\n")
        assert run("tag", model, word, "--text", "-k", "1").code == 0
    assert run("tag", model, "a.pdf", "b.pdf").code == 2
    for words in (["violin/piano"], ["the", "violin", "of", "notes.txt"], ["My violin.pdf"]):
        code, out, err = run("tag", model, *words, "-k", "1", "-q")
        assert (code, out.split()[1]) == (0, "music")
        assert err.startswith("there is no file ")
        assert "these words are tagged" in err
    for words in (
        ["apple and/or pear"],
        ["violin.js"],
        ["violin"],
        ["play the violin as in notes.txt"],
        ["C/C++", "violin"],
    ):
        assert run("tag", model, *words).err == ""


def test_what_is_not_text_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    files = {"a.pdf": b"%PDF-1.7 violin", "b.docx": b"PK\x03\x04 violin", "c": b"violin\0\0"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        code, out, err = run("tag", model, tmp_path / name, "-q")
        assert (code, out) == (2, "")
        assert "is not text but a" in err
    (tmp_path / "d.txt").write_text("violin")
    (tmp_path / "e.txt").write_text("rain snow", encoding="utf-16")
    code, out, err = run("tag", model, tmp_path, "-k", "1", "--json")
    assert [json.loads(line)["tags"][0]["label"] for line in out.splitlines()] == ["music", "weather"]
    assert "3 that are not text left out" in err


def test_a_file_that_cannot_be_read_does_not_end_the_others(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("violin piano")
    (tmp_path / "b.txt").write_bytes(b"caf\xe9")
    (tmp_path / "c.txt").write_text("rain snow")
    code, out, err = run("tag", model, tmp_path, "-k", "1", "--json", "-q")
    assert code == 2
    first, second, third = [json.loads(line) for line in out.splitlines()]
    assert (first["tags"][0]["label"], third["tags"][0]["label"]) == ("music", "weather")
    assert (second["tags"], "0xe9" in second["reason"]) == ([], True)
    assert err.splitlines()[0].startswith(f"{tmp_path / 'b.txt'}: expected UTF-8 text")
    assert err.splitlines()[0].endswith("(--encoding latin-1 reads it as such, --skip-bad-rows goes on without it)")
    assert err.splitlines()[1:] == ["1 of 3 files could not be read"]
    assert run("tag", model, tmp_path, "-q", "--skip-bad-rows")[::2] == (0, "")
    code, out, err = run("tag", model, tmp_path, "-k", "1", "--lines", "-q")
    assert (code, out.count("violin piano"), out.count("rain snow")) == (2, 1, 1)
    assert "1 of 3 files could not be read" in err


def test_each_line_of_a_file(run: Run, model: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_bytes(b"violin piano\r\nrain snow")
    code, out, _ = run("tag", model, notes, "--lines", "--json", "-k", "1")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["text"], one["tags"][0]["label"]) for one in found] == [
        ("violin piano", "music"),
        ("rain snow", "weather"),
    ]
    code, _, err = run("tag", model, "no-such-file", "--lines")
    assert code == 2
    assert "there is no file 'no-such-file'" in err


def test_a_folder_gives_every_text_file_in_it(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("violin piano")
    (tmp_path / "b" / "c.md").write_text("rain snow")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (tmp_path / ".hidden").write_text("apple")
    code, out, err = run("tag", model, tmp_path, "--json", "-k", "1")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["file"], one["tags"][0]["label"]) for one in found] == [
        (str(tmp_path / "a.txt"), "music"),
        (str(tmp_path / "b" / "c.md"), "weather"),
    ]
    assert f"reading 2 text files of {tmp_path}, 1 that are not text left out" in err
    code, out, _ = run("tag", model, tmp_path / "a.txt", tmp_path / "b", "-k", "1")
    assert out.splitlines()[0] == str(tmp_path / "a.txt")
    (tmp_path / "empty").mkdir()
    code, _, err = run("tag", model, tmp_path / "empty")
    assert (code, "holds no text files" in err) == (2, True)


def test_words_without_quotes_are_one_text(run: Run, model: Path, tmp_path: Path) -> None:
    code, out, _ = run("tag", model, "rain", "and", "snow", "-k", "1")
    assert (code, out.split()[1]) == (0, "weather")
    (tmp_path / "a.txt").write_text("x")
    code, _, err = run("tag", model, tmp_path / "a.txt", "snow")
    assert (code, "there is no file 'snow'" in err) == (2, True)


@pytest.mark.parametrize(("text", "reason"), [("zzz qqq", "knows no word"), ("", "is empty"), (" \n", "is empty")])
def test_a_text_without_any_known_word_gets_no_answer(run: Run, model: Path, text: str, reason: str) -> None:
    code, out, _ = run("tag", model, text)
    assert code == 0
    assert out.startswith("(no labels: the ")
    assert reason in out
    found = json.loads(run("tag", model, text, "--json").out)
    assert (found["tags"], reason in found["reason"]) == ([], True)
    assert len(run("tag", model, text, "--guess").out.splitlines()) == 5
    tagger = xt.load(model)
    tags = tagger.tag(text)
    assert tags == []
    assert reason in tags.reason
    many = tagger.tag_many([text, "violin"], k=2)
    assert [len(one) for one in many] == [0, 2]
    assert reason in many[0].reason
    assert many[1].reason is None
    assert len(tagger.tag(text, guess=True)) == 5
    assert (tagger.predict([text], 3).labels == -1).all()
    assert (tagger.predict([text], 3, guess=True).labels >= 0).all()


def test_a_known_word_below_the_threshold_is_another_matter(run: Run, model: Path) -> None:
    assert run("tag", model, "violin", "--threshold", "1e9").out == "(no labels)\n"
    assert xt.load(model).tag("violin", threshold=1e9).reason is None


def test_stdin_that_is_not_utf8(model: Path) -> None:
    line = 'printf "caf\\xe9 violin\\nrain snow\\n" | xtrellis tag "$MODEL" - --lines --json -k 1'
    done = shell(line, MODEL=model)
    assert done.returncode == 2
    assert done.stderr == (
        b"error: stdin, line 1: expected UTF-8 text; byte 0xe9 at position 3 is not "
        b"(--encoding latin-1 reads it as such, --skip-bad-rows goes on without it)\n"
    )
    done = shell(f"{line} --encoding latin-1", MODEL=model)
    assert [json.loads(row)["tags"][0]["label"] for row in done.stdout.splitlines()] == ["music", "weather"]
    assert "café" in done.stdout.decode()
    done = shell(f"{line} --skip-bad-rows", MODEL=model)
    first, second = [json.loads(row) for row in done.stdout.splitlines()]
    assert (first["tags"], "0xe9" in first["reason"]) == ([], True)
    assert second["tags"][0]["label"] == "weather"
    assert b"1 rows could not be read" in done.stderr


def test_data_that_is_not_utf8(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_bytes(b'{"text": "caf\xe9", "labels": ["a"]}\n')
    code, _, err = run("train", data, "--to", tmp_path / "m", "-q")
    assert code == 2
    assert f"{data}, line 1: expected UTF-8 text; byte 0xe9" in err
    assert err.endswith("(--encoding latin-1 reads it as such, --skip-bad-rows leaves such rows out)\n")


def test_the_locale_does_not_matter(model: Path) -> None:
    done = shell('printf "caf\\303\\251" | xtrellis tag "$MODEL" --json', MODEL=model, LC_ALL="C", PYTHONUTF8="0")
    assert json.loads(done.stdout)["text"] == "café"


def test_utf16_is_recognised(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("rain snow", encoding="utf-16")
    assert run("tag", model, tmp_path / "n.txt", "-q", "-k", "1").out.split()[1] == "weather"
    assert run("tag", model, tmp_path / "n.txt", "--encoding", "utf-16", "-k", "1").out.split()[1] == "weather"
    code, _, err = run("tag", model, tmp_path / "n.txt", "--encoding", "klingon", "-q")
    assert (code, "encoding must be the name" in err) == (2, True)


@pytest.mark.parametrize("how", ['- < "$F"', '/dev/stdin < "$F"', '<(cat "$F")', '"$F"'])
def test_every_way_to_give_a_file(model: Path, tmp_path: Path, how: str) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("violin piano\nrain snow\n")
    done = shell(f'xtrellis tag "$MODEL" --lines --json -k 1 -q {how}', MODEL=model, F=file)
    assert done.returncode == 0, done.stderr
    assert [json.loads(row)["tags"][0]["label"] for row in done.stdout.splitlines()] == ["music", "weather"]
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "violin piano"}\n{"text": "rain snow"}\n')
    done = shell(f'xtrellis predict "$MODEL" -k 1 -q {how}', MODEL=model, F=rows)
    assert done.returncode == 0, done.stderr
    assert [json.loads(row)["labels"] for row in done.stdout.splitlines()] == [["music"], ["weather"]]


def test_data_is_for_predict(run: Run, model: Path, test_file: Path) -> None:
    _, _, err = run("tag", model, test_file, "-k", "1")
    assert err == f"reading the file {test_file} as one text (xtrellis predict answers each of its rows)\n"


def test_plain_lines_for_predict(run: Run, model: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("violin piano\nrain snow\n")
    code, _, err = run("predict", model, notes, "-q")
    assert (code, "give --format, one of lines (every line is a text), " in err) == (2, True)
    code, out, _ = run("predict", model, notes, "-q", "--format", "lines", "-k", "1")
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [["music"], ["weather"]]


def test_nothing_in_a_pipe_is_no_row(run: Run, model: Path) -> None:
    assert run("predict", model, "-", "-q", stdin="") == (0, "", "")
    assert run("tag", model, "--lines", "--json", stdin="") == (0, "", "")
