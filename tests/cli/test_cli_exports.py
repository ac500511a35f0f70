"""Data as other programs export it, through every command that reads data; what is said of it, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import Run, rows


def table(delimiter: str, separator: str = "; ") -> str:
    lines = [f'"{row["text"]}"{delimiter}"{separator.join(row["labels"])}"' for row in rows(120, seed=3)]
    return "\r\n".join([f"text{delimiter}labels", *lines, ""])


def test_a_spreadsheet_of_another_country(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "export.csv"
    data.write_text(table(";"), encoding="utf-8-sig", newline="")
    code, _, err = run("train", data, "--to", tmp_path / "m")
    assert (code, "export.csv: columns are separated by ';'" in err) == (0, True)
    for command in (["evaluate", model, data], ["inspect", data], ["compare", model, model, data]):
        code, out, err = run(*command, "--json")
        assert code == 0, err
        assert "columns are separated by ';'" in err
    code, out, err = run("predict", model, data, "-k", "1")
    assert (code, len(out.splitlines()), "columns are separated by ';'" in err) == (0, 120, True)
    for command in (["inspect", data], ["predict", model, data], ["evaluate", model, data]):
        assert run(*command, "--delimiter", ";", "-q").code == 0
        assert run(*command, "--read", "delimiter=;", "-q").code == 0
        code, _, err = run(*command, "--delimiter", ";;", "-q")
        assert (code, "--delimiter must be one character" in err) == (2, True)


def test_unicode_text_of_a_spreadsheet(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "unicode.txt"
    data.write_bytes(table("\t").encode("utf-16"))
    assert run("train", data, "--to", tmp_path / "m", "-q").code == 0
    assert json.loads(run("evaluate", model, data, "--json", "-q").out)["rows"] == 120
    assert len(run("predict", model, data, "-q").out.splitlines()) == 120


def test_other_encodings(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_bytes(table(",").encode("latin-1"))
    for command in (["evaluate", model, data], ["inspect", data], ["train", data, "--to", tmp_path / "m"]):
        code, _, err = run(*command, "-q")
        assert code == 2
        assert err.endswith("(--encoding latin-1 reads it as such, --skip-bad-rows leaves such rows out)\n")
        assert run(*command, "-q", "--encoding", "latin-1").code == 0
    assert json.loads(run("evaluate", model, data, "--json", "-q", "--encoding", "latin-1").out)["metrics"]["P@1"] > 50
    code, _, err = run("inspect", data, "--encoding", "klingon")
    assert (code, "--encoding must be the name of a text encoding" in err) == (2, True)


def test_rows_that_are_broken(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text(table(",") + "one,two,three\n", newline="")
    code, _, err = run("evaluate", model, data, "-q")
    assert code == 2
    assert "line 122: expected 2 columns; got 3 (--skip-bad-rows leaves such rows out)" in err
    code, out, err = run("evaluate", model, data, "--json", "--skip-bad-rows")
    assert (code, json.loads(out)["rows"]) == (0, 120)
    assert "without 1 row that cannot be read; the first: " in err
    assert run("train", data, "--to", tmp_path / "m", "--skip-bad-rows", "-q").code == 0
    code, _, err = run("evaluate", "--predictions", tmp_path / "p.jsonl", data, "--skip-bad-rows", "-q")
    assert (code, "would stand beside the wrong ones" in err) == (2, True)


def test_nothing_to_measure_on(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("text,labels\nviolin,\nrain,\n")
    for command in (["evaluate", model, data], ["compare", model, model, data]):
        code, _, err = run(*command, "-q")
        assert (code, "2 rows and no labels: there is nothing to measure on" in err) == (2, True)


def test_a_model_is_no_data(run: Run, model: Path, tmp_path: Path) -> None:
    for command in (["train", model, "--to", tmp_path / "m"], ["evaluate", model, model]):
        code, _, err = run(*command, "-q")
        assert (code, err) == (2, f"error: {model} is a model, not data\n")


def test_a_table_through_a_pipe(run: Run, tmp_path: Path) -> None:
    code, _, err = run("inspect", "-", stdin=table(";"))
    assert (code, "stdin: columns are separated by ';'" in err) == (0, True)


def test_a_folder_of_texts_is_for_tag(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("violin")
    code, _, err = run("predict", model, tmp_path, "-q")
    assert (code, "(tag answers text files)" in err) == (2, True)


def test_a_json_array(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.json"
    data.write_text(json.dumps([{"id": i, **row} for i, row in enumerate(rows(120, seed=3))], indent=1))
    assert run("train", data, "--to", tmp_path / "m", "-q").code == 0
    found = [json.loads(line) for line in run("predict", model, data, "-k", "1", "-q").out.splitlines()]
    assert [row["id"] for row in found] == list(range(120))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_commas_between_labels(run: Run, tmp_path: Path, suffix: str) -> None:
    data = tmp_path / f"d.{suffix}"
    if suffix == "csv":
        data.write_text(table(",", ", "), newline="")
    else:
        data.write_text("".join(json.dumps({**row, "labels": ", ".join(row["labels"])}) + "\n" for row in rows(120, 3)))
    code, out, err = run("inspect", data, "--json")
    assert (code, json.loads(out)["labels_per_row"]["max"]) == (0, 1)
    assert (
        "120 label cells contain ',', which is taken as a part of the names (--read 'label_separator=,' splits" in err
    )
    code, out, err = run("inspect", data, "--read", "label_separator=,", "--json", "--log", "json")
    assert (code, json.loads(out)["labels_per_row"]["min"]) == (0, 2)
    assert "label cells" not in err


def test_a_note_is_given_once(run: Run, train_file: Path, tmp_path: Path) -> None:
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "--note", "a=1", "--note", "a=2")
    assert (code, err) == (2, "error: --note says a twice, '1' and '2'; give it once\n")
    code, _, err = run("inspect", train_file, "--read", "part=train", "--read", "part=test")
    assert (code, "--read says part twice" in err) == (2, True)


def test_metrics_that_look_beyond_the_predictions(run: Run, model: Path, test_file: Path, tmp_path: Path) -> None:
    few, many, some = (tmp_path / f"{name}.jsonl" for name in ("few", "many", "some"))
    run("predict", model, test_file, "-k", "2", "--to", few, "-q")
    code, out, err = run("evaluate", "--predictions", few, test_file)
    assert code == 0
    assert (
        f"{few} has at most 2 labels a row: P@3, P@5, nDCG@5, R@10 look further and count the missing as wrong" in err
    )
    assert "(predict -k 10 writes as many)" in err
    assert "at most 2 predictions a row" in " ".join(out.split())
    found = json.loads(run("evaluate", model, "--predictions", few, test_file, "--json", "-q").out)
    assert found["most_predictions"] == 2
    assert "P@5" in found["too_far"]
    assert "PSP@1" not in found["too_far"]
    assert "at most" not in run("evaluate", "--predictions", few, test_file, "--metrics", "P@2,F1@5").err
    run("predict", model, test_file, "--to", many, "-q")
    assert "at most" not in run("evaluate", "--predictions", many, test_file).err
    run("predict", model, test_file, "--threshold", "0.001", "--to", some, "-q")  # fewer, but not for want of asking
    counts = [len(json.loads(line)["labels"]) for line in some.read_text().splitlines()]
    assert max(counts) > min(counts)
    if counts.count(max(counts)) < counts.count(max(counts) - 1):
        assert "at most" not in run("evaluate", "--predictions", some, test_file).err
    assert "at most" not in run("evaluate", model, test_file, "--threshold", "0.9").out


def test_labels_that_a_model_lacks(run: Run, model: Path, train_file: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    more = [
        {**row, "labels": [*row["labels"], "new", *(["rare"] if i < 3 else [])]} for i, row in enumerate(rows(40, 5))
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in more))
    other = tmp_path / "other"
    assert run("train", data, "--to", other, "--preset", "one-vs-all", "--holdout", "0", "-q").code == 0
    code, out, _ = run("compare", model, other, data, "--metrics", "P@1", "-q")
    assert code == 0
    assert "A does not know 2 labels of the data ('new', 'rare'), 43 times; they count as missed" in out
    assert "B does not know" not in out
    found = json.loads(run("compare", model, other, data, "--json", "-q").out)["unknown"]
    assert found["a"] == {"labels": 2, "entries": 43, "examples": ["new", "rare"]}
    assert found["b"]["labels"] == 0
    assert "the model does not know 2 labels of the data ('new', 'rare'), 43 times" in run("evaluate", model, data).err
