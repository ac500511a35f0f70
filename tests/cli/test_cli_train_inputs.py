"""What `train` takes and keeps: several files, folders, pipes; notes; and what becomes of the held-out rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli_world import Run, write_jsonl

import xtrellis as xt
from xtrellis.data import concatenate


def halves(folder: Path) -> tuple[Path, Path]:
    folder.mkdir()
    return write_jsonl(folder / "a.jsonl", 60, seed=1), write_jsonl(folder / "b.jsonl", 40, seed=2)


@pytest.mark.parametrize("how", ["files", "folder", "folder and file"])
def test_several_files_are_one_data_set(run: Run, tmp_path: Path, how: str) -> None:
    a, b = halves(tmp_path / "d")
    (tmp_path / "d" / "README.md").write_text("about")
    paths = {"files": [a, b], "folder": [tmp_path / "d"], "folder and file": [tmp_path / "d", a]}[how]
    code, _, err = run("train", *paths, "--to", tmp_path / "m", "--preset", "one-vs-all", "--holdout", "0")
    assert code == 0, err
    tagger = xt.load(tmp_path / "m")
    assert tagger.n_rows == (160 if how == "folder and file" else 100)
    whole = concatenate([xt.read(a), xt.read(b)])
    assert list(tagger.label_names) == list(whole.label_names)
    assert f"{tagger.n_rows} rows" in err


def test_joined_rows_keep_their_labels(tmp_path: Path) -> None:
    a, b = (xt.read(path) for path in halves(tmp_path / "d"))
    whole = concatenate([a, b])
    assert whole.texts == a.texts + b.texts
    assert [whole.labels_of(i) for i in range(100)] == [
        *(sorted(a.labels_of(i)) for i in range(60)),
        *(sorted(b.labels_of(i)) for i in range(40)),
    ]
    X = xt.synthetic(n_rows=5, n_labels=4, n_features=6, seed=0)
    features = getattr(X, "train", X)
    with pytest.raises(xt.InputError, match=r"label names|can be joined"):
        concatenate([a, features])


def test_data_from_stdin(run: Run, train_file: Path, tmp_path: Path) -> None:
    content = train_file.read_text(encoding="utf-8")
    code, _, err = run("train", "-", "--to", tmp_path / "m", "--holdout", "0", stdin=content)
    assert code == 0, err
    assert xt.load(tmp_path / "m").n_rows == 400
    code, out, _ = run("evaluate", tmp_path / "m", "-", "--json", "-q", stdin=content)
    assert json.loads(out)["rows"] == 400
    code, _, err = run("train", "-", "--to", tmp_path / "m", "-q", stdin=content + '{"text": 3}\n')
    assert code == 2
    assert err.startswith("error: stdin, line 401: ")


def test_a_model_says_where_it_comes_from(run: Run, train_file: Path, tmp_path: Path) -> None:
    args = ["train", train_file, "--preset", "one-vs-all", "-q", "--note", "ticket=A-7", "--note", "who=me = myself"]
    assert run(*args, "--to", tmp_path / "m").code == 0
    about = xt.load(tmp_path / "m").about
    assert about["date"] == "2023-11-14T22:13:20Z"
    assert about["notes"] == {"ticket": "A-7", "who": "me = myself"}
    assert about["preset"] == "one-vs-all"
    assert about["data"] | {"fingerprint": ""} == {
        "files": ["train.jsonl"], "rows": 400, "features": 32, "labels": 36, "fingerprint": "",
    }  # fmt: skip
    assert about["held_out"]["metrics"]["P@1"] > 90
    assert about["held_out"]["of"].startswith("the model before")
    _, out, _ = run("inspect", tmp_path / "m")
    for line in ("2023-11-14", "A-7", "me = myself", about["data"]["fingerprint"], "P@1"):
        assert line in out
    assert json.loads(run("inspect", tmp_path / "m", "--json").out)["objects"][0]["meta"]["about"] == about
    assert run(*args, "--to", tmp_path / "again", "--threads", "2").code == 0
    for file in (tmp_path / "m").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()
    other = write_jsonl(tmp_path / "o.jsonl", 400, seed=9)
    assert run("train", other, "--to", tmp_path / "o", "-q").code == 0
    assert xt.load(tmp_path / "o").about["data"]["fingerprint"] != about["data"]["fingerprint"]


def test_a_model_trained_anew_has_no_old_notes(model: Path) -> None:
    tagger = xt.load(model)
    assert tagger.about
    tagger.fit(["red apple", "green pear"], [["a"], ["b"]])
    assert tagger.about == {}


@pytest.mark.parametrize("args", [["--note", "novalue"], ["--note", "=x"]])
def test_a_note_has_a_key_and_a_value(run: Run, train_file: Path, tmp_path: Path, args: list[str]) -> None:
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *args)
    assert (code, "--note must be key=value" in err) == (2, True)


def test_a_wrong_date_is_told(run: Run, train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "-q")
    assert (code, "SOURCE_DATE_EPOCH must be seconds" in err) == (2, True)


@pytest.mark.parametrize(
    ("seconds", "args", "rows", "says"),
    [
        (None, [], 400, "then the model is trained again on all rows (--no-refit"),
        (10**6, [], None, "the saved model will not have seen them (--refit trains it again on all rows: about 277 h"),
        (0, [], None, "the saved model will not have seen them (--refit trains it again on all rows: how long"),
        (10**6, ["--refit"], 400, "training again on all 400 rows"),
        (None, ["--no-refit"], None, ""),
    ],
)
def test_held_out_rows_are_learnt_too_or_the_user_is_told_before(
    run: Run, train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds, args, rows, says
) -> None:
    expected = xt.Tagger.estimate
    if seconds is not None:
        monkeypatch.setattr(xt.Tagger, "estimate", lambda *args: replace(expected(*args), seconds=seconds))
    code, out, err = run("train", train_file, "--to", tmp_path / "m", *args)
    assert code == 0, err
    assert says in err
    if says:
        assert err.index(says) < err.index("saving")
    assert (xt.load(tmp_path / "m").n_rows == 400) == (rows == 400)
    assert ("trained on the other" in out) == (rows is None)


def test_no_row_is_trained_on_twice_or_measured_by_heart(run: Run, train_file: Path, tmp_path: Path) -> None:
    twice = run("train", train_file, train_file, "--to", tmp_path / "m")
    assert twice.code == 2
    assert "is given twice" in twice.err
    known = run("train", train_file, "--test", train_file, "--to", tmp_path / "m")
    assert known.code == 2
    assert "is trained on as well" in known.err
    assert not (tmp_path / "m").exists()
